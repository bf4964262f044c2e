#include "tests/support/cmocka_test.h"

#include "node-agent/job_order.h"

#define S    1000000000ll
#define NOW  (500 * S)        /* our CLOCK_MONOTONIC */
#define OURS (1700000000 * S) /* our CLOCK_REALTIME - CLOCK_MONOTONIC */

static struct record_ring_command command;
static struct message_control taken;

static void take(uint64_t from_ns, uint64_t until_ns,
		 const struct clock_exchange_estimate *estimate)
{
	const struct message_control order = {.kind = CONTROL_ORDER,
					      .token = 9,
					      .action = 1,
					      .from_ns = from_ns,
					      .until_ns = until_ns};

	job_order_take(&order, estimate, OURS, NOW, &command, &taken);
	assert_int_equal(command.action, 1);
	assert_int_equal(taken.kind, CONTROL_TAKEN);
	assert_int_equal(taken.token, 9);
}

/* Our CLOCK_REALTIME is 100 s ahead of the aggregator's, whatever CLOCK_MONOTONIC shows. */
static void a_wrong_clock_is_put_right(void **state)
{
	const struct clock_exchange_estimate estimate = {
		.offset_ns = 40 * S, .bound_ns = 45000, .realtime_offset_ns = OURS - 60 * S};
	uint64_t then_ns = (uint64_t)(OURS + NOW - 100 * S);

	(void)state;
	take(then_ns + 5 * S, then_ns + 15 * S, &estimate);
	assert_int_equal(command.from_ns, OURS + NOW + 5 * S);
	assert_int_equal(command.until_ns, OURS + NOW + 15 * S);
	assert_int_equal(taken.bound_ns, 45000);
	assert_int_equal(taken.state, CONTROL_IN_TIME);
	take(then_ns - 1, then_ns + 15 * S, &estimate);
	assert_int_equal(taken.state, CONTROL_LATE);
}

static void without_an_offset_times_are_taken_as_they_are(void **state)
{
	(void)state;
	take((uint64_t)(OURS + NOW + S), 0, NULL);
	assert_int_equal(command.from_ns, OURS + NOW + S);
	assert_int_equal(command.until_ns, 0);
	assert_int_equal(taken.bound_ns, 0);
	assert_int_equal(taken.state, CONTROL_IN_TIME);
	take(0, 0, NULL);
	assert_int_equal(command.from_ns, 0);
	assert_int_equal(taken.state, CONTROL_IN_TIME);
}

static void at_once_stays_at_once_and_nothing_becomes_it(void **state)
{
	const struct clock_exchange_estimate estimate = {
		.offset_ns = -5 * S, .bound_ns = 1, .realtime_offset_ns = OURS};

	(void)state;
	take(0, 3 * S, &estimate);
	assert_int_equal(command.from_ns, 0);
	assert_int_equal(command.until_ns, 1); /* long past, and not "without end" */
	take(UINT64_MAX, UINT64_MAX, &estimate);
	assert_int_equal(command.from_ns, UINT64_MAX);
}

static void offsets_that_no_clock_has_are_not_used(void **state)
{
	const struct clock_exchange_estimate estimate = {
		.offset_ns = INT64_MIN, .bound_ns = 1, .realtime_offset_ns = INT64_MAX};

	(void)state;
	take((uint64_t)(OURS + NOW + S), 0, &estimate);
	assert_int_equal(command.from_ns, OURS + NOW + S);
	assert_int_equal(taken.bound_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_clock_is_put_right),
		cmocka_unit_test(without_an_offset_times_are_taken_as_they_are),
		cmocka_unit_test(at_once_stays_at_once_and_nothing_becomes_it),
		cmocka_unit_test(offsets_that_no_clock_has_are_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
