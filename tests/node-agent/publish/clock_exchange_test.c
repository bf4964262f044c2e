#include "tests/support/cmocka_test.h"

#include <stdbool.h>
#include <string.h>

#include "node-agent/publish/clock_exchange.h"

#define S      1000000000ll
#define MS     1000000ll
#define US     1000ll
#define START  (1000 * S)
#define BURST  CLOCK_EXCHANGE_BURST
#define PERIOD 30000u

/* Two clocks, and the ways between them. True time is the aggregator's clock. */
struct world {
	int64_t now_ns;
	int64_t skew_ns;   /* ours - the aggregator's, at START */
	int64_t drift_ppm; /* ours goes faster by this */
	struct clock_exchange exchange;
};

static uint64_t ours(const struct world *world)
{
	int64_t passed_ns = world->now_ns - START;

	return (uint64_t)(world->now_ns + world->skew_ns + passed_ns * world->drift_ppm / 1000000);
}

static int64_t true_offset(const struct world *world)
{
	return (int64_t)ours(world) - world->now_ns;
}

static struct world begin(int64_t skew_ns)
{
	struct world world = {.now_ns = START, .skew_ns = skew_ns};

	clock_exchange_init(&world.exchange, PERIOD);
	clock_exchange_restart(&world.exchange, ours(&world));
	return world;
}

/* A question, and its answer after these ways and this stay at the aggregator. */
static struct message_clock travel(struct world *world, int64_t there_ns, int64_t stay_ns)
{
	struct message_clock answer = {.kind = CLOCK_ANSWER, .t1_ns = ours(world)};

	assert_true(clock_exchange_wants(&world->exchange, ours(world)));
	clock_exchange_asked(&world->exchange, answer.t1_ns);
	world->now_ns += there_ns;
	answer.t2_ns = (uint64_t)world->now_ns;
	world->now_ns += stay_ns;
	answer.t3_ns = (uint64_t)world->now_ns;
	return answer;
}

static bool exchange_once(struct world *world, int64_t there_ns, int64_t stay_ns, int64_t back_ns)
{
	const struct message_clock answer = travel(world, there_ns, stay_ns);

	world->now_ns += back_ns;
	return clock_exchange_answered(&world->exchange, &answer, ours(world));
}

static void lose_answer(struct world *world)
{
	travel(world, 50 * US, 0);
	world->now_ns += 2 * S;
}

static struct clock_exchange_estimate estimate_of(const struct world *world)
{
	struct clock_exchange_estimate estimate;

	assert_true(clock_exchange_estimate(&world->exchange, ours(world), &estimate));
	return estimate;
}

static void assert_holds(const struct world *world)
{
	struct clock_exchange_estimate estimate = estimate_of(world);
	int64_t off_ns = estimate.offset_ns - true_offset(world);

	assert_true((uint64_t)(off_ns < 0 ? -off_ns : off_ns) <= estimate.bound_ns);
}

/* --- what is measured --- */

static void planted_skews_are_found_within_the_bound(void **state)
{
	static const int64_t skews[] = {0, 5 * S, -5 * S, 1, -1, 400 * S, -900 * S};

	(void)state;
	for (size_t i = 0; i < sizeof(skews) / sizeof(skews[0]); i++) {
		struct world world = begin(skews[i]);

		for (uint32_t n = 0; n < BURST; n++)
			assert_true(exchange_once(&world, 40 * US, 3 * MS, 60 * US));
		assert_holds(&world);
		assert_in_range(estimate_of(&world).bound_ns, 50 * US, 60 * US);
	}
}

static void however_unequal_the_two_ways_are_the_bound_holds(void **state)
{
	(void)state;
	for (int64_t there_ns = 0; there_ns <= 10 * MS; there_ns += MS) {
		struct world world = begin(5 * S);

		assert_true(exchange_once(&world, there_ns, 0, 10 * MS - there_ns));
		assert_holds(&world);
		assert_in_range(estimate_of(&world).bound_ns, 5 * MS, 5 * MS + 200);
	}
}

static void the_shortest_round_trip_of_a_burst_counts(void **state)
{
	struct world world = begin(-5 * S);

	(void)state;
	for (uint32_t n = 0; n < BURST; n++)
		assert_true(exchange_once(&world, n == 3 ? 20 * US : 5 * MS, 0, 30 * US));
	assert_int_equal(world.exchange.best.round_trip_ns, 50 * US);
	assert_holds(&world);
	assert_in_range(estimate_of(&world).bound_ns, 25 * US, 26 * US);
}

static void the_aggregators_own_time_is_no_part_of_the_round_trip(void **state)
{
	struct world world = begin(0);

	(void)state;
	assert_true(exchange_once(&world, 10 * US, 900 * MS, 10 * US));
	assert_int_equal(world.exchange.best.round_trip_ns, 20 * US);
}

static void the_bound_grows_with_time_as_clocks_drift(void **state)
{
	struct world world = begin(5 * S);

	(void)state;
	world.drift_ppm = 14;
	for (uint32_t n = 0; n < BURST; n++)
		exchange_once(&world, 10 * US, 0, 10 * US);
	world.now_ns += 29 * S;
	assert_holds(&world);
	assert_in_range(estimate_of(&world).bound_ns, 400 * US, 500 * US);
}

static void each_burst_follows_a_clock_that_drifts(void **state)
{
	struct world world = begin(5 * S);
	struct message_clock result;

	(void)state;
	world.drift_ppm = -10;
	for (int burst = 0; burst < 100; burst++) {
		for (uint32_t n = 0; n < BURST; n++)
			assert_true(exchange_once(&world, 30 * US, US, 10 * US));
		assert_false(clock_exchange_wants(&world.exchange, ours(&world)));
		assert_true(clock_exchange_result(&world.exchange, ours(&world), &result));
		assert_false(clock_exchange_result(&world.exchange, ours(&world), &result));
		assert_int_equal(result.kind, CLOCK_RESULT);
		assert_in_range(result.round_trip_ns, 40 * US - 2,
				40 * US + 2); /* as our clock goes */
		assert_in_range(result.bound_ns, 20 * US, 21 * US);
		assert_int_equal(result.t1_ns, ours(&world));
		assert_holds(&world);
		world.now_ns += 31 * S;
	}
	assert_in_range(true_offset(&world), 5 * S - 32 * MS, 5 * S - 30 * MS);
}

/* --- when it is asked --- */

static void a_burst_comes_at_once_and_then_every_interval(void **state)
{
	struct world world = begin(0);

	(void)state;
	for (uint32_t n = 0; n < BURST; n++)
		exchange_once(&world, US, 0, US);
	assert_int_equal(clock_exchange_deadline_ns(&world.exchange), START + 30 * S);
	assert_false(clock_exchange_wants(&world.exchange, START + 30 * S - 1));
	assert_true(clock_exchange_wants(&world.exchange, START + 30 * S));
	/* Bursts that were missed are not made up for. */
	assert_true(clock_exchange_wants(&world.exchange, START + 3600 * S));
	world.now_ns = START + 3600 * S;
	for (uint32_t n = 0; n < BURST; n++)
		exchange_once(&world, US, 0, US);
	assert_in_range(clock_exchange_deadline_ns(&world.exchange), START + 3630 * S,
			START + 3631 * S);
}

static void one_question_is_out_at_a_time(void **state)
{
	struct world world = begin(0);

	(void)state;
	travel(&world, US, 0);
	assert_false(clock_exchange_wants(&world.exchange, ours(&world)));
	assert_int_equal(clock_exchange_deadline_ns(&world.exchange), START + S);
	assert_true(clock_exchange_wants(&world.exchange, START + S));
	assert_int_equal(world.exchange.nr_lost, 1);
}

static void nothing_is_asked_where_it_is_not_wanted_or_before_a_connection(void **state)
{
	struct clock_exchange exchange;
	struct clock_exchange_estimate estimate;

	(void)state;
	clock_exchange_init(&exchange, 0);
	clock_exchange_restart(&exchange, START);
	assert_false(clock_exchange_wants(&exchange, START));
	assert_int_equal(clock_exchange_deadline_ns(&exchange), UINT64_MAX);
	clock_exchange_init(&exchange, PERIOD);
	assert_false(clock_exchange_wants(&exchange, START));
	assert_false(clock_exchange_estimate(&exchange, START, &estimate));
}

/* --- what is lost --- */

static void lost_answers_leave_the_others_of_the_burst(void **state)
{
	struct world world = begin(5 * S);
	struct message_clock result;

	(void)state;
	for (uint32_t n = 0; n < BURST; n++)
		if (n == 5)
			exchange_once(&world, 70 * US, 0, 10 * US);
		else
			lose_answer(&world);
	assert_false(clock_exchange_wants(&world.exchange, ours(&world)));
	assert_int_equal(world.exchange.nr_lost, BURST - 1);
	assert_true(clock_exchange_result(&world.exchange, ours(&world), &result));
	assert_holds(&world);
	assert_in_range(result.bound_ns, 40 * US + 60 * US, 40 * US + 65 * US); /* 4 s at 15 ppm */
}

static void a_burst_without_answers_says_nothing_and_keeps_what_was_known(void **state)
{
	struct world world = begin(5 * S);
	struct message_clock result;

	(void)state;
	for (uint32_t n = 0; n < BURST; n++)
		exchange_once(&world, US, 0, US);
	assert_true(clock_exchange_result(&world.exchange, ours(&world), &result));
	world.now_ns += 31 * S;
	for (uint32_t n = 0; n < BURST; n++)
		lose_answer(&world);
	assert_false(clock_exchange_wants(&world.exchange, ours(&world)));
	assert_false(clock_exchange_result(&world.exchange, ours(&world), &result));
	assert_holds(&world);
}

static void a_new_connection_forgets_and_asks_at_once(void **state)
{
	struct world world = begin(5 * S);
	struct clock_exchange_estimate estimate;

	(void)state;
	for (uint32_t n = 0; n < BURST; n++)
		exchange_once(&world, US, 0, US);
	clock_exchange_restart(&world.exchange, ours(&world));
	assert_false(clock_exchange_estimate(&world.exchange, ours(&world), &estimate));
	assert_true(clock_exchange_wants(&world.exchange, ours(&world)));
}

/* --- what cannot be --- */

static bool takes(struct world *world, const struct message_clock *answer, uint64_t t4_ns)
{
	return clock_exchange_answered(&world->exchange, answer, t4_ns);
}

static void answers_to_nothing_that_was_asked_are_dropped(void **state)
{
	struct world world = begin(0);
	struct message_clock answer = {.kind = CLOCK_ANSWER};

	(void)state;
	assert_false(takes(&world, &answer, START)); /* no question is out, though its time is 0 */
	answer = travel(&world, US, US);
	answer.t1_ns++;
	assert_false(takes(&world, &answer, ours(&world) + 10));
	answer.t1_ns--;
	answer.kind = CLOCK_ASK;
	assert_false(takes(&world, &answer, ours(&world) + 10));
	answer.kind = CLOCK_ANSWER;
	assert_true(takes(&world, &answer, ours(&world) + 10));
	assert_false(takes(&world, &answer, ours(&world) + 10)); /* twice */
	assert_int_equal(world.exchange.nr_refused, 4);
}

static void answers_that_cannot_be_true_are_dropped(void **state)
{
	const uint64_t t1_ns = START, t4_ns = START + 100;
	const struct message_clock impossible[] = {
		{.t2_ns = 50, .t3_ns = 49},  /* left before it came */
		{.t2_ns = 50, .t3_ns = 151}, /* stayed for longer than it was away */
		{.t2_ns = UINT64_MAX - 1, .t3_ns = UINT64_MAX},
		{.t2_ns = 1ull << 63, .t3_ns = (1ull << 63) + 10},
		{.t2_ns = 0, .t3_ns = UINT64_MAX},
	};
	struct world world = begin(0);

	(void)state;
	travel(&world, 0, 0);
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
		struct message_clock answer = impossible[i];

		answer.kind = CLOCK_ANSWER;
		answer.t1_ns = t1_ns;
		assert_false(takes(&world, &answer, t4_ns));
	}
	const struct message_clock fine = {
		.kind = CLOCK_ANSWER, .t1_ns = t1_ns, .t2_ns = 0, .t3_ns = 100};
	assert_false(takes(&world, &fine, t1_ns - 1));       /* it came before it was asked for */
	assert_false(takes(&world, &fine, t1_ns + 121 * S)); /* or days later */
	assert_true(takes(&world, &fine, t4_ns));
	assert_int_equal(world.exchange.best.offset_ns, START);
	assert_int_equal(world.exchange.best.round_trip_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planted_skews_are_found_within_the_bound),
		cmocka_unit_test(however_unequal_the_two_ways_are_the_bound_holds),
		cmocka_unit_test(the_shortest_round_trip_of_a_burst_counts),
		cmocka_unit_test(the_aggregators_own_time_is_no_part_of_the_round_trip),
		cmocka_unit_test(the_bound_grows_with_time_as_clocks_drift),
		cmocka_unit_test(each_burst_follows_a_clock_that_drifts),
		cmocka_unit_test(a_burst_comes_at_once_and_then_every_interval),
		cmocka_unit_test(one_question_is_out_at_a_time),
		cmocka_unit_test(nothing_is_asked_where_it_is_not_wanted_or_before_a_connection),
		cmocka_unit_test(lost_answers_leave_the_others_of_the_burst),
		cmocka_unit_test(a_burst_without_answers_says_nothing_and_keeps_what_was_known),
		cmocka_unit_test(a_new_connection_forgets_and_asks_at_once),
		cmocka_unit_test(answers_to_nothing_that_was_asked_are_dropped),
		cmocka_unit_test(answers_that_cannot_be_true_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
