/* Walks on an interpreter that is made up: a library that only exports CPython's symbols, and
 * frames in the layout of 3.12 and 3.11. Real interpreters: python_frames_test.py. */
#include "python/python_frames.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_objects.h"
#include "fake_python.h"
#include "proto/stack_word.h"
#include "python/python_texts.h"
#include "tests/inject/test_ring.h"

#define FRAMES_MAX   64u
#define OWNER_THREAD 0u
#define OWNER_SHIM   3u

struct fixture {
	struct test_ring ring;
	struct python_frames *python;
	struct python_library library; /* to lay out objects by */
	struct fake_object thread_state, c_frame;
	struct fake_object frames[FRAMES_MAX]; /* [0] is the innermost */
	uint32_t nr_frames;
	struct fake_code codes[2];
	struct python_frame walked[FRAMES_MAX];
};

static struct fake_python *fake; /* once it is loaded */

static struct fake_python *load_fake(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	fake_python_settings *settings;

	assert_non_null(handle);
	void *symbol = dlsym(handle, "fake_python");
	memcpy(&settings, &symbol, sizeof(settings));
	return settings();
}

static void put_version(struct fixture *fixture, const char *version, unsigned minor)
{
	fake->version = version;
	fixture->library.layout = *python_layout_of(minor);
	fake_code_fill(&fixture->codes[0], &fixture->library, "train.py", "main", 10);
	fake_code_fill(&fixture->codes[1], &fixture->library, "model.py", "Model.step", 20);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	void *handle;

	test_ring_init_sizes(&fixture->ring, &RECORD_RING_SIZES_DEFAULT);
	fixture->python = python_frames_create(fixture->ring.guest);
	assert_non_null(fixture->python);
	handle = dlopen(FAKE_PYTHON, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(handle);
	fixture->library.code_type = (uint64_t)(uintptr_t)dlsym(handle, "PyCode_Type");
	fixture->library.string_type = (uint64_t)(uintptr_t)dlsym(handle, "PyUnicode_Type");
	fixture->library.bytes_type = (uint64_t)(uintptr_t)dlsym(handle, "PyBytes_Type");
	fake = load_fake(FAKE_PYTHON);
	memset(fake, 0, sizeof(*fake));
	fake->initialized = 1;
	fake->thread_state = &fixture->thread_state;
	put_version(fixture, "3.12.1 (main)", 12);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	python_frames_destroy(fixture->python);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

/* Appends a frame, outside of those before. code NULL: none. instruction in units. */
static void put_frame(struct fixture *fixture, const struct fake_code *code, uint64_t instruction,
		      uint8_t owner)
{
	const struct python_layout *layout = &fixture->library.layout;
	struct fake_object *frame = &fixture->frames[fixture->nr_frames];

	assert_true(fixture->nr_frames < FRAMES_MAX);
	if (code) {
		uint64_t address = fake_object_address(&code->code);

		fake_object_put64(frame, layout->frame_code, address);
		fake_object_put64(frame, layout->frame_instruction,
				  address + layout->code_bytecode + 2 * instruction);
	}
	fake_object_put8(frame, layout->frame_owner, owner);
	if (fixture->nr_frames > 0)
		fake_object_put64(frame - 1, layout->frame_back, fake_object_address(frame));
	fixture->nr_frames++;
	fake_object_put64(&fixture->c_frame, layout->c_frame_frame,
			  fake_object_address(&fixture->frames[0]));
	fake_object_put64(&fixture->thread_state, layout->thread_frame,
			  fake_object_address(&fixture->c_frame));
}

static uint32_t walk(struct fixture *fixture, uint32_t max, bool *cut)
{
	return python_frames_walk(fixture->python, python_frames_first(fixture->python),
				  fixture->walked, max, cut);
}

static void assert_refused(struct fixture *fixture, const char *text)
{
	assert_int_equal(python_frames_find(fixture->python), PYTHON_REFUSED);
	assert_int_equal(python_frames_state(fixture->python), PYTHON_REFUSED);
	assert_string_equal(python_frames_text(fixture->python), text);
}

/* Must come first: nothing has loaded the library yet. */
static void process_without_interpreter_has_none(void **state)
{
	struct test_ring ring;
	struct python_frame frame;
	bool cut = true;

	(void)state;
	test_ring_init_sizes(&ring, &RECORD_RING_SIZES_DEFAULT);
	struct python_frames *python = python_frames_create(ring.guest);
	assert_int_equal(python_frames_find(python), PYTHON_NONE);
	assert_string_equal(python_frames_text(python), "");
	assert_int_equal(python_frames_walk(python, python_frames_first(python), &frame, 1, &cut),
			 0);
	assert_false(cut);
	assert_false(python_frames_ambiguous(python));
	python_frames_destroy(python);
	python_frames_destroy(NULL);
	test_ring_fini(&ring);
}

static void interpreter_that_is_loaded_for_itself_is_found(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(python_frames_find(fixture->python), PYTHON_READY);
	assert_string_equal(python_frames_text(fixture->python),
			    "CPython 3.12.1 (its evaluation loop was not found)");
	assert_int_equal(python_frames_stops(fixture->python)->nr, 0);
}

static void unknown_version_is_refused_by_name(void **state)
{
	fake->version = "3.15.0 (main, Oct 1 2026)";
	assert_refused(*state, "CPython 3.15.0: not a known version");
}

static void python_2_is_refused_by_name(void **state)
{
	fake->version = "2.7.18 (default)";
	assert_refused(*state, "CPython 2.7.18: not a known version");
}

static void free_threaded_build_is_refused_by_name(void **state)
{
	fake->version = "3.13.1 experimental free-threading build (main, Jan 1 2025)";
	assert_refused(*state, "CPython 3.13.1: free-threaded build");
}

/* What one process cannot load beside the other: in a child, whose exit status is the answer. */
static void assert_library_refused(const char *path, const char *text)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct test_ring ring;

		test_ring_init_sizes(&ring, &RECORD_RING_SIZES_DEFAULT);
		struct fake_python *loaded = load_fake(path);
		loaded->version = "3.12.1 (main)";
		struct python_frames *python = python_frames_create(ring.guest);
		bool right = python_frames_find(python) == PYTHON_REFUSED &&
			     strcmp(python_frames_text(python), text) == 0;
		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void debug_build_is_refused_by_name(void **state)
{
	(void)state;
	assert_library_refused(FAKE_PYTHON_DEBUG_BUILD, "CPython 3.12.1: debug build");
}

static void pypy_is_refused_by_name(void **state)
{
	(void)state;
	assert_library_refused(FAKE_PYPY, "PyPy: not CPython");
}

static void frames_come_leaf_first_and_shims_end_segments(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	put_frame(fixture, &fixture->codes[1], 3, OWNER_THREAD);
	put_frame(fixture, &fixture->codes[0], 5, OWNER_THREAD);
	put_frame(fixture, NULL, 0, OWNER_SHIM);
	put_frame(fixture, &fixture->codes[0], 5, PYTHON_OWNER_GENERATOR);
	put_frame(fixture, NULL, 0, OWNER_SHIM);
	python_frames_find(fixture->python);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 3);
	assert_false(cut);
	assert_int_equal(fixture->walked[0].code, fake_object_address(&fixture->codes[1].code));
	assert_int_equal(fixture->walked[0].instruction, 6);
	assert_false(fixture->walked[0].segment_end);
	assert_true(fixture->walked[1].segment_end);
	assert_true(fixture->walked[2].segment_end);
	assert_int_equal(fixture->walked[1].key, fixture->walked[2].key);
	assert_int_not_equal(fixture->walked[0].key, fixture->walked[1].key);
	struct python_texts *texts = NULL;
	uint64_t word = python_frames_word(fixture->python, &texts, &fixture->walked[0]);
	python_texts_unmap(&texts);
	assert_true(stack_word_is_python(word));
	assert_int_equal(stack_word_line(word), 23);
}

static void byte_in_the_frame_ends_segments_in_3_11(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	put_version(fixture, "3.11.2 (main)", 11);
	for (unsigned i = 0; i < 4; i++) {
		put_frame(fixture, &fixture->codes[0], i, OWNER_THREAD);
		fake_object_put8(&fixture->frames[i], fixture->library.layout.segment_mark, i % 2);
	}
	python_frames_find(fixture->python);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(fixture->walked[i].segment_end, i % 2);
		assert_int_equal(fixture->walked[i].instruction, 2 * i);
	}
}

static void instruction_makes_the_key_differ(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	put_frame(fixture, &fixture->codes[0], 5, OWNER_THREAD);
	put_frame(fixture, &fixture->codes[0], 6, OWNER_THREAD);
	python_frames_find(fixture->python);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 2);
	assert_int_not_equal(fixture->walked[0].key, fixture->walked[1].key);
	assert_int_equal(fixture->walked[0].code, fixture->walked[1].code);
}

static void frame_that_has_not_begun_is_left_out(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	fake_object_put32(&fixture->codes[1].code, fixture->library.layout.code_first_traceable, 4);
	put_frame(fixture, &fixture->codes[1], 3, OWNER_THREAD);
	put_frame(fixture, &fixture->codes[1], 3, PYTHON_OWNER_GENERATOR);
	put_frame(fixture, &fixture->codes[1], 4, OWNER_THREAD);
	put_frame(fixture, NULL, 0, OWNER_SHIM);
	python_frames_find(fixture->python);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 2);
	assert_int_equal(fixture->walked[0].instruction, 6); /* a generator's is complete */
	assert_int_equal(fixture->walked[1].instruction, 8);
	assert_true(fixture->walked[1].segment_end);
	assert_false(fixture->walked[0].incomplete);
}

static void segment_is_not_left_without_any_frame(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	fake_object_put32(&fixture->codes[1].code, fixture->library.layout.code_first_traceable, 4);
	put_frame(fixture, &fixture->codes[1], 2, OWNER_THREAD);
	put_frame(fixture, NULL, 0, OWNER_SHIM);
	put_frame(fixture, &fixture->codes[0], 1, OWNER_THREAD);
	put_frame(fixture, NULL, 0, OWNER_SHIM);
	python_frames_find(fixture->python);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 2);
	assert_true(fixture->walked[0].incomplete);
	assert_true(fixture->walked[0].segment_end);
	assert_int_equal(fixture->walked[0].code, fake_object_address(&fixture->codes[1].code));
	assert_false(fixture->walked[1].incomplete);
}

static void more_frames_than_there_is_room_for_are_cut(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	for (unsigned i = 0; i < 10; i++)
		put_frame(fixture, &fixture->codes[0], i, OWNER_THREAD);
	python_frames_find(fixture->python);
	assert_int_equal(walk(fixture, 10, &cut), 10);
	assert_false(cut);
	assert_int_equal(walk(fixture, 9, &cut), 9);
	assert_true(cut);
	assert_int_equal(fixture->walked[8].instruction, 16);
	assert_int_equal(walk(fixture, 0, &cut), 0);
	assert_true(cut);
}

static void frames_in_a_circle_end(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	put_frame(fixture, &fixture->codes[0], 1, OWNER_THREAD);
	put_frame(fixture, NULL, 0, OWNER_SHIM);
	python_frames_find(fixture->python);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 1);
	fake_object_put64(&fixture->frames[1], fixture->library.layout.frame_back,
			  fake_object_address(&fixture->frames[1]));
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 1);
	assert_true(cut);
	fake_object_put64(&fixture->frames[1], fixture->library.layout.frame_back,
			  fake_object_address(&fixture->frames[0]));
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), FRAMES_MAX);
	assert_true(cut);
}

static void thread_without_python_has_no_frames(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	put_frame(fixture, &fixture->codes[0], 1, OWNER_THREAD);
	python_frames_find(fixture->python);
	fake->thread_state = NULL;
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 0);
	assert_int_equal(python_frames_state(fixture->python), PYTHON_READY);
	fake->thread_state = &fixture->thread_state;
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 1);
}

static void thread_that_runs_no_function_leaves_the_check_for_later(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	python_frames_find(fixture->python);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 0);
	assert_int_equal(python_frames_state(fixture->python), PYTHON_READY);
	put_frame(fixture, &fixture->codes[0], 1, OWNER_THREAD);
	fake_object_put64(&fixture->codes[0].code, PYTHON_OBJECT_TYPE, 0x9999);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 0);
	assert_int_equal(python_frames_state(fixture->python), PYTHON_REFUSED);
}

static void interpreter_that_is_not_initialized_is_left_alone(void **state)
{
	struct fixture *fixture = *state;
	bool cut;

	put_frame(fixture, &fixture->codes[0], 1, OWNER_THREAD);
	python_frames_find(fixture->python);
	fake->initialized = 0;
	fake->thread_state = (void *)8; /* freed, by then */
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 0);
	assert_int_equal(python_frames_state(fixture->python), PYTHON_READY);
}

static void assert_check_fails(struct fixture *fixture, const char *text)
{
	bool cut;

	python_frames_find(fixture->python);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 0);
	assert_int_equal(python_frames_state(fixture->python), PYTHON_REFUSED);
	assert_string_equal(python_frames_text(fixture->python), text);
	assert_int_equal(walk(fixture, FRAMES_MAX, &cut), 0);
	assert_int_equal(python_frames_find(fixture->python), PYTHON_REFUSED);
}

static void pointer_to_nowhere_is_refused_without_a_fault(void **state)
{
	struct fixture *fixture = *state;
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	put_frame(fixture, &fixture->codes[0], 1, OWNER_THREAD);
	fake_object_put64(&fixture->frames[0], fixture->library.layout.frame_code,
			  (uint64_t)(uintptr_t)gone);
	assert_check_fails(fixture, "CPython 3.12.1: a frame's code is not where it should be");
	munmap(gone, 4096);
}

static void thread_state_of_another_shape_is_refused(void **state)
{
	struct fixture *fixture = *state;

	fake_object_put64(&fixture->thread_state, fixture->library.layout.thread_frame, 0x10);
	assert_check_fails(fixture, "CPython 3.12.1: the thread state is not where it should be");
}

static void name_that_is_no_string_is_refused(void **state)
{
	struct fixture *fixture = *state;

	put_frame(fixture, &fixture->codes[0], 1, OWNER_THREAD);
	fake_object_put64(&fixture->codes[0].name, PYTHON_OBJECT_TYPE, fixture->library.bytes_type);
	assert_check_fails(fixture, "CPython 3.12.1: a code's name is not where it should be");
}

static void instruction_outside_of_its_code_is_refused(void **state)
{
	struct fixture *fixture = *state;

	put_frame(fixture, &fixture->codes[0], 1u << 20, OWNER_THREAD);
	assert_check_fails(fixture,
			   "CPython 3.12.1: a frame's instruction is not where it should be");
}

static void several_interpreters_are_ambiguous_up_to_3_11(void **state)
{
	struct fixture *fixture = *state;
	int interpreters[2];

	put_version(fixture, "3.11.2 (main)", 11);
	fake->interpreter_head = fake->interpreter_main = &interpreters[0];
	python_frames_find(fixture->python);
	assert_false(python_frames_ambiguous(fixture->python));
	fake->interpreter_head = &interpreters[1];
	assert_true(python_frames_ambiguous(fixture->python));
}

static void several_interpreters_are_told_apart_from_3_12_on(void **state)
{
	struct fixture *fixture = *state;
	int interpreters[2];

	fake->interpreter_main = &interpreters[0];
	fake->interpreter_head = &interpreters[1];
	python_frames_find(fixture->python);
	assert_int_equal(python_frames_state(fixture->python), PYTHON_READY);
	assert_false(python_frames_ambiguous(fixture->python));
}

#define WITH_FAKE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_without_interpreter_has_none),
		cmocka_unit_test(debug_build_is_refused_by_name),
		cmocka_unit_test(pypy_is_refused_by_name),
		WITH_FAKE(interpreter_that_is_loaded_for_itself_is_found),
		WITH_FAKE(unknown_version_is_refused_by_name),
		WITH_FAKE(python_2_is_refused_by_name),
		WITH_FAKE(free_threaded_build_is_refused_by_name),
		WITH_FAKE(frames_come_leaf_first_and_shims_end_segments),
		WITH_FAKE(byte_in_the_frame_ends_segments_in_3_11),
		WITH_FAKE(instruction_makes_the_key_differ),
		WITH_FAKE(frame_that_has_not_begun_is_left_out),
		WITH_FAKE(segment_is_not_left_without_any_frame),
		WITH_FAKE(more_frames_than_there_is_room_for_are_cut),
		WITH_FAKE(frames_in_a_circle_end),
		WITH_FAKE(thread_without_python_has_no_frames),
		WITH_FAKE(thread_that_runs_no_function_leaves_the_check_for_later),
		WITH_FAKE(interpreter_that_is_not_initialized_is_left_alone),
		WITH_FAKE(pointer_to_nowhere_is_refused_without_a_fault),
		WITH_FAKE(thread_state_of_another_shape_is_refused),
		WITH_FAKE(name_that_is_no_string_is_refused),
		WITH_FAKE(instruction_outside_of_its_code_is_refused),
		WITH_FAKE(several_interpreters_are_ambiguous_up_to_3_11),
		WITH_FAKE(several_interpreters_are_told_apart_from_3_12_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
