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

static void a_few_records_wait_for_more(void **state)
{
	struct read_delay delay = old_ring();

	(void)state;
	assert_true(read_delay_waits(&delay, 1, OLD));
	assert_true(read_delay_waits(&delay, 2, OLD + READ_DELAY_NS - 1));
	assert_false(read_delay_waits(&delay, 2, OLD + READ_DELAY_NS));
	/* they are read now, so the next ones wait from when they are seen */
	assert_true(read_delay_waits(&delay, 1, OLD + READ_DELAY_NS + 1));
	assert_true(read_delay_waits(&delay, 1, OLD + 2 * READ_DELAY_NS));
	assert_false(read_delay_waits(&delay, 1, OLD + 2 * READ_DELAY_NS + 1));
}

static void many_records_do_not_wait(void **state)
{
	struct read_delay delay = old_ring();

	(void)state;
	assert_true(read_delay_waits(&delay, READ_DELAY_RECORDS - 1, OLD));
	assert_false(read_delay_waits(&delay, READ_DELAY_RECORDS, OLD + 1));
	assert_true(read_delay_waits(&delay, 1, OLD + READ_DELAY_NS)); /* counted anew */
}

static void nothing_waits_in_an_empty_or_a_new_ring(void **state)
{
	struct read_delay delay = {0}, empty = old_ring();

	(void)state;
	assert_false(read_delay_waits(&delay, 1, BORN));
	assert_false(read_delay_waits(&delay, 1, OLD - 1));
	assert_true(read_delay_waits(&delay, 1, OLD));
	assert_false(read_delay_waits(&empty, 0, OLD));
	assert_true(read_delay_waits(&empty, 1, OLD + 5 * READ_DELAY_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_records_wait_for_more),
		cmocka_unit_test(many_records_do_not_wait),
		cmocka_unit_test(nothing_waits_in_an_empty_or_a_new_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
