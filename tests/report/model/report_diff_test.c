#include "report/model/report_diff.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/report_build.h"
#include "report/writers/diff_writer.h"
#include "report/writers/html/html_writer.h"
#include "tests/report/straggler/straggler_fixture.h"
#include "tests/report/writers/html/page_profile.h"

static struct profile *profile;
static struct report_tree *tree;

static void run(uint32_t process, const char *name, const char *stack, uint64_t ns)
{
	static uint32_t id;
	const struct job_kernel kernel = {.name = name,
					  .stack = stack,
					  .correlation_id = ++id,
					  .tid = 9,
					  .start_ns = 1000 * id,
					  .ns = ns};

	job_kernel(process, &kernel);
}

static void open_tree(void)
{
	job_commit();
	profile = job_profile();
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
}

/* Four ranks, each on a GPU of another number, and a process that is none. */
static void play(void)
{
	static const uint64_t gemm[] = {100, 200, 400, 900}, softmax[] = {0, 70, 0, 0};

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t process = job_process((int32_t)i);

		run(process, "gemm", "train.py:main;train.py:step", gemm[i]);
		run(process, "gemm", "train.py:main;train.py:step", gemm[i]);
		if (softmax[i])
			run(process, "softmax", "train.py:main", softmax[i]);
		if (i == 2)
			run(process, "only", "train.py:main", 5);
	}
	run(job_process(-1), "gemm", "train.py:main;train.py:step", 12345);
	open_tree();
}

static void close_tree(void)
{
	report_tree_destroy(tree);
	profile_destroy(profile);
}

static void assert_folded(int32_t rank, int32_t against, enum folded_weight weight,
			  const char *wanted)
{
	const struct folded_options options = {.weight = weight, .unit = FOLDED_NS};
	struct report_diff *diff;
	char *text = NULL;
	size_t size;

	assert_int_equal(report_diff_create(tree, rank, against, &diff), 0);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(diff_writer_folded(out, diff, &options), 0);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
	report_diff_destroy(diff);
}

static void the_median_is_of_each_stack_over_all_others(void **state)
{
	(void)state;
	play();
	/* gemm of 1, 2, 3: 400, 800, 1800; softmax 70, 0, 0; only 0, 5, 0. */
	assert_folded(0, REPORT_DIFF_MEDIAN, FOLDED_TIME,
		      "train.py:main;train.py:step;[GPU_Kernel]gemm 800 200\n");
	/* softmax of 0, 2, 3 is 0. */
	assert_folded(1, REPORT_DIFF_MEDIAN, FOLDED_TIME,
		      "train.py:main;[GPU_Kernel]softmax 0 70\n"
		      "train.py:main;train.py:step;[GPU_Kernel]gemm 800 400\n");
	assert_folded(3, REPORT_DIFF_MEDIAN, FOLDED_COUNT,
		      "train.py:main;train.py:step;[GPU_Kernel]gemm 2 2\n");
	close_tree();
}

static void one_rank_may_be_held_against_another(void **state)
{
	(void)state;
	play();
	assert_folded(1, 2, FOLDED_TIME,
		      "train.py:main;[GPU_Kernel]only 5 0\n"
		      "train.py:main;[GPU_Kernel]softmax 0 70\n"
		      "train.py:main;train.py:step;[GPU_Kernel]gemm 800 400\n");
	close_tree();
}

static void the_only_other_rank_is_named(void **state)
{
	struct report_diff *diff;

	(void)state;
	run(job_process(0), "gemm", "train.py:main", 10);
	run(job_process(1), "gemm", "train.py:main", 20);
	open_tree();
	assert_int_equal(report_diff_create(tree, 1, REPORT_DIFF_MEDIAN, &diff), 0);
	assert_string_equal(diff->label_before, "rank 0");
	assert_string_equal(diff->label_after, "rank 1");
	assert_int_equal(diff->nr_others, 1);
	report_diff_destroy(diff);
	close_tree();
}

static void a_rank_that_is_not_there_is_refused(void **state)
{
	struct report_diff *diff;

	(void)state;
	play();
	assert_int_equal(report_diff_create(tree, 4, REPORT_DIFF_MEDIAN, &diff), -ENOENT);
	assert_null(diff);
	assert_int_equal(report_diff_create(tree, 1, 4, &diff), -ENOENT);
	close_tree();
}

static void a_rank_alone_has_no_others(void **state)
{
	struct report_diff *diff;

	(void)state;
	run(job_process(0), "gemm", "train.py:main", 10);
	open_tree();
	assert_int_equal(report_diff_create(tree, 0, REPORT_DIFF_MEDIAN, &diff), -ENOENT);
	close_tree();
}

static void the_page_says_what_it_is_held_against(void **state)
{
	struct report_diff *diff;
	char *text = NULL;
	size_t size;

	(void)state;
	play();
	assert_int_equal(report_diff_create(tree, 3, REPORT_DIFF_MEDIAN, &diff), 0);
	const struct html_options options = {.diff = diff};
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(html_writer_write(out, &diff->tree, &options), 0);
	fclose(out);
	char *unpacked = page_profile_unpack(text, &size);
	assert_non_null(strstr(unpacked, "\"diff\":[\"median of 3 ranks\",\"rank 3\"]"));
	free(unpacked);
	free(text);
	out = open_memstream(&text, &size);
	assert_int_equal(html_writer_write(out, tree, NULL), 0);
	fclose(out);
	unpacked = page_profile_unpack(text, &size);
	assert_null(strstr(unpacked, "\"diff\":"));
	free(unpacked);
	free(text);
	report_diff_destroy(diff);
	close_tree();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_median_is_of_each_stack_over_all_others),
		TEST(one_rank_may_be_held_against_another),
		TEST(the_only_other_rank_is_named),
		TEST(a_rank_that_is_not_there_is_refused),
		TEST(a_rank_alone_has_no_others),
		TEST(the_page_says_what_it_is_held_against),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
