#include "report/causes/straggler_alike.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/report_build.h"
#include "report/straggler/report_straggler.h"
#include "report/writers/straggler/straggler_rows.h"
#include "report/writers/straggler/straggler_text.h"
#include "straggler_fixture.h"
#include "straggler_training.h"

#define LATE_RANK 3

/* Plays a job in which gemm, 30 ms, takes 9 ms more on the late rank, and softmax as long as on the others. */
static struct report_straggler *play(uint32_t kernels)
{
	training_play(&(const struct training){.ranks = 8,
					       .steps = 150,
					       .plant = TRAINING_KERNELS,
					       .late_rank = LATE_RANK,
					       .noise_ms = 1,
					       .kernels = kernels,
					       .seed = 17});
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, LATE_RANK);
	assert_int_equal(found->ranks[0].nr_causes, 1);
	return found;
}

static void kernels_that_are_slower_by_a_like_factor_are_one_cause(void **state)
{
	static const uint32_t numbers[] = {2, 12, 64};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (i > 0)
			assert_int_equal(job_set_up(state), 0);
		struct report_straggler *found = play(numbers[i]);
		const struct straggler_cause *cause = &found->ranks[0].causes[0];
		char text[STRAGGLER_TEXT_SIZE], expected[STRAGGLER_TEXT_SIZE];

		snprintf(expected, sizeof(expected),
			 "slower GPU kernels (%u of %u, most %s, 1.30 times as long)", numbers[i],
			 numbers[i] + 1, cause->what);
		assert_string_equal(straggler_text_cause(cause, text, sizeof(text)), expected);
		assert_int_equal(strncmp(cause->what, "gemm_", 5), 0);
		assert_int_equal(cause->sort, STRAGGLER_GPU_WORK);
		assert_int_equal(cause->kernels, numbers[i]);
		assert_in_range(cause->excess_ns, 8999000, 9001000);
		assert_true(cause->share > 0.85 && cause->share < 1.15);
		report_straggler_destroy(found);
		if (i + 1 < sizeof(numbers) / sizeof(*numbers))
			assert_int_equal(job_tear_down(state), 0);
	}
}

static void one_kernel_alone_is_named(void **state)
{
	(void)state;
	for (uint32_t kernels = 0; kernels < 2; kernels++) {
		if (kernels)
			assert_int_equal(job_set_up(state), 0);
		struct report_straggler *found = play(kernels);
		const struct straggler_cause *cause = &found->ranks[0].causes[0];

		assert_int_equal(cause->kernels, 0);
		assert_string_equal(cause->what, kernels ? "gemm_0" : "gemm");
		report_straggler_destroy(found);
		if (!kernels)
			assert_int_equal(job_tear_down(state), 0);
	}
}

static void json_has_the_number_of_kernels_and_their_factor(void **state)
{
	struct report_straggler *found = play(12);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	struct profile *profile = job_profile();
	struct report_tree *tree;
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(straggler_rows_json(out, found, tree), 0);
	fclose(out);
	report_tree_destroy(tree);
	profile_destroy(profile);
	assert_non_null(strstr(text, "\"kernels\":12"));
	assert_non_null(strstr(text, "\"of_kernels\":13"));
	assert_non_null(strstr(text, "\"longer\":1.3000"));
	free(text);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(kernels_that_are_slower_by_a_like_factor_are_one_cause),
		TEST(one_kernel_alone_is_named),
		TEST(json_has_the_number_of_kernels_and_their_factor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
