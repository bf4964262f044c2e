/* When ranks were late that are named for a part of the run: in words, in JSON and in CSV. */
#include "report/straggler/report_straggler_moments.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/report_build.h"
#include "report/writers/straggler/straggler_rows.h"
#include "report/writers/straggler/straggler_writer.h"
#include "straggler_fixture.h"

#define RANKS     4u
#define LATE_RANK 2u
#define MS        1000000u
#define STEP_NS   (10u * MS)
#define STRETCH   4u /* collectives: a phase is found to a stretch of the run */

#define REALTIME_NS 1700000000000000000u /* CLOCK_REALTIME less the host's CLOCK_MONOTONIC */

/* The late rank comes so much later, from one collective to another, from 1. */
struct delay {
	uint32_t from, to, collectives;
	uint64_t late_ns;
};

/* Plays a job in which else each rank in turn comes last. starts and ends: room for the time of each collective. */
static void play(const struct delay *delay, bool has_clock, uint64_t *starts, uint64_t *ends)
{
	uint32_t processes[RANKS];
	uint64_t now_ns = STEP_NS;

	for (uint32_t i = 0; i < RANKS; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 0xfeed, i, RANKS);
	}
	if (has_clock)
		job_clock(processes[0], -(int64_t)REALTIME_NS);
	for (uint32_t k = 1; k <= delay->collectives; k++) {
		uint64_t ready[RANKS], last_ns = 0;

		for (uint32_t i = 0; i < RANKS; i++) {
			const bool late = i == LATE_RANK && k >= delay->from && k <= delay->to;

			ready[i] = now_ns + (k % RANKS == i ? 20000 : 1000 * i) +
				   (late ? delay->late_ns : 0);
			last_ns = ready[i] > last_ns ? ready[i] : last_ns;
		}
		starts[k] = UINT64_MAX;
		ends[k] = last_ns + MS;
		for (uint32_t i = 0; i < RANKS; i++) {
			const struct collective call =
				job_all_reduce(1, k, 0, ready[i], ends[k] - ready[i]);

			job_call(processes[i], &call);
			starts[k] = ready[i] < starts[k] ? ready[i] : starts[k];
		}
		now_ns = ends[k] + STEP_NS;
	}
	job_commit();
}

static char *written(const struct report_straggler *found)
{
	struct profile *profile = job_profile();
	struct report_tree *tree;
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, true), 0);
	assert_int_equal(straggler_rows_json(out, found, tree), 0);
	assert_int_equal(straggler_rows_csv(out, found), 0);
	fclose(out);
	report_tree_destroy(tree);
	profile_destroy(profile);
	return text;
}

static void assert_written(const char *text, const char *format, uint64_t a, uint64_t b)
{
	char expected[256];

	snprintf(expected, sizeof(expected), format, a, b);
	if (!strstr(text, expected))
		fail_msg("%s is not in %s", expected, text);
}

/* Plays a job, and checks its late rank. The first collective is not compared, so the second one is number 1. */
static void check(const struct delay *delay, enum straggler_ground ground, const char *chance)
{
	uint64_t starts[1024], ends[1024];

	play(delay, true, starts, ends);
	struct report_straggler *report = job_straggler();

	assert_int_equal(report->nr_named, 1);
	const struct report_straggler_member *late =
		&report->communicators[0].members[report->ranks[0].member];
	assert_int_equal(report->ranks[0].rank, LATE_RANK);
	assert_int_equal(late->found.ground, ground);
	assert_true(late->found.lump_from + 2 <= delay->from + STRETCH &&
		    late->found.lump_to + 1 + STRETCH >= delay->to);
	const uint64_t start_ns = starts[late->found.lump_from + 2] + REALTIME_NS;
	const uint64_t end_ns = ends[late->found.lump_to + 1] + REALTIME_NS;
	assert_int_equal(late->moment.start_ns, start_ns);
	assert_int_equal(late->moment.end_ns, end_ns);
	char *text = written(report);
	assert_written(text, "\"part_from\":%" PRIu64 ",\"part_to\":%" PRIu64 ",",
		       late->found.lump_from + 1, late->found.lump_to);
	assert_written(text, "\"part_start_ns\":%" PRIu64 ",\"part_end_ns\":%" PRIu64 "}", start_ns,
		       end_ns);
	assert_written(text, ",%" PRIu64 ",%" PRIu64 "\n", start_ns, end_ns);
	assert_written(text, ",\"part_wait_ns\":%" PRIu64 ",\"part_p\":",
		       late->found.lump_ns / (RANKS - 1), 0);
	assert_non_null(strstr(text, ",name,part_from,part_to,part_wait_ns,part_p,part_start_ns,"
				     "part_end_ns\n"));
	assert_non_null(strstr(text, ",\"ground\":null,\"part_from\":null,\"part_to\":null,"
				     "\"part_wait_ns\":null,\"part_p\":null,"
				     "\"part_start_ns\":null,\"part_end_ns\":null}"));
	assert_non_null(strstr(text, " of ranks 0-3 (from 2023-11-1"));
	assert_non_null(strstr(text, chance));
	free(text);
	report_straggler_destroy(report);
}

static void a_phase_has_its_time_and_its_chance(void **state)
{
	(void)state;
	check(&(struct delay){150, 250, 400, 30 * MS}, STRAGGLER_PHASE,
	      ", of such a part of the run: ");
}

static void a_stall_has_its_time_and_no_chance(void **state)
{
	(void)state;
	check(&(struct delay){150, 150, 400, 3000 * MS}, STRAGGLER_STALL,
	      ",\"part_p\":null,\"part_start_ns\":1");
}

static void without_a_clock_the_time_is_not_known(void **state)
{
	uint64_t starts[1024], ends[1024];

	(void)state;
	play(&(struct delay){150, 250, 400, 30 * MS}, false, starts, ends);
	struct report_straggler *report = job_straggler();
	char *text = written(report);

	assert_int_equal(report->nr_named, 1);
	assert_int_equal(report->communicators[0].members[report->ranks[0].member].moment.start_ns,
			 0);
	assert_null(strstr(text, "(from "));
	assert_non_null(strstr(text, ",\"part_start_ns\":null,\"part_end_ns\":null}"));
	free(text);
	report_straggler_destroy(report);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_phase_has_its_time_and_its_chance),
		TEST(a_stall_has_its_time_and_no_chance),
		TEST(without_a_clock_the_time_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
