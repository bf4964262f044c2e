/* A stack that is recognised has the id that a walk gives. */
#include "inject/launch/known_stacks.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "inject/launch/stack_capture.h"
#include "inject/module_watch.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "tests/bench/cold/cold_frames.h"
#include "tests/bench/cold/cold_python.h"
#include "tests/inject/test_ring.h"
#include "tests/python/fake_objects.h"
#include "unwind/unwind_table.h"

#define DEPTH    12u
#define CAPTURES 15000u
#define THREADS  3u
#define MANY     1000u
#define CODES    6u
#define PYTHON   5u
#define KEEP()   __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline))

struct fixture {
	struct test_ring ring;
	struct definition_writer writer;
	struct module_watch *watch;
	struct stack_capture walks, recognises;
};

/* One thread, which captures each stack in both ways. */
struct captor {
	struct fixture *fixture;
	struct stack_scratch walk, known;
	uint64_t random;
	uint32_t captures, differ, nr_sizes;
	struct python_library library;
	struct fake_code codes[CODES];
	struct fake_object thread_state, c_frame, frames[PYTHON + 1];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	test_ring_init_sizes(&fixture->ring, &RECORD_RING_SIZES_DEFAULT);
	fixture->recognises = (struct stack_capture){
		.ring = fixture->ring.guest,
		.stacks = stack_table_create(fixture->ring.guest),
		.tables = unwind_tables_create(UNWIND_BYTES_MAX),
		.python = python_frames_create(fixture->ring.guest),
		.options = STACK_OPTIONS_DEFAULT,
	};
	fixture->writer = DEFINITION_WRITER_INIT(fixture->ring.guest);
	fixture->watch = module_watch_create(&fixture->writer, fixture->recognises.tables);
	module_watch_poll(fixture->watch, false);
	unwind_tables_build(fixture->recognises.tables, UNWIND_BUILD_ALL);
	assert_int_equal(python_frames_find(fixture->recognises.python), PYTHON_READY);
	fixture->walks = fixture->recognises;
	fixture->walks.walks_always = true;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	module_watch_destroy(fixture->watch);
	python_frames_destroy(fixture->recognises.python);
	unwind_tables_destroy(fixture->recognises.tables);
	stack_table_destroy(fixture->recognises.stacks);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static struct captor *captor_create(struct fixture *fixture, uint32_t number)
{
	struct captor *captor = calloc(1, sizeof(*captor));

	captor->fixture = fixture;
	captor->random = 88172645463325252u + number;
	captor->nr_sizes = 3;
	captor->library = (struct python_library){
		.layout = *python_layout_of(12),
		.code_type = (uint64_t)(uintptr_t)PyCode_Type,
		.string_type = (uint64_t)(uintptr_t)PyUnicode_Type,
		.bytes_type = (uint64_t)(uintptr_t)PyBytes_Type,
	};
	for (uint32_t i = 0; i < CODES; i++)
		fake_code_fill(&captor->codes[i], &captor->library, "model.py", "step", 10 + i);
	return captor;
}

static void captor_destroy(struct captor *captor)
{
	known_stacks_fini(&captor->known.known);
	known_stacks_fini(&captor->walk.known);
	free(captor);
}

static uint32_t below(struct captor *captor, uint32_t limit)
{
	captor->random ^= captor->random << 13;
	captor->random ^= captor->random >> 7;
	captor->random ^= captor->random << 17;
	return (uint32_t)(captor->random >> 32) % limit;
}

/* Returns the id. Both captures come from one place. */
static NOINLINE uint32_t look(struct captor *captor)
{
	uint32_t ids[2];

	for (volatile int i = 0; i < 2; i++)
		ids[i] = stack_capture_take(i ? &captor->fixture->recognises
					      : &captor->fixture->walks,
					    i ? &captor->known : &captor->walk, 1);
	captor->differ += ids[0] != ids[1];
	captor->captures++;
	return ids[1];
}

/* ---- stacks of many shapes */

static void descend(struct captor *captor, uint32_t depth);

static NOINLINE void plain(struct captor *captor, uint32_t depth)
{
	if (below(captor, 2)) {
		descend(captor, depth);
		KEEP();
	} else {
		descend(captor, depth);
		KEEP();
		look(captor);
	}
	KEEP();
}

static NOINLINE void sized(struct captor *captor, uint32_t depth)
{
	volatile char *space = alloca(16 + 16 * below(captor, captor->nr_sizes));

	space[0] = 1;
	descend(captor, depth);
	KEEP();
}

static NOINLINE void aligned(struct captor *captor, uint32_t depth)
{
	_Alignas(64) volatile char space[64];

	__asm__ volatile("" ::"r"(space) : "memory");
	descend(captor, depth);
	KEEP();
}

static NOINLINE void descend(struct captor *captor, uint32_t depth)
{
	if (depth == 0)
		look(captor);
	else if (below(captor, 6) == 0)
		sized(captor, depth - 1);
	else if (below(captor, 6) == 0)
		aligned(captor, depth - 1);
	else
		plain(captor, depth - 1);
	KEEP();
}

static void descend_here(struct cold_path *path)
{
	descend(path->user, path->at);
	KEEP();
}

/* Makes Python frames of a random stack, which sometimes has new code at an old address, and enters the loop. */
static NOINLINE void enter_python(struct captor *captor, uint32_t depth)
{
	static cold_frame *const frames[DEPTH + 1] = {
		descend_here, descend_here, descend_here, descend_here, descend_here,
		descend_here, descend_here, descend_here, descend_here, descend_here,
		descend_here, descend_here, descend_here};
	const struct python_layout *layout = &captor->library.layout;
	struct cold_path path = {.frames = frames, .user = captor, .at = depth};
	uint32_t nr = 1 + below(captor, PYTHON);

	if (below(captor, 16) == 0)
		fake_object_put32(&captor->codes[below(captor, CODES)].code, layout->code_version,
				  1 + below(captor, 4));
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t code = fake_object_address(&captor->codes[below(captor, CODES)].code);
		struct fake_object *frame = &captor->frames[i];

		fake_object_put64(frame, layout->frame_code, code);
		fake_object_put64(frame, layout->frame_instruction,
				  code + layout->code_bytecode + 2 * below(captor, 2));
		fake_object_put64(frame, layout->frame_back, fake_object_address(frame + 1));
		fake_object_put8(frame, layout->frame_owner, 0);
	}
	fake_object_put8(&captor->frames[nr], layout->frame_owner, layout->shim_owner);
	fake_object_put64(&captor->frames[nr], layout->frame_back, 0);
	fake_object_put64(&captor->c_frame, layout->c_frame_frame,
			  fake_object_address(&captor->frames[0]));
	fake_object_put64(&captor->thread_state, layout->thread_frame,
			  fake_object_address(&captor->c_frame));
	cold_python_set_state(&captor->thread_state);
	_PyEval_EvalFrameDefault(&path);
	cold_python_set_state(NULL);
}

static void *capture_many(void *user)
{
	struct captor *captor = user;

	while (captor->captures < CAPTURES) {
		/* Stacks come again in runs, as in a loop of a program. */
		uint64_t random = captor->random;

		for (uint32_t i = 0; i < 3; i++) {
			captor->random = random;
			if (below(captor, 3))
				descend(captor, 1 + below(captor, DEPTH));
			else
				enter_python(captor, 1 + below(captor, DEPTH));
			KEEP();
		}
	}
	return NULL;
}

static void capture_in_threads(struct fixture *fixture, uint32_t hits)
{
	struct captor *captors[THREADS];
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		captors[i] = captor_create(fixture, i);
		assert_int_equal(pthread_create(&threads[i], NULL, capture_many, captors[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(captors[i]->differ, 0);
		assert_true(captors[i]->known.known.hits > hits);
		assert_int_equal(captors[i]->walk.known.hits, 0);
		captor_destroy(captors[i]);
	}
}

static void recognised_stacks_have_the_ids_of_walked_ones(void **state)
{
	struct fixture *fixture = *state;

	capture_in_threads(fixture, CAPTURES / 4);
}

static void stacks_of_all_frames_are_recognised_rightly(void **state)
{
	struct fixture *fixture = *state;

	fixture->recognises.options.mode = fixture->walks.options.mode = STACK_MODE_FULL;
	capture_in_threads(fixture, CAPTURES / 4);
}

static void stacks_of_python_alone_are_recognised_rightly(void **state)
{
	struct fixture *fixture = *state;

	fixture->recognises.options.mode = fixture->walks.options.mode = STACK_MODE_PYTHON;
	/* Nearly all of these stacks are new, so that looking for them pauses. */
	capture_in_threads(fixture, CAPTURES / 64);
}

/* ---- many stacks at one stack pointer */

/* The outermost frames choose the place that they call from. Frames of some bytes make the stack several pages. */
static NOINLINE void path(struct captor *captor, uint32_t places, uint32_t depth)
{
	volatile char room[200];

	__asm__ volatile("" ::"r"(room) : "memory");
	if (depth == 0) {
		look(captor);
	} else if (places & 1) {
		path(captor, places >> 1, depth - 1);
		__asm__ volatile("nop"); /* or the compiler would make one place of both */
	} else {
		path(captor, places >> 1, depth - 1);
		KEEP();
	}
	KEEP();
}

static void many_stacks_at_one_stack_pointer_are_recognised(void **state)
{
	static const uint32_t depths[] = {11, 24, 36};
	struct captor *captor = captor_create(*state, 0);

	/* From one place, and one set of stacks after the other. */
	for (volatile uint32_t i = 0; i < 3 * 3 * MANY; i++) {
		uint32_t depth = depths[i / (3 * MANY)];

		if (i % (3 * MANY) == 0)
			known_stacks_clear(&captor->known.known);
		path(captor, i % MANY * 7919 % MANY, depth);
		if (i % (3 * MANY) == 3 * MANY - 1) {
			assert_int_equal(captor->known.known.nr_records, MANY);
			assert_int_equal(captor->known.known.hits, MANY);
		}
	}
	assert_int_equal(captor->differ, 0);
	captor_destroy(captor);
}

static void truncated_stacks_are_recognised_rightly(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t depth = 4; depth < DEPTH; depth += 3) {
		fixture->recognises.options.native_depth = depth;
		fixture->walks.options.native_depth = depth;
		fixture->recognises.options.python_depth = depth / 2;
		fixture->walks.options.python_depth = depth / 2;
		capture_in_threads(fixture, CAPTURES / 8);
	}
}

/* ---- one stack */

static NOINLINE uint32_t again(struct captor *captor, uint32_t times)
{
	uint32_t id = RECORD_STACK_NONE;

	for (volatile uint32_t i = 0; i < times; i++)
		id = look(captor);
	return id;
}

static void stack_is_recognised_when_it_comes_for_the_third_time(void **state)
{
	struct captor *captor = captor_create(*state, 0);

	again(captor, 2);
	assert_int_equal(captor->known.known.nr_records, 1);
	assert_int_equal(captor->known.known.hits, 0);
	again(captor, 5);
	assert_int_equal(captor->known.known.nr_records, 2); /* called from another place */
	assert_int_equal(captor->known.known.hits, 3);
	assert_int_equal(captor->differ, 0);
	captor_destroy(captor);
}

/* Calls again() from one place. */
static NOINLINE uint32_t in_turn(struct captor *captor, void (*between)(struct captor *captor))
{
	uint32_t id = RECORD_STACK_NONE;

	for (volatile uint32_t i = 0; i < 2; i++) {
		id = again(captor, 4);
		if (i == 0)
			between(captor);
	}
	return id;
}

static void change_modules(struct captor *captor)
{
	struct unwind_tables *tables = captor->fixture->recognises.tables;
	struct unwind_module library = {.start = 0x1000, .end = 0x2000};

	assert_int_equal(captor->known.known.hits, 2);
	assert_int_equal(unwind_tables_add(tables, &library), 0);
	unwind_tables_retire(tables, library.start);
}

static void change_stacks(struct captor *captor)
{
	/* where this program's code lies, too */
	stack_table_unloaded(captor->fixture->recognises.stacks, 0x1000, UINT64_C(1) << 47);
}

static void change_options(struct captor *captor)
{
	captor->fixture->recognises.options.native_depth = 3;
	captor->fixture->walks.options.native_depth = 3;
}

static void records_of_other_modules_do_not_hold(void **state)
{
	struct captor *captor = captor_create(*state, 0);

	in_turn(captor, change_modules);
	assert_int_equal(captor->differ, 0);
	/* The old record was forgotten, and the stack was recorded anew. */
	assert_int_equal(captor->known.known.nr_records, 1);
	assert_int_equal(captor->known.known.hits, 2);
	captor_destroy(captor);
}

static void stacks_of_another_epoch_get_other_ids(void **state)
{
	struct captor *captor = captor_create(*state, 0);
	uint32_t ids[2];

	for (volatile int i = 0; i < 2; i++)
		ids[i] = in_turn(captor, change_stacks);
	assert_int_not_equal(ids[0], ids[1]);
	assert_int_equal(captor->differ, 0);
	captor_destroy(captor);
}

/* They may be another file's at any moment, and are counted. */
static void stacks_with_code_that_was_unloaded_are_not_recorded(void **state)
{
	struct captor *captor = captor_create(*state, 0);

	change_stacks(captor);
	again(captor, 4);
	assert_int_equal(captor->known.known.nr_records, 0);
	assert_int_equal(captor->known.known.hits, 0);
	assert_true(stack_table_in_places(captor->fixture->recognises.stacks) >= 4);
	assert_int_equal(captor->differ, 0);
	captor_destroy(captor);
}

static void truncated_stack_is_recognised_and_counted(void **state)
{
	struct captor *captor = captor_create(*state, 0);

	in_turn(captor, change_options);
	assert_int_equal(captor->differ, 0);
	assert_int_equal(captor->known.known.nr_records, 2);
	assert_int_equal(captor->known.known.hits, 2 + 2);
	assert_int_equal(
		test_ring_ledger(&captor->fixture->ring, LEDGER_DEVICE_NONE, LEDGER_STACK_TRUNCATED)
			.count,
		2 * 4);
	captor_destroy(captor);
}

static void open_ranges_are_part_of_the_stack(void **state)
{
	struct fixture *fixture = *state;
	struct captor *captor = captor_create(fixture, 0);

	fixture->recognises.ranges = fixture->walks.ranges = nvtx_ranges_on(NVTX_DIGITS_AUTO);
	uint32_t ids[3];
	for (volatile int i = 0; i < 3; i++) {
		struct nvtx_text text;

		if (i == 1) {
			nvtx_text_ascii(&text, "epoch");
			nvtx_ranges_push(NVTX_DOMAIN_DEFAULT, &text);
		}
		ids[i] = again(captor, 4);
		if (i == 1)
			nvtx_ranges_pop(NVTX_DOMAIN_DEFAULT);
	}
	assert_int_equal(captor->differ, 0);
	assert_int_equal(ids[0], ids[2]);
	assert_int_not_equal(ids[0], ids[1]);
	assert_int_equal(captor->known.known.hits, 2 + 2 + 4);
	captor_destroy(captor);
}

static void full_table_is_told_each_time(void **state)
{
	struct captor *captor = captor_create(*state, 0);
	struct stack_table *stacks = captor->fixture->recognises.stacks;
	uint64_t word = 1, hash;

	while (stack_table_find(stacks, &captor->walk.stacks, &word, 1, &hash) ==
		       RECORD_STACK_NONE &&
	       stack_table_add(stacks, &captor->walk.stacks, hash, &word, 1) != RECORD_STACK_NONE)
		word++;
	assert_int_equal(again(captor, 6), RECORD_STACK_FULL);
	assert_int_equal(captor->known.known.nr_records, 0);
	assert_int_equal(captor->differ, 0);
	captor_destroy(captor);
}

static void capture_within_a_capture_is_walked(void **state)
{
	struct captor *captor = captor_create(*state, 0);
	struct known_stacks *known = &captor->known.known;

	again(captor, 4);
	assert_true(known_stacks_begin(known)); /* an outer capture */
	again(captor, 4);
	assert_true(known->disturbed);
	assert_int_equal(known->hits, 2);
	assert_int_equal(known->nr_records, 1);
	known_stacks_end(known);
	assert_true(known_stacks_begin(known));
	assert_false(known->disturbed);
	known_stacks_end(known);
	captor_destroy(captor);
}

static void looking_in_vain_pauses(void **state)
{
	struct captor *captor = captor_create(*state, 0);
	struct known_stacks *known = &captor->known.known;

	captor->nr_sizes = 1000;
	for (volatile uint32_t i = 0; i < 4000; i++)
		sized(captor, 0);
	assert_true(known->pauses > 0);
	assert_true(known->hits < 100);
	/* It looks again at last, and goes on looking if that is worth it. */
	for (uint32_t pause = known->pause; pause > 0; pause--)
		assert_true(known_stacks_pauses(known));
	assert_false(known_stacks_pauses(known));
	uint64_t before = known->hits;
	again(captor, 300);
	assert_true(known->hits > before + 290);
	assert_int_equal(captor->differ, 0);
	captor_destroy(captor);
}

/* ---- memory */

static void variable_frames_are_recorded_some_times(void **state)
{
	struct captor *captor = captor_create(*state, 0);

	captor->nr_sizes = 1000;
	for (volatile uint32_t i = 0; i < 500; i++)
		sized(captor, 0);
	assert_int_equal(captor->differ, 0);
	assert_true(captor->known.known.nr_records < 10);
	captor_destroy(captor);
}

static void memory_is_bounded_and_used_again(void **state)
{
	struct captor *captor = captor_create(*state, 0);
	uint32_t emptied = 0, nr_records = 0;

	for (uint32_t round = 0; round < 2500; round++) {
		uint64_t random = captor->random;

		for (uint32_t i = 0; i < 8; i++) {
			captor->random = random;
			enter_python(captor, DEPTH);
			KEEP();
			emptied += captor->known.known.nr_records < nr_records;
			nr_records = captor->known.known.nr_records;
			assert_true(captor->known.known.used <= KNOWN_STACKS_BYTES / 64);
		}
	}
	assert_int_equal(captor->differ, 0);
	assert_true(emptied > 0);
	captor_destroy(captor);
}

static void threads_without_memory_walk(void **state)
{
	struct captor *captors[KNOWN_STACKS_THREADS + 1];

	for (uint32_t i = 0; i <= KNOWN_STACKS_THREADS; i++) {
		captors[i] = captor_create(*state, i);
		again(captors[i], 4);
		assert_int_equal(captors[i]->differ, 0);
		assert_int_equal(captors[i]->known.known.memory != NULL, i < KNOWN_STACKS_THREADS);
	}
	for (uint32_t i = 0; i <= KNOWN_STACKS_THREADS; i++)
		captor_destroy(captors[i]);
	captors[0] = captor_create(*state, 0);
	again(captors[0], 4);
	assert_non_null(captors[0]->known.known.memory);
	captor_destroy(captors[0]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(recognised_stacks_have_the_ids_of_walked_ones),
		TEST(stacks_of_all_frames_are_recognised_rightly),
		TEST(stacks_of_python_alone_are_recognised_rightly),
		TEST(many_stacks_at_one_stack_pointer_are_recognised),
		TEST(truncated_stacks_are_recognised_rightly),
		TEST(stack_is_recognised_when_it_comes_for_the_third_time),
		TEST(records_of_other_modules_do_not_hold),
		TEST(stacks_of_another_epoch_get_other_ids),
		TEST(stacks_with_code_that_was_unloaded_are_not_recorded),
		TEST(truncated_stack_is_recognised_and_counted),
		TEST(open_ranges_are_part_of_the_stack),
		TEST(full_table_is_told_each_time),
		TEST(capture_within_a_capture_is_walked),
		TEST(looking_in_vain_pauses),
		TEST(variable_frames_are_recorded_some_times),
		TEST(memory_is_bounded_and_used_again),
		TEST(threads_without_memory_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
