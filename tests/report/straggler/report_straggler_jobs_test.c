/* Ranks of two jobs in one profile, as `flamegrid merge` makes it. */
#include "report/straggler/report_straggler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/report_build.h"
#include "report/writers/straggler/straggler_rows.h"
#include "report/writers/straggler/straggler_text.h"
#include "report/writers/straggler/straggler_writer.h"
#include "straggler_fixture.h"
#include "straggler_training.h"

static void play(const char *job, uint64_t key, uint32_t late_rank)
{
	const struct training training = {.ranks = 4,
					  .steps = 80,
					  .plant = TRAINING_KERNELS,
					  .late_rank = late_rank,
					  .key = key,
					  .noise_ms = 1,
					  .seed = key};

	job_id(job);
	training_play(&training);
}

static void each_rank_is_named_with_its_job(void **state)
{
	char line[STRAGGLER_TEXT_SIZE], *text;
	size_t size;

	(void)state;
	play("4711", 0xfeed, 2);
	play("4712", 0xbeef, 1);
	struct report_straggler *found = job_straggler();
	struct profile *profile = job_profile();
	struct report_tree *tree;
	FILE *out = open_memstream(&text, &size);

	assert_true(found->has_jobs);
	assert_int_equal(found->nr_ranks, 8);
	assert_int_equal(found->nr_named, 2);
	straggler_text_line(found, line, sizeof(line));
	for (uint32_t i = 0; i < 2; i++) {
		const struct report_straggler_rank *rank = &found->ranks[i];
		char expected[128];

		assert_int_equal(rank->rank, strcmp(rank->job, "4711") == 0 ? 2 : 1);
		snprintf(expected, sizeof(expected),
			 "rank %d of job %s on node01 (without it up to ", rank->rank, rank->job);
		assert_non_null(strstr(line, expected));
	}
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, false), 0);
	assert_int_equal(straggler_rows_json(out, found, tree), 0);
	fclose(out);
	assert_non_null(strstr(text, "\nranks 0-3 of job 4711 "));
	assert_non_null(strstr(text, "\nranks 0-3 of job 4712 "));
	assert_non_null(strstr(text, " of 79 collectives of ranks 0-3 of job 4712; "));
	assert_non_null(strstr(text, " job 4711\n"));
	assert_non_null(
		strstr(text, "{\"rank\":2,\"host\":\"node01\",\"pid\":1003,\"job\":\"4711\","));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
	report_straggler_destroy(found);
}

static void one_job_is_not_named(void **state)
{
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	play("4711", 0xfeed, 2);
	struct report_straggler *found = job_straggler();

	assert_false(found->has_jobs);
	assert_string_equal(found->communicators[0].name, "ranks 0-3");
	assert_ptr_equal(strstr(straggler_text_line(found, line, sizeof(line)),
				"late: rank 2 on node01 (without it up to "),
			 line);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_rank_is_named_with_its_job),
		TEST(one_job_is_not_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
