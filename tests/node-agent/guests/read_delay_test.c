#include "node-agent/guests/read_delay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BORN 5000000000ull
#define OLD  (BORN + READ_DELAY_AGE_NS)

static struct read_delay old_ring(void)
{
	struct read_delay delay = {0};

	assert_false(read_delay_waits(&delay, 0, true, BORN));
	return delay;
}

static void a_few_records_wait_for_the_next_slot(void **state)
{
	struct read_delay delay = old_ring();

	(void)state;
	assert_false(read_delay_waits(&delay, 1, true, OLD)); /* the first pass of a slot */
	assert_true(read_delay_waits(&delay, 1, true, OLD + 1));
	assert_true(read_delay_waits(&delay, 2, true, OLD + READ_DELAY_NS - 1));
	assert_false(read_delay_waits(&delay, 2, true, OLD + READ_DELAY_NS));
	assert_true(read_delay_waits(&delay, 1, true, OLD + READ_DELAY_NS + 1));
	/* however late the slot's first pass is */
	assert_false(read_delay_waits(&delay, 1, true, OLD + 4 * READ_DELAY_NS - 1));
	assert_false(read_delay_waits(&delay, 1, true, OLD + 4 * READ_DELAY_NS));
}

/* Else the passes of an agent with several rings would hardly ever be complete. */
static void rings_that_fill_at_different_times_are_read_in_one_pass(void **state)
{
	struct read_delay first = old_ring(), second = old_ring();

	(void)state;
	assert_false(read_delay_waits(&first, 0, true, OLD));
	assert_false(read_delay_waits(&second, 0, true, OLD));
	assert_true(read_delay_waits(&first, 1, true, OLD + 10000000));
	assert_false(read_delay_waits(&second, 0, true, OLD + 10000000));
	assert_true(read_delay_waits(&first, 2, true, OLD + 60000000));
	assert_true(read_delay_waits(&second, 1, true, OLD + 60000000));
	assert_false(read_delay_waits(&first, 3, true, OLD + READ_DELAY_NS));
	assert_false(read_delay_waits(&second, 2, true, OLD + READ_DELAY_NS));
}

static void many_records_do_not_wait(void **state)
{
	struct read_delay delay = old_ring();

	(void)state;
	assert_false(read_delay_waits(&delay, 0, true, OLD));
	assert_true(read_delay_waits(&delay, READ_DELAY_RECORDS - 1, true, OLD + 1));
	assert_false(read_delay_waits(&delay, READ_DELAY_RECORDS, true, OLD + 2));
	assert_true(read_delay_waits(&delay, 1, true, OLD + 3));
}

static void nothing_waits_in_an_empty_or_a_new_ring(void **state)
{
	struct read_delay delay = {0};

	(void)state;
	assert_false(read_delay_waits(&delay, 1, true, BORN));
	assert_false(read_delay_waits(&delay, 1, true, BORN + 1));
	assert_false(read_delay_waits(&delay, 1, true, OLD - 2));
	assert_false(read_delay_waits(&delay, 1, true, OLD - 1));
	assert_false(read_delay_waits(&delay, 1, true, OLD));
	assert_false(read_delay_waits(&delay, 0, true, OLD + 1));
	assert_true(read_delay_waits(&delay, 1, true, OLD + 2));
}

static void many_first_records_do_not_wait_for_a_description(void **state)
{
	struct read_delay delay = {0};

	(void)state;
	assert_false(read_delay_waits(&delay, 0, false, BORN));
	assert_true(read_delay_waits(&delay, READ_DELAY_EARLY_RECORDS - 1, false, OLD));
	assert_false(
		read_delay_waits(&delay, READ_DELAY_EARLY_RECORDS, false, OLD + READ_DELAY_NS));
	assert_true(read_delay_waits(&delay, 1, false, OLD + 2 * READ_DELAY_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_records_wait_for_the_next_slot),
		cmocka_unit_test(rings_that_fill_at_different_times_are_read_in_one_pass),
		cmocka_unit_test(many_records_do_not_wait),
		cmocka_unit_test(nothing_waits_in_an_empty_or_a_new_ring),
		cmocka_unit_test(many_first_records_do_not_wait_for_a_description),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
