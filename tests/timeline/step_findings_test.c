#include "tests/support/cmocka_test.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/steps/step_findings.h"
#include "timeline/steps/step_words.h"

#define STEPS 4096u
#define MS    1000000u

struct fixture {
	struct profile profile;
	struct step_row list[STEPS];
	struct step_rows rows;
	struct step_sums sums;
	struct step_findings found;
	uint64_t random;
};

static int set_up(void **state)
{
	static struct fixture made;
	struct fixture *f = &made;
	uint32_t host, id;

	memset(f, 0, sizeof(*f));
	f->rows.rows = f->list;
	f->profile.collection = collection_create();
	if (!f->profile.collection ||
	    roster_add_host(f->profile.collection->roster, &(struct roster_host){0}, &host))
		return -1;
	for (uint32_t pid = 1; pid <= 4; pid++)
		if (roster_add_process(f->profile.collection->roster,
				       &(struct roster_identity){.host = host, .pid = pid}, &id))
			return -1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	step_findings_fini(&f->found);
	step_sums_fini(&f->sums);
	collection_destroy(f->profile.collection);
	return 0;
}

static uint64_t noise(struct fixture *f, uint64_t most)
{
	f->random = f->random * 6364136223846793005u + 1442695040888963407u;
	return (f->random >> 33) % most;
}

/* Adds nr steps of a process: compute of this time and some noise, or more than that for the n-th step. */
static struct step_row *add(struct fixture *f, uint32_t process_id, uint32_t nr, uint64_t step_ns,
			    uint64_t noise_ns)
{
	struct step_row *first = &f->list[f->rows.nr_rows];
	uint64_t at_ns = 1000;

	for (uint32_t i = 0; i < nr; i++) {
		struct step_row *row = &f->list[f->rows.nr_rows++];
		const uint64_t ns = step_ns + noise(f, noise_ns);

		*row = (struct step_row){.begin_ns = at_ns,
					 .end_ns = at_ns + ns,
					 .parts_ns = {[STEP_COMPUTE] = ns},
					 .process_id = process_id,
					 .number = i + 1};
		at_ns += 10 * MS;
	}
	return first;
}

static void lengthen(struct step_row *row, enum step_part part, uint64_t ns)
{
	row->end_ns += ns;
	row->parts_ns[part] += ns;
}

static void find(struct fixture *f)
{
	assert_int_equal(step_sums_init(&f->sums, &f->rows, &f->profile), 0);
	assert_int_equal(step_findings_init(&f->found, &f->rows, &f->sums), 0);
}

static void a_slow_step_stands_out_by_its_part(void **state)
{
	struct fixture *f = *state;
	struct step_row *rows = add(f, 1, 200, MS, 1000);

	lengthen(&rows[150], STEP_IDLE_HOST, 3 * MS);
	lengthen(&rows[150], STEP_COPIES, 100);
	rows[20].end_ns -= MS / 2; /* a fast one does not count */
	find(f);
	assert_int_equal(f->found.nr_outliers, 1);
	assert_int_equal(f->found.outliers[0].row, 150);
	assert_int_equal(f->found.outliers[0].part, STEP_IDLE_HOST);
	assert_int_equal(f->found.outliers[0].part_more_ns, 3 * MS);
	assert_int_equal(f->found.outliers[0].more_ns,
			 rows[150].end_ns - rows[150].begin_ns - f->sums.sums[0].median_ns);
	assert_int_equal(f->found.outliers[0].nr_ranks, 1);
}

static void work_of_earlier_launches_is_told_of_an_outlier(void **state)
{
	struct fixture *f = *state;
	struct step_row *rows = add(f, 1, 200, MS, 1000);

	for (uint32_t i = 0; i < 200; i++)
		rows[i].earlier_ns[STEP_COMPUTE] = MS / 2;
	lengthen(&rows[150], STEP_COMPUTE, 3 * MS);
	rows[150].earlier_ns[STEP_COMPUTE] += 2 * MS;
	lengthen(&rows[160], STEP_COPIES, 2 * MS);
	rows[160].earlier_ns[STEP_COPIES] = 2 * MS + 1;
	lengthen(&rows[170], STEP_IDLE_HOST, MS);
	rows[170].earlier_ns[STEP_COMPUTE] += MS / 4;
	find(f);
	assert_int_equal(f->found.nr_outliers, 3);
	assert_int_equal(f->sums.sums[0].earlier_medians_ns[STEP_COMPUTE], MS / 2);
	assert_int_equal(f->found.outliers[0].earlier_more_ns, 2 * MS);
	assert_int_equal(f->found.outliers[1].part, STEP_COPIES);
	assert_int_equal(f->found.outliers[1].earlier_more_ns, f->found.outliers[1].part_more_ns);
	assert_int_equal(f->found.outliers[2].earlier_more_ns, 0);

	struct step_place none[3] = {{0}};
	const struct step_places places = {.places = none};
	const struct steps_view view = {.profile = &f->profile,
					.rows = &f->rows,
					.sums = &f->sums,
					.findings = &f->found,
					.places = &places};
	struct steps_view ranges = view;
	char line[STEP_WORDS_SIZE], options[128];
	const struct step_row *slowest = &rows[f->found.outliers[0].row];

	ranges.has_ranges = true;
	ranges.first_ns = slowest->begin_ns - 7;
	snprintf(options, sizeof(options), "; --from 7ns --to %" PRIu64 "ns shows it",
		 slowest->end_ns - slowest->begin_ns + 7);
	assert_non_null(strstr(step_words_outlier(&ranges, 0, line, sizeof(line)), options));
	assert_null(strstr(step_words_outlier(&view, 0, line, sizeof(line)), "--from"));
	assert_non_null(
		strstr(step_words_outlier(&view, 0, line, sizeof(line)),
		       " more compute, of which 2.000 ms was launched before the step began"));
	assert_null(strstr(step_words_outlier(&view, 2, line, sizeof(line)), "launched"));
}

static void the_rank_that_caused_it_is_told(void **state)
{
	struct fixture *f = *state;

	for (uint32_t process = 1; process <= 4; process++) {
		struct step_row *rows = add(f, process, 100, MS, 1000);

		/* rank 3 is late; the others wait a little longer than it is, by their clocks */
		lengthen(&rows[40], process == 3 ? STEP_IDLE_HOST : STEP_NCCL_WAITS,
			 process == 3 ? 5 * MS : 5 * MS + 50);
		if (process == 2)
			lengthen(&rows[60], STEP_COMPUTE, MS);
	}
	find(f);
	assert_int_equal(f->found.nr_outliers, 2);
	assert_int_equal(f->list[f->found.outliers[0].row].process_id, 3);
	assert_int_equal(f->list[f->found.outliers[0].row].number, 41);
	assert_int_equal(f->found.outliers[0].nr_ranks, 4);
	assert_int_equal(f->found.outliers[0].part, STEP_IDLE_HOST);
	assert_int_equal(f->list[f->found.outliers[1].row].process_id, 2);
	assert_int_equal(f->found.outliers[1].nr_ranks, 1);
}

static void steps_of_other_times_are_others(void **state)
{
	struct fixture *f = *state;

	for (uint32_t process = 1; process <= 2; process++) {
		struct step_row *rows = add(f, process, 100, MS, 1000);

		for (uint32_t i = 0; i < 100 && process == 2; i++) { /* a later job */
			rows[i].begin_ns += 5000ull * MS;
			rows[i].end_ns += 5000ull * MS;
		}
		lengthen(&rows[40], STEP_IDLE_HOST, 5 * MS);
	}
	find(f);
	assert_int_equal(f->found.nr_outliers, 2);
	assert_int_equal(f->found.outliers[0].nr_ranks, 1);
	assert_int_equal(f->found.outliers[1].nr_ranks, 1);
}

static void the_first_step_is_none(void **state)
{
	struct fixture *f = *state;
	struct step_row *rows = add(f, 1, 50, MS, 1000);

	lengthen(&rows[0], STEP_COMPUTE, 50 * MS);
	rows[0].is_first = true;
	find(f);
	assert_int_equal(f->found.nr_outliers, 0);
}

static void steps_that_grow_have_a_trend(void **state)
{
	struct fixture *f = *state;
	struct step_row *rows = add(f, 1, 1000, MS, 50000);

	for (uint32_t i = 0; i < 1000; i++) /* a tenth over the run */
		lengthen(&rows[i], STEP_COPIES, i * 100);
	add(f, 2, 1000, MS, 50000);
	find(f);
	assert_true(f->found.has_trends);
	assert_int_equal(f->found.nr_trends, 1);
	assert_int_equal(f->found.trends[0].sum, 0);
	assert_int_equal(f->found.trends[0].part, STEP_COPIES);
	assert_in_range(f->found.trends[0].begin_ns, MS + 20000, MS + 32000);
	assert_in_range(f->found.trends[0].end_ns, MS + 115000, MS + 129000);
}

static void steps_that_shrink_have_a_trend(void **state)
{
	struct fixture *f = *state;
	struct step_row *rows = add(f, 1, 64, MS, 1000);

	for (uint32_t i = 0; i < 64; i++)
		lengthen(&rows[i], STEP_IDLE_LAUNCHES, (64 - i) * 10000);
	find(f);
	assert_int_equal(f->found.nr_trends, 1);
	assert_true(f->found.trends[0].end_ns < f->found.trends[0].begin_ns);
	assert_int_equal(f->found.trends[0].part, STEP_IDLE_LAUNCHES);
}

/* Neither noise, nor slow steps, nor a small change makes a trend. */
static void noise_has_no_trend(void **state)
{
	struct fixture *f = *state;
	struct step_row *rows = add(f, 1, 1000, MS, MS);

	for (uint32_t i = 900; i < 1000; i += 10)
		lengthen(&rows[i], STEP_COMPUTE, 50 * MS);
	rows = add(f, 2, 1000, MS, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		lengthen(&rows[i], STEP_COMPUTE, i * 40);
	find(f);
	assert_true(f->found.has_trends);
	assert_int_equal(f->found.nr_trends, 0);
}

static void few_steps_tell_nothing(void **state)
{
	struct fixture *f = *state;
	struct step_row *rows = add(f, 1, STEP_TREND_STEPS - 1, MS, 1000);

	for (uint32_t i = 0; i < STEP_TREND_STEPS - 1; i++)
		lengthen(&rows[i], STEP_COMPUTE, i * 100000);
	find(f);
	assert_false(f->found.has_trends);
	assert_int_equal(f->found.nr_trends, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_slow_step_stands_out_by_its_part),
		TEST(work_of_earlier_launches_is_told_of_an_outlier),
		TEST(the_rank_that_caused_it_is_told),
		TEST(steps_of_other_times_are_others),
		TEST(the_first_step_is_none),
		TEST(steps_that_grow_have_a_trend),
		TEST(steps_that_shrink_have_a_trend),
		TEST(noise_has_no_trend),
		TEST(few_steps_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
