#include "node-agent/run_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ME    (geteuid() + 1)
#define OTHER (geteuid() + 2)

static int set_up(void **state)
{
	*state = run_table_create();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	run_table_destroy(*state);
	return 0;
}

static struct control_result result_of(const struct run_table *table, uint32_t run, uid_t uid,
				       uint64_t acked)
{
	struct control_result result = {0};

	run_table_result(table, run, uid, acked, &result);
	return result;
}

static void sums_are_of_processes_that_ended(void **state)
{
	const struct run_table_sums sums = {
		.launches = 5, .records = 7, .lost = 1, .taken_over = 1, .seq = 9};

	run_table_begin(*state, 3, ME);
	run_table_begin(*state, 3, ME);
	run_table_end(*state, 3, ME, &sums);
	struct control_result result = result_of(*state, 3, ME, 100);
	assert_int_equal(result.nr_processes, 2);
	assert_int_equal(result.nr_running, 1);
	assert_int_equal(result.launches, 5);
	assert_int_equal(result.records, 7);
	assert_int_equal(result.lost, 1);
	assert_int_equal(result.taken_over, 1);
	assert_false(result.is_stored);
}

static void all_is_stored_once_the_last_message_is_acknowledged(void **state)
{
	const struct run_table_sums sums = {.seq = 9};

	run_table_begin(*state, 3, ME);
	run_table_end(*state, 3, ME, &sums);
	assert_false(result_of(*state, 3, ME, 8).is_stored);
	assert_true(result_of(*state, 3, ME, 9).is_stored);
}

static void another_users_run_and_an_unknown_one_are_nothing(void **state)
{
	run_table_begin(*state, 3, ME);
	run_table_begin(*state, 0, ME);
	assert_int_equal(result_of(*state, 3, OTHER, 0).nr_processes, 0);
	assert_int_equal(result_of(*state, 4, ME, 0).nr_processes, 0);
	assert_int_equal(result_of(*state, 0, ME, 0).nr_processes, 0);
}

static void the_first_reason_is_kept(void **state)
{
	run_table_absent(*state, 3, ME, "a limit", 2);
	run_table_absent(*state, 3, ME, "another", 3);
	struct control_result result = result_of(*state, 3, ME, 2);
	assert_int_equal(result.nr_absent, 2);
	assert_string_equal(result.why, "a limit");
	assert_false(result.is_stored);
}

static void the_quietest_run_makes_room(void **state)
{
	for (uint32_t run = 1; run <= RUN_TABLE_MAX; run++)
		run_table_begin(*state, run, geteuid());
	run_table_begin(*state, 1, geteuid());
	run_table_begin(*state, RUN_TABLE_MAX + 1, geteuid());
	assert_int_equal(result_of(*state, 1, geteuid(), 0).nr_processes, 2);
	assert_int_equal(result_of(*state, 2, geteuid(), 0).nr_processes, 0);
	assert_int_equal(result_of(*state, RUN_TABLE_MAX + 1, geteuid(), 0).nr_processes, 1);
}

static void a_users_runs_make_room_for_that_users_alone(void **state)
{
	run_table_begin(*state, 1, geteuid());
	run_table_begin(*state, 1, OTHER);
	for (uint32_t run = 1; run <= 10 * RUN_TABLE_MAX; run++)
		run_table_absent(*state, run, ME, "made up", 1);
	assert_int_equal(result_of(*state, 1, geteuid(), 0).nr_processes, 1);
	assert_int_equal(result_of(*state, 1, OTHER, 0).nr_processes, 1);
	assert_int_equal(result_of(*state, 10 * RUN_TABLE_MAX, ME, 0).nr_absent, 1);
	assert_int_equal(result_of(*state, 10 * RUN_TABLE_MAX - RUN_TABLE_MAX / 2, ME, 0).nr_absent,
			 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sums_are_of_processes_that_ended),
		TEST(all_is_stored_once_the_last_message_is_acknowledged),
		TEST(another_users_run_and_an_unknown_one_are_nothing),
		TEST(the_first_reason_is_kept),
		TEST(the_quietest_run_makes_room),
		TEST(a_users_runs_make_room_for_that_users_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
