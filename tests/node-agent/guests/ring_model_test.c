#include "tests/support/cmocka_test.h"

#include <stdlib.h>

#include "ring_model.h"

#define SCHEDULES         100000u
#define SCHEDULES_NIGHTLY 1000000u

/* Others than these: ring_model_test SEED COUNT. */
static uint64_t first_seed, nr_seeds = SCHEDULES;

static void every_record_arrives_once_or_is_counted_whatever_dies(void **state)
{
	struct ring_model_counts counts = {0};

	(void)state;
	for (uint64_t seed = first_seed; seed < first_seed + nr_seeds; seed++) {
		const char *wrong = ring_model_run(seed, RING_MODEL_REAL, &counts);

		if (wrong)
			fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
	}
	print_message(
		"%llu records delivered, %llu lost and counted; %llu stalls, %llu deaths and "
		"%llu departures of agents, %llu that lost their socket, %llu that were told so, "
		"%llu take-overs, %llu offers dropped, %llu deaths and %llu stalls of "
		"the aggregator, %llu accounts left open\n",
		(unsigned long long)counts.records, (unsigned long long)counts.lost,
		(unsigned long long)counts.stalls, (unsigned long long)counts.deaths,
		(unsigned long long)counts.departures, (unsigned long long)counts.displaced,
		(unsigned long long)counts.superseded, (unsigned long long)counts.takeovers,
		(unsigned long long)counts.dropped_offers, (unsigned long long)counts.store_deaths,
		(unsigned long long)counts.store_stalls, (unsigned long long)counts.unfinished);
	if (nr_seeds < SCHEDULES)
		return;
	/* The schedules are worth something. */
	assert_true(counts.lost > nr_seeds && counts.stalls > nr_seeds / 4 &&
		    counts.deaths > nr_seeds / 8 && counts.departures > nr_seeds / 8 &&
		    counts.displaced > nr_seeds / 8 && counts.superseded > nr_seeds / 32 &&
		    counts.takeovers > nr_seeds / 8 && counts.dropped_offers > nr_seeds / 8 &&
		    counts.store_deaths > nr_seeds / 4 && counts.store_stalls > nr_seeds / 4);
}

static void assert_found_out(enum ring_model_rule rule)
{
	struct ring_model_counts counts = {0};
	uint64_t seed = 0;

	while (seed < SCHEDULES_NIGHTLY && !ring_model_run(seed, rule, &counts))
		seed++;
	assert_true(seed < SCHEDULES_NIGHTLY);
	print_message("found by seed %llu\n", (unsigned long long)seed);
}

static void agent_that_reads_its_own_ring_again_is_found_out(void **state)
{
	(void)state;
	assert_found_out(RING_MODEL_READ_AGAIN);
}

static void aggregator_that_hears_an_agent_after_its_successor_is_found_out(void **state)
{
	(void)state;
	assert_found_out(RING_MODEL_FORGET);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_arrives_once_or_is_counted_whatever_dies),
		cmocka_unit_test(agent_that_reads_its_own_ring_again_is_found_out),
		cmocka_unit_test(aggregator_that_hears_an_agent_after_its_successor_is_found_out),
	};

	if (argc == 3) {
		first_seed = strtoull(argv[1], NULL, 10);
		nr_seeds = strtoull(argv[2], NULL, 10);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
