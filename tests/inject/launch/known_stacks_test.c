/* When a stack is recognised, when it is walked again, and in how much memory. */
#include "inject/launch/known_stacks.h"

#include "tests/support/cmocka_test.h"

#include "inject/nvtx/nvtx_ranges.h"
#include "known_fixture.h"
#include "unwind/unwind_table.h"

#define DEPTH    KNOWN_FIXTURE_DEPTH
#define KEEP()   __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline))

/* ---- one stack */

static NOINLINE uint32_t again(struct captor *captor, uint32_t times)
{
	uint32_t id = RECORD_STACK_NONE;

	for (volatile uint32_t i = 0; i < times; i++)
		id = captor_look(captor);
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
	struct known_fixture *fixture = *state;
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
		captor_descend_sized(captor, 0);
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
		captor_descend_sized(captor, 0);
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
			captor_enter_python(captor, DEPTH);
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
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, known_fixture_set_up, known_fixture_tear_down)
	const struct CMUnitTest tests[] = {
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
