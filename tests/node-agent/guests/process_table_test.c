#include "node-agent/guests/process_table.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "node-agent/base/event_loop.h"
#include "node-agent/guests/guest_process.h"

/* A process is its user and no more. */
uid_t __wrap_guest_process_uid(const struct guest_process *process);
void __wrap_guest_process_destroy(struct guest_process *process);
uint64_t __wrap_guest_process_launches(const struct guest_process *process);
uint64_t __wrap_guest_process_records(const struct guest_process *process);

uid_t __wrap_guest_process_uid(const struct guest_process *process)
{
	return *(const uid_t *)process;
}

void __wrap_guest_process_destroy(struct guest_process *process)
{
	free(process);
}

uint64_t __wrap_guest_process_launches(const struct guest_process *process)
{
	(void)process;
	return 0;
}

uint64_t __wrap_guest_process_records(const struct guest_process *process)
{
	(void)process;
	return 0;
}

static struct event_loop *loop;
static struct process_table *table;

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(event_loop_create(&loop), 0);
	table = process_table_create(loop);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	process_table_destroy(table);
	event_loop_destroy(loop);
	return 0;
}

/* As many as get in. */
static uint32_t take_all(uid_t uid)
{
	uint32_t held, count = 0;

	while (process_table_has_place(table, uid, &held)) {
		uid_t *process = malloc(sizeof(*process));

		*process = uid;
		assert_int_equal(held, count);
		assert_int_equal(
			process_table_add(table, (struct guest_process *)(void *)process, 0), 0);
		count++;
	}
	assert_int_equal(held, count);
	return count;
}

static uid_t other_user(uint32_t number)
{
	return geteuid() + 1000 + number;
}

static void each_user_leaves_as_many_places_as_it_takes(void **state)
{
	(void)state;
	assert_int_equal(take_all(other_user(0)), PROCESS_TABLE_MAX / 2);
	assert_int_equal(take_all(other_user(1)), PROCESS_TABLE_MAX / 4);
	assert_int_equal(take_all(other_user(2)), PROCESS_TABLE_MAX / 8);
}

static void root_gets_what_is_left(void **state)
{
	uint32_t held;

	(void)state;
	take_all(other_user(0));
	assert_int_equal(take_all(0), PROCESS_TABLE_MAX / 2);
	assert_int_equal(process_table_count(table), PROCESS_TABLE_MAX);
	assert_false(process_table_has_place(table, other_user(1), &held));
	assert_int_equal(held, 0);
	assert_int_equal(process_table_add(table, NULL, 0), -ENOSPC);
}

static void a_place_that_was_left_can_be_taken_again(void **state)
{
	uint32_t held;

	(void)state;
	take_all(other_user(0));
	process_table_remove(table, 0);
	assert_true(process_table_has_place(table, other_user(0), &held));
	assert_int_equal(held, PROCESS_TABLE_MAX / 2 - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_user_leaves_as_many_places_as_it_takes),
		TEST(root_gets_what_is_left),
		TEST(a_place_that_was_left_can_be_taken_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
