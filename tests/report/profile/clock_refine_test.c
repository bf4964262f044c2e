#include "report/profile/clock_refine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define S        1000000000ll
#define US       1000ll
#define HOSTS    4u
#define CALLS    200u
#define LASTS_NS (20 * US) /* from the last one's start on */
#define SLACK_NS (2 * US)

static const int64_t planted[HOSTS] = {5 * S, -5 * S, 2 * S + S / 2, 0};
static struct clock_refine_part parts[CALLS * HOSTS];
static struct clock_refine_bounds bounds[HOSTS];

static uint64_t next_random(void)
{
	static uint64_t state = 12345;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

/* Each comes up to spread_ns after the first, late_host that much again; all end at once. Times are off by up to
 * SLACK_NS. */
static void make(uint64_t spread_ns, uint32_t late_host)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t begin_ns = (uint64_t)(100 * S + i * 10000 * US), last_ns = 0;
		struct clock_refine_part *call = &parts[i * HOSTS];

		for (uint32_t j = 0; j < HOSTS; j++) {
			call[j] = (struct clock_refine_part){
				.start_ns = begin_ns + next_random() % spread_ns +
					    (j == late_host ? spread_ns : 0),
				.slack_ns = SLACK_NS,
				.collective = i,
				.bounds = j,
			};
			last_ns = call[j].start_ns > last_ns ? call[j].start_ns : last_ns;
		}
		for (uint32_t j = 0; j < HOSTS; j++) {
			call[j].end_ns = last_ns + LASTS_NS + next_random() % SLACK_NS +
					 (uint64_t)planted[j];
			call[j].start_ns += next_random() % SLACK_NS + (uint64_t)planted[j];
		}
	}
}

/* As comparisons leave them: the truth anywhere within. */
static void compare(const uint64_t bound_ns[HOSTS])
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		int64_t off_ns =
			(int64_t)(next_random() % (2 * bound_ns[i] + 1)) - (int64_t)bound_ns[i];

		bounds[i] = (struct clock_refine_bounds){
			.low_ns = planted[i] + off_ns - (int64_t)bound_ns[i],
			.high_ns = planted[i] + off_ns + (int64_t)bound_ns[i],
		};
	}
}

static int64_t width(uint32_t host)
{
	return bounds[host].high_ns - bounds[host].low_ns;
}

static void assert_holds(void)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		assert_true(bounds[i].low_ns <= planted[i]);
		assert_true(bounds[i].high_ns >= planted[i]);
	}
}

static void all_become_about_as_narrow_as_the_narrowest(void **state)
{
	static const uint64_t known[HOSTS] = {500 * US, 10 * US, 2000 * US, 300 * US};

	(void)state;
	make(300 * US, HOSTS);
	compare(known);
	assert_int_equal(clock_refine(parts, CALLS * HOSTS, bounds, HOSTS), 0);
	assert_holds();
	for (uint32_t i = 0; i < HOSTS; i++) {
		/* There and back, with what times may be off on both sides, and a late one now and then. */
		assert_true(width(i) <= 20 * US + 2 * LASTS_NS + 8 * SLACK_NS + 40 * US);
		assert_int_equal(bounds[i].nr_used, CALLS);
	}
}

static void where_one_is_always_late_one_side_is_narrowed(void **state)
{
	static const uint64_t known[HOSTS] = {500 * US, 10 * US, 500 * US, 500 * US};

	(void)state;
	make(200 * US, 1);
	compare(known);
	int64_t low_ns = bounds[0].low_ns;
	assert_int_equal(clock_refine(parts, CALLS * HOSTS, bounds, HOSTS), 0);
	assert_holds();
	/* Nobody ends before host 1 has begun, and it waits for nobody. */
	assert_true(bounds[0].high_ns - planted[0] <= 20 * US + LASTS_NS + 4 * SLACK_NS);
	assert_true(bounds[0].low_ns >= low_ns);
}

static void nothing_is_ever_widened(void **state)
{
	static const uint64_t known[HOSTS] = {US, US, US, US};
	struct clock_refine_bounds before[HOSTS];

	(void)state;
	make(300 * US, HOSTS);
	compare(known);
	for (uint32_t i = 0; i < HOSTS; i++)
		before[i] = bounds[i];
	assert_int_equal(clock_refine(parts, CALLS * HOSTS, bounds, HOSTS), 0);
	for (uint32_t i = 0; i < HOSTS; i++) {
		assert_true(bounds[i].low_ns >= before[i].low_ns);
		assert_true(bounds[i].high_ns <= before[i].high_ns);
	}
	assert_holds();
}

static void two_with_wrong_times_are_not_believed(void **state)
{
	static const uint64_t known[HOSTS] = {500 * US, 400 * US, 2000 * US, 300 * US};

	(void)state;
	make(300 * US, HOSTS);
	for (uint32_t i = 50; i < 52; i++) {
		parts[i * HOSTS + 2].start_ns -= (uint64_t)(700 * US);
		parts[i * HOSTS + 2].end_ns -= (uint64_t)(700 * US);
	}
	compare(known);
	assert_int_equal(clock_refine(parts, CALLS * HOSTS, bounds, HOSTS), 0);
	assert_holds();
}

static void what_contradicts_the_comparisons_changes_nothing(void **state)
{
	static const uint64_t known[HOSTS] = {50 * US, 50 * US, 50 * US, 50 * US};
	struct clock_refine_bounds before[HOSTS];

	(void)state;
	make(300 * US, HOSTS);
	compare(known);
	bounds[3].low_ns += S;
	bounds[3].high_ns += S;
	for (uint32_t i = 0; i < HOSTS; i++)
		before[i] = bounds[i];
	assert_int_equal(clock_refine(parts, CALLS * HOSTS, bounds, HOSTS), -ERANGE);
	for (uint32_t i = 0; i < HOSTS; i++) {
		assert_true(bounds[i].low_ns == before[i].low_ns);
		assert_true(bounds[i].high_ns == before[i].high_ns);
	}
}

static void too_few_say_nothing(void **state)
{
	static const uint64_t known[HOSTS] = {S, S, S, S};

	(void)state;
	make(300 * US, HOSTS);
	compare(known);
	assert_int_equal(clock_refine(parts, (CLOCK_REFINE_CONFIRMED - 1) * HOSTS, bounds, HOSTS),
			 0);
	for (uint32_t i = 0; i < HOSTS; i++) {
		assert_true(width(i) == 2 * S);
		assert_int_equal(bounds[i].nr_used, CLOCK_REFINE_CONFIRMED - 1);
	}
	assert_int_equal(clock_refine(NULL, 0, bounds, HOSTS), 0);
	assert_int_equal(bounds[0].nr_used, 0);
	assert_int_equal(clock_refine(NULL, 0, NULL, 0), 0);
}

static void hostile_numbers_are_refused(void **state)
{
	struct clock_refine_part part = {.start_ns = 5, .end_ns = 6};
	struct clock_refine_bounds known = {.low_ns = -1, .high_ns = 1};
	const int64_t most = CLOCK_REFINE_NS_MAX;

	(void)state;
	assert_int_equal(clock_refine(&part, 1, &known, 1), 0);
	part.bounds = 1;
	assert_int_equal(clock_refine(&part, 1, &known, 1), -EINVAL);
	part = (struct clock_refine_part){.start_ns = 6, .end_ns = 5};
	assert_int_equal(clock_refine(&part, 1, &known, 1), -EINVAL);
	part = (struct clock_refine_part){.start_ns = 5, .end_ns = UINT64_MAX};
	assert_int_equal(clock_refine(&part, 1, &known, 1), -EINVAL);
	part = (struct clock_refine_part){.slack_ns = (uint64_t)most + 1};
	assert_int_equal(clock_refine(&part, 1, &known, 1), -EINVAL);
	part = (struct clock_refine_part){0};
	known = (struct clock_refine_bounds){.low_ns = 1, .high_ns = -1};
	assert_int_equal(clock_refine(&part, 1, &known, 1), -EINVAL);
	known = (struct clock_refine_bounds){.low_ns = INT64_MIN, .high_ns = 0};
	assert_int_equal(clock_refine(&part, 1, &known, 1), -EINVAL);
	/* As far as they may go. */
	for (uint32_t i = 0; i < CALLS; i++)
		parts[i] = (struct clock_refine_part){
			.start_ns = i % 2 ? (uint64_t)most : 0,
			.end_ns = (uint64_t)most,
			.slack_ns = (uint64_t)most,
			.collective = i / 2,
			.bounds = i % 2,
		};
	bounds[0] = (struct clock_refine_bounds){.low_ns = -most, .high_ns = most};
	bounds[1] = bounds[0];
	assert_int_equal(clock_refine(parts, CALLS, bounds, 2), 0);
	assert_true(width(0) <= 2 * most && width(1) <= 2 * most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_become_about_as_narrow_as_the_narrowest),
		cmocka_unit_test(where_one_is_always_late_one_side_is_narrowed),
		cmocka_unit_test(nothing_is_ever_widened),
		cmocka_unit_test(two_with_wrong_times_are_not_believed),
		cmocka_unit_test(what_contradicts_the_comparisons_changes_nothing),
		cmocka_unit_test(too_few_say_nothing),
		cmocka_unit_test(hostile_numbers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
