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

	assert_false(read_delay_waits(&delay, 0, BORN));
	return delay;
}

static void a_few_records_wait_for_the_next_slot(void **state)
{
	struct read_delay delay = old_ring();

	(void)state;
	assert_false(read_delay_waits(&delay, 1, OLD)); /* the first pass of a slot */
	assert_true(read_delay_waits(&delay, 1, OLD + 1));
	assert_true(read_delay_waits(&delay, 2, OLD + READ_DELAY_NS - 1));
	assert_false(read_delay_waits(&delay, 2, OLD + READ_DELAY_NS));
	assert_true(read_delay_waits(&delay, 1, OLD + READ_DELAY_NS + 1));
	/* however late the slot's first pass is */
	assert_false(read_delay_waits(&delay, 1, OLD + 4 * READ_DELAY_NS - 1));
	assert_false(read_delay_waits(&delay, 1, OLD + 4 * READ_DELAY_NS));
}

/* Else the passes of an agent with several rings would hardly ever be complete. */
static void rings_that_fill_at_different_times_are_read_in_one_pass(void **state)
{
	struct read_delay first = old_ring(), second = old_ring();

	(void)state;
	assert_false(read_delay_waits(&first, 0, OLD));
	assert_false(read_delay_waits(&second, 0, OLD));
	assert_true(read_delay_waits(&first, 1, OLD + 10000000));
	assert_false(read_delay_waits(&second, 0, OLD + 10000000));
	assert_true(read_delay_waits(&first, 2, OLD + 60000000));
	assert_true(read_delay_waits(&second, 1, OLD + 60000000));
	assert_false(read_delay_waits(&first, 3, OLD + READ_DELAY_NS));
	assert_false(read_delay_waits(&second, 2, OLD + READ_DELAY_NS));
}

static void many_records_do_not_wait(void **state)
{
	struct read_delay delay = old_ring();

	(void)state;
	assert_false(read_delay_waits(&delay, 0, OLD));
	assert_true(read_delay_waits(&delay, READ_DELAY_RECORDS - 1, OLD + 1));
	assert_false(read_delay_waits(&delay, READ_DELAY_RECORDS, OLD + 2));
	assert_true(read_delay_waits(&delay, 1, OLD + 3));
}

static void nothing_waits_in_an_empty_or_a_new_ring(void **state)
{
	struct read_delay delay = {0};

	(void)state;
	assert_false(read_delay_waits(&delay, 1, BORN));
	assert_false(read_delay_waits(&delay, 1, BORN + 1));
	assert_false(read_delay_waits(&delay, 1, OLD - 2));
	assert_false(read_delay_waits(&delay, 1, OLD - 1));
	assert_false(read_delay_waits(&delay, 1, OLD));
	assert_false(read_delay_waits(&delay, 0, OLD + 1));
	assert_true(read_delay_waits(&delay, 1, OLD + 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_records_wait_for_the_next_slot),
		cmocka_unit_test(rings_that_fill_at_different_times_are_read_in_one_pass),
		cmocka_unit_test(many_records_do_not_wait),
		cmocka_unit_test(nothing_waits_in_an_empty_or_a_new_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
