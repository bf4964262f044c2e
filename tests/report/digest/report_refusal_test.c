#include "report/digest/report_refusal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory_text.h"
#include "proto/ledger.h"
#include "report/metrics/report_metrics.h"

static void a_plane_that_was_asked_for_and_is_empty_says_why(void **state)
{
	static const char *const texts[] = {
		"",
		"CPython 3.11.2",
		"kernels of CUDA device 0 are not sampled (CUPTI's error 35): it needs "
		"CAP_SYS_ADMIN",
		"kernel_sample_other",
		"others' samples",
		"exact_sample_lost",
		"samples lost",
	};
	const struct report_notice notices[] = {{1, 3}, {2, 1}};
	const struct report_loss losses[] = {{.reason = 3, .text = 4, .count = 1200},
					     {.reason = 5, .text = 6, .count = 1199}};
	struct report_tree tree = {.strings = texts, .notices = notices, .nr_notices = 1};
	char text[REPORT_REFUSAL_SIZE];

	(void)state;
	assert_null(report_refusal_plane(&tree, REPORT_PLANE_STALLS, text));
	tree.was_to_sample = true;
	assert_null(report_refusal_plane(&tree, REPORT_PLANE_SYNC, text));
	assert_string_equal(report_refusal_plane(&tree, REPORT_PLANE_STALLS, text),
			    "the run was to sample kernels, and no sample came: no kernel was "
			    "recorded");
	tree.kernels = 1;
	assert_non_null(strstr(report_refusal_plane(&tree, REPORT_PLANE_STALLS, text),
			       "no sample came: its kernels ran before sampling began"));
	tree.losses = losses;
	tree.nr_losses = 2;
	assert_string_equal(report_refusal_plane(&tree, REPORT_PLANE_STALLS, text),
			    "the run was to sample kernels, and no sample came: others' samples: "
			    "1,200");
	tree.nr_notices = 2;
	assert_ptr_equal(report_refusal_plane(&tree, REPORT_PLANE_STALLS, text), texts[2]);
	char line[REPORT_REFUSAL_LINE_SIZE];
	assert_string_equal(report_refusal_line(texts[2], "--record stalls", line),
			    "the profile has nothing of it: kernels of CUDA device 0 are not "
			    "sampled (CUPTI's error 35): it needs CAP_SYS_ADMIN");
	assert_string_equal(report_refusal_line(NULL, "--record stalls", line),
			    "the profile has nothing of it; `flamegrid run --record stalls` "
			    "records it");
}

/* What the run had is not known of a part, so no other reason is true of it. */
static void a_part_of_a_profile_has_no_other_reason(void **state)
{
	static const char *const texts[] = {"", "kernels of CUDA device 0 are not sampled: x",
					    "counters of CUDA device 0 are not sampled: x"};
	const struct report_notice notices[] = {{1, 1}, {2, 1}};
	struct report_tree tree = {.strings = texts,
				   .notices = notices,
				   .nr_notices = 2,
				   .kernels = 1,
				   .was_to_sample = true,
				   .was_to_measure = true};
	static const enum report_plane planes[] = {REPORT_PLANE_STALLS, REPORT_PLANE_ENERGY,
						   REPORT_PLANE_USE, REPORT_PLANE_CPU,
						   REPORT_PLANE_MEMORY};
	static const char lacks[] = "a part of a profile has none: the whole has what was recorded";
	char text[REPORT_REFUSAL_SIZE], *lines;
	struct memory_text memory;
	size_t size;

	(void)state;
	assert_string_not_equal(report_refusal_metrics(&tree, text), lacks);
	tree.is_part = true;
	for (size_t i = 0; i < sizeof(planes) / sizeof(*planes); i++)
		assert_string_equal(report_refusal_plane(&tree, planes[i], text), lacks);
	assert_string_equal(report_refusal_metrics(&tree, text), lacks);
	assert_null(report_refusal_counters(&tree));
	/* It may have waits: not in this time. */
	assert_string_equal(report_refusal_plane(&tree, REPORT_PLANE_SYNC, text),
			    "this part of a profile has none: the whole has what was recorded");
	assert_int_equal(memory_text_open(&memory), 0);
	report_refusal_write(memory.out, &tree, "> ");
	memory_text_take(&memory, &lines, &size);
	assert_string_equal(lines, "");
	free(lines);
}

static void the_last_lines_of_a_run_say_what_was_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"kernels of CUDA device 0 are not sampled (CUPTI's error 35): no right",
		"counters of CUDA device 1 are no longer sampled: the process has died",
		"kernels of CUDA device 0 are not measured (CUPTI's error 35): no right",
	};
	const struct report_notice notices[] = {{1, 2}, {2, 1}, {3, 1}};
	struct report_tree tree = {
		.strings = texts, .notices = notices, .nr_notices = 3, .kernels = 1};
	char *lines;
	struct memory_text memory;
	size_t size;

	(void)state;
	assert_int_equal(memory_text_open(&memory), 0);
	report_refusal_write(memory.out, &tree, "> ");
	/* What is here is not missing, but use may be NVML's alone. */
	tree.plane_totals[REPORT_PLANE_STALLS].count = 1;
	tree.metrics = &(struct report_metrics){0};
	report_refusal_write(memory.out, &tree, "later: ");
	memory_text_take(&memory, &lines, &size);
	assert_string_equal(
		lines,
		"> nothing of stalls is here: kernels of CUDA device 0 are not sampled (CUPTI's "
		"error 35): no right\n"
		"> counters of CUDA device 1 are no longer sampled: the process has died\n"
		"> nothing was measured: kernels of CUDA device 0 are not measured (CUPTI's error "
		"35): no right\n"
		"later: counters of CUDA device 1 are no longer sampled: the process has died\n");
	free(lines);
}

static void what_is_true_of_a_part_alone_is_no_reason_for_all(void **state)
{
	static const char *const texts[] = {
		"",
		"kernels of CUDA device 0 are not measured by no__such.sum: CUPTI knows no such "
		"metric",
		"kernels of a further context of CUDA device 0 are not measured while the first "
		"one's are: x",
		"a range outer is not measured: it never ended",
		"kernels are no longer measured: a kernel that may wait",
	};
	const struct report_notice notices[] = {{1, 3}, {2, 2}, {3, 1}, {4, 1}};
	struct report_tree tree = {
		.strings = texts, .notices = notices, .nr_notices = 4, .was_to_measure = true};
	char text[REPORT_REFUSAL_SIZE];

	(void)state;
	assert_string_equal(report_refusal_metrics(&tree, text), texts[4]);
	tree.nr_notices = 3;
	assert_non_null(strstr(report_refusal_metrics(&tree, text), "too few for the passes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plane_that_was_asked_for_and_is_empty_says_why),
		cmocka_unit_test(a_part_of_a_profile_has_no_other_reason),
		cmocka_unit_test(what_is_true_of_a_part_alone_is_no_reason_for_all),
		cmocka_unit_test(the_last_lines_of_a_run_say_what_was_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
