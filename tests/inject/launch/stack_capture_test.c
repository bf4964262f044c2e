#include "inject/launch/stack_capture.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "inject/launch/kernel_context.h"
#include "inject/module_watch.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "proto/stack_word.h"
#include "tests/inject/test_ring.h"
#include "tests/support/fake_torch/fake_model.h"
#include "unwind/unwind_table.h"

#define LOOP       0x500000u /* the evaluation loop's code */
#define IN_LOOP    (LOOP + 0x10)
#define MARK(name) (1u << STACK_MARK_##name)

static const struct unwind_stops loop = {.nr = 1, .ranges = {{LOOP, LOOP + 0x100}}};

struct fixture {
	struct test_ring ring;
	struct definition_writer writer;
	struct module_watch *watch;
	struct stack_capture capture;
	struct stack_scratch scratch;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	test_ring_init(&fixture->ring);
	fixture->capture = (struct stack_capture){
		.ring = fixture->ring.guest,
		.stacks = stack_table_create(fixture->ring.guest),
		.tables = unwind_tables_create(UNWIND_BYTES_MAX),
		.python = python_frames_create(fixture->ring.guest),
		.options = STACK_OPTIONS_DEFAULT,
	};
	fixture->writer = DEFINITION_WRITER_INIT(fixture->ring.guest);
	fixture->watch = module_watch_create(&fixture->writer, fixture->capture.tables);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	module_watch_destroy(fixture->watch);
	python_frames_destroy(fixture->capture.python);
	unwind_tables_destroy(fixture->capture.tables);
	stack_table_destroy(fixture->capture.stacks);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

/* ---- the merge: native frames are 1, 2, 3 …, Python's keys 101, 102, … ------------------------- */

static void set_native(struct stack_scratch *scratch, const uint64_t *frames, uint32_t nr)
{
	memcpy(scratch->native, frames, nr * sizeof(*frames));
}

/* Segments by their lengths, 0 ends. Returns the number of frames. */
static uint32_t set_python(struct stack_scratch *scratch, const uint32_t *segments)
{
	uint32_t nr = 0;

	for (; *segments; segments++) {
		for (uint32_t i = 0; i < *segments; i++, nr++)
			scratch->python[nr] = (struct python_frame){
				.key = 101 + nr, .segment_end = i + 1 == *segments};
	}
	return nr;
}

static void assert_keys(const struct stack_scratch *scratch, const uint64_t *keys, uint32_t nr)
{
	assert_int_equal(scratch->nr, nr);
	assert_memory_equal(scratch->keys, keys, nr * sizeof(*keys));
	for (uint32_t i = 0; i < nr; i++) {
		bool is_python = keys[i] > 100 && keys[i] < 200;

		assert_int_equal(scratch->python_at[i], is_python ? keys[i] - 100 : 0);
	}
}

static void each_loop_becomes_the_frames_of_its_segment(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t native[] = {1, 2, IN_LOOP, 3, IN_LOOP, 4},
		       keys[] = {1, 2, 101, 102, 3, 103, 4};
	uint32_t nr = set_python(&fixture->scratch, (uint32_t[]){2, 1, 0});

	set_native(&fixture->scratch, native, 6);
	assert_int_equal(stack_capture_merge(&fixture->scratch, 6, UNWIND_ROOT, &loop, nr), 0);
	assert_keys(&fixture->scratch, keys, 7);
}

static void python_frames_go_on_where_native_ones_are_missing(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t native[] = {1, IN_LOOP, 2};
	const uint64_t keys[] = {1, 101, 2, stack_word_mark(STACK_MARK_MISSING), 102, 103};
	uint32_t nr = set_python(&fixture->scratch, (uint32_t[]){1, 2, 0});

	set_native(&fixture->scratch, native, 3);
	assert_int_equal(stack_capture_merge(&fixture->scratch, 3, UNWIND_NOT_READY, &loop, nr),
			 MARK(MISSING));
	assert_keys(&fixture->scratch, keys, 6);
}

static void a_depth_cap_is_marked_before_the_remaining_python_frames(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t native[] = {1, 2};
	const uint64_t keys[] = {1, 2, stack_word_mark(STACK_MARK_TRUNCATED), 101};
	uint32_t nr = set_python(&fixture->scratch, (uint32_t[]){1, 0});

	set_native(&fixture->scratch, native, 2);
	assert_int_equal(stack_capture_merge(&fixture->scratch, 2, UNWIND_FULL, &loop, nr),
			 MARK(TRUNCATED));
	assert_keys(&fixture->scratch, keys, 4);
}

static void a_loop_without_a_segment_leaves_both_side_by_side(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t native[] = {1, IN_LOOP, 2, IN_LOOP, 3};
	const uint64_t keys[] = {1,   IN_LOOP, 2, IN_LOOP, 3, stack_word_mark(STACK_MARK_MISMATCH),
				 101, 102};
	uint32_t nr = set_python(&fixture->scratch, (uint32_t[]){2, 0});

	set_native(&fixture->scratch, native, 5);
	assert_int_equal(stack_capture_merge(&fixture->scratch, 5, UNWIND_ROOT, &loop, nr),
			 MARK(MISMATCH));
	assert_keys(&fixture->scratch, keys, 8);
}

static void a_segment_without_a_loop_leaves_both_side_by_side(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t native[] = {1, IN_LOOP, 3};
	const uint64_t keys[] = {1, IN_LOOP, 3, stack_word_mark(STACK_MARK_MISMATCH), 101, 102};
	uint32_t nr = set_python(&fixture->scratch, (uint32_t[]){1, 1, 0});

	set_native(&fixture->scratch, native, 3);
	assert_int_equal(stack_capture_merge(&fixture->scratch, 3, UNWIND_ROOT, &loop, nr),
			 MARK(MISMATCH));
	assert_keys(&fixture->scratch, keys, 6);
}

static void the_deepest_stack_fits_with_its_marks(void **state)
{
	struct fixture *fixture = *state;
	uint32_t nr = set_python(&fixture->scratch, (uint32_t[]){STACK_OPTIONS_DEPTH_MAX - 1, 0});

	fixture->scratch.native[0] = 1;
	assert_int_equal(stack_capture_merge(&fixture->scratch, 1, UNWIND_NO_RULE, &loop, nr),
			 MARK(MISSING));
	assert_int_equal(fixture->scratch.nr, STACK_OPTIONS_DEPTH_MAX + 1);
	assert_int_equal(fixture->scratch.keys[1], stack_word_mark(STACK_MARK_MISSING));
}

/* ---- captures of this program's own stack ------------------------------------------------------ */

static __attribute__((noinline)) uint32_t nest(struct fixture *fixture, uint32_t levels)
{
	uint32_t id = levels ? nest(fixture, levels - 1)
			     : stack_capture_take(&fixture->capture, &fixture->scratch, 1);

	__asm__ volatile("" ::: "memory");
	return id;
}

static uint64_t ledger(struct fixture *fixture, enum ledger_reason reason)
{
	return test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, reason).count;
}

static void tables_at_hand_give_a_stack_that_ends_at_a_root(void **state)
{
	struct fixture *fixture = *state;
	uint64_t words[RECORD_STACK_DEPTH];

	module_watch_poll(fixture->watch, false);
	unwind_tables_build(fixture->capture.tables, UNWIND_BUILD_ALL);
	uint32_t id = RECORD_STACK_NONE;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t same_id = nest(fixture, 10);

		assert_int_equal(same_id, i ? id : same_id);
		id = same_id;
	}
	assert_int_not_equal(id, RECORD_STACK_NONE);
	int depth = record_ring_read_stack(fixture->ring.agent, id, words);
	assert_true(depth > 12);
	for (int i = 0; i < depth; i++)
		assert_true(stack_word_is_native(words[i]));
	assert_int_not_equal(nest(fixture, 11), id);
	for (uint32_t reason = LEDGER_STACK_PARTIAL; reason < LEDGER_REASONS; reason++)
		assert_int_equal(ledger(fixture, reason), 0);
}

static void missing_table_marks_the_stack_and_is_counted_until_it_is_built(void **state)
{
	struct fixture *fixture = *state;
	uint64_t words[RECORD_STACK_DEPTH];
	uint32_t id, rounds = 0;

	module_watch_poll(fixture->watch, false);
	id = nest(fixture, 3);
	int depth = record_ring_read_stack(fixture->ring.agent, id, words);
	assert_true(depth >= 2);
	assert_int_equal(words[depth - 1], stack_word_mark(STACK_MARK_MISSING));
	assert_int_equal(ledger(fixture, LEDGER_STACK_PARTIAL), 1);
	while (unwind_tables_build(fixture->capture.tables, UNWIND_BUILD_WANTED) > 0) {
		id = nest(fixture, 3);
		rounds++;
	}
	assert_true(rounds >= 1);
	depth = record_ring_read_stack(fixture->ring.agent, id, words);
	assert_true(stack_word_is_native(words[depth - 1]));
	assert_int_equal(ledger(fixture, LEDGER_STACK_PARTIAL), rounds);
	assert_int_equal(ledger(fixture, LEDGER_STACK_NO_ROOT), 0);
}

static void deeper_stacks_than_the_cap_are_cut_at_the_root_and_counted(void **state)
{
	struct fixture *fixture = *state;
	uint64_t words[RECORD_STACK_DEPTH];

	module_watch_poll(fixture->watch, false);
	unwind_tables_build(fixture->capture.tables, UNWIND_BUILD_ALL);
	fixture->capture.options.native_depth = 8;
	int depth = record_ring_read_stack(fixture->ring.agent, nest(fixture, 20), words);
	assert_int_equal(depth, 9);
	assert_int_equal(words[8], stack_word_mark(STACK_MARK_TRUNCATED));
	assert_int_equal(ledger(fixture, LEDGER_STACK_TRUNCATED), 1);
}

static void without_python_its_mode_and_none_have_no_stack(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.options.mode = STACK_MODE_NONE;
	assert_int_equal(nest(fixture, 3), RECORD_STACK_NONE);
	fixture->capture.options.mode = STACK_MODE_PYTHON;
	assert_int_equal(nest(fixture, 3), RECORD_STACK_NONE);
}

static void full_table_is_said_and_counted(void **state)
{
	struct fixture *fixture = *state;
	uint64_t word = 1, hash;

	module_watch_poll(fixture->watch, false);
	unwind_tables_build(fixture->capture.tables, UNWIND_BUILD_ALL);
	while (stack_table_find(fixture->capture.stacks, &fixture->scratch.stacks, &word, 1,
				&hash) == RECORD_STACK_NONE &&
	       stack_table_add(fixture->capture.stacks, &fixture->scratch.stacks, hash, &word, 1) !=
		       RECORD_STACK_NONE)
		word++;
	assert_int_equal(nest(fixture, 3), RECORD_STACK_FULL);
	assert_int_equal(ledger(fixture, LEDGER_STACK_TABLE_FULL), 1);
}

static int push_range(const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	return nvtx_ranges_push(NVTX_DOMAIN_DEFAULT, &text);
}

static void open_ranges_stand_outside_of_the_stack(void **state)
{
	struct fixture *fixture = *state;
	uint64_t words[RECORD_STACK_DEPTH], without[RECORD_STACK_DEPTH];
	struct record_ring_code code;

	module_watch_poll(fixture->watch, false);
	unwind_tables_build(fixture->capture.tables, UNWIND_BUILD_ALL);
	fixture->capture.ranges = nvtx_ranges_on(NVTX_DIGITS_AUTO);
	int depth = record_ring_read_stack(fixture->ring.agent, nest(fixture, 3), without);
	push_range("epoch");
	push_range("forward");
	uint32_t stack_id = 0, before = 0;
	for (volatile int i = 0; i < 2; i++) { /* from the same place */
		before = stack_id;
		stack_id = nest(fixture, 3);
	}
	assert_int_equal(before, stack_id);
	assert_int_equal(record_ring_read_stack(fixture->ring.agent, stack_id, words), depth + 2);
	assert_true(stack_word_is_range(words[depth]) && stack_word_is_range(words[depth + 1]));
	assert_int_equal(record_ring_read_code(fixture->ring.agent,
					       stack_word_range_code(words[depth + 1]), &code),
			 0);
	assert_memory_equal(code.name, "epoch", 5);
	nvtx_ranges_pop(NVTX_DOMAIN_DEFAULT);
	assert_int_not_equal(nest(fixture, 3), stack_id);

	/* Without stacks the ranges are all there is. */
	fixture->capture.options.mode = STACK_MODE_NONE;
	assert_int_equal(record_ring_read_stack(fixture->ring.agent, nest(fixture, 3), words), 1);
	nvtx_ranges_pop(NVTX_DOMAIN_DEFAULT);
	assert_int_equal(nest(fixture, 3), RECORD_STACK_NONE);
	assert_int_equal(ledger(fixture, LEDGER_NVTX_NAME_LOST), 0);
}

static void range_without_a_name_is_counted(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.ranges = nvtx_ranges_on(NVTX_DIGITS_AUTO);
	fixture->capture.options.mode = STACK_MODE_NONE;
	nvtx_ranges_push_name(NVTX_DOMAIN_DEFAULT, NVTX_NAME_LOST);
	assert_int_not_equal(nest(fixture, 3), RECORD_STACK_NONE);
	nest(fixture, 3);
	assert_int_equal(ledger(fixture, LEDGER_NVTX_NAME_LOST), 2);
	nvtx_ranges_pop(NVTX_DOMAIN_DEFAULT);
}

struct nested {
	struct fixture *fixture;
	uint32_t stack_id;
};

static void nest_once(void *user)
{
	struct nested *nested = user;

	nested->stack_id = nest(nested->fixture, 3);
}

static void lines_of_a_model_stand_outside_of_the_stack(void **state)
{
	struct fixture *fixture = *state;
	static const char trace[] = "File \"model.py\", line 3, in f";
	uint64_t words[RECORD_STACK_DEPTH], without[RECORD_STACK_DEPTH];
	struct nested nested = {.fixture = fixture};
	void *model = dlopen(FAKE_MODEL, RTLD_NOW);
	void (*call)(const char *, size_t, void (*)(void *), void *) =
		(void (*)(const char *, size_t, void (*)(void *), void *))dlsym(model,
										"fake_model_call");

	module_watch_poll(fixture->watch, false);
	unwind_tables_build(fixture->capture.tables, UNWIND_BUILD_ALL);
	fixture->capture.contexts = kernel_contexts_create(fixture->ring.guest);
	call("", 0, nest_once, &nested);
	int depth = record_ring_read_stack(fixture->ring.agent, nested.stack_id, without);
	kernel_contexts_find(fixture->capture.contexts);
	call(trace, sizeof(trace) - 1, nest_once, &nested);
	assert_int_equal(record_ring_read_stack(fixture->ring.agent, nested.stack_id, words),
			 depth + 1);
	assert_true(stack_word_is_lines(words[depth]));
	kernel_contexts_destroy(fixture->capture.contexts);
	dlclose(model);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_loop_becomes_the_frames_of_its_segment),
		TEST(python_frames_go_on_where_native_ones_are_missing),
		TEST(a_depth_cap_is_marked_before_the_remaining_python_frames),
		TEST(a_loop_without_a_segment_leaves_both_side_by_side),
		TEST(a_segment_without_a_loop_leaves_both_side_by_side),
		TEST(the_deepest_stack_fits_with_its_marks),
		TEST(tables_at_hand_give_a_stack_that_ends_at_a_root),
		TEST(missing_table_marks_the_stack_and_is_counted_until_it_is_built),
		TEST(deeper_stacks_than_the_cap_are_cut_at_the_root_and_counted),
		TEST(without_python_its_mode_and_none_have_no_stack),
		TEST(full_table_is_said_and_counted),
		TEST(open_ranges_stand_outside_of_the_stack),
		TEST(range_without_a_name_is_counted),
		TEST(lines_of_a_model_stand_outside_of_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
