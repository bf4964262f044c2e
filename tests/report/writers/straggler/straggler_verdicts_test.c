/* The verdicts on late ranks as a page has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/writers/straggler/straggler_verdicts.h"

static char *written(const struct report_straggler *straggler)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	straggler_verdicts_json(out, straggler);
	fclose(out);
	return text;
}

static void late_rank_has_the_sentences_of_the_table(void **state)
{
	struct straggler_cause cause = {.plane = REPORT_PLANE_GPU,
					.sort = STRAGGLER_GPU_WORK,
					.excess_ns = 3000,
					.share = 0.5,
					.function = (char *)"",
					.what = (char *)"ge\"mm",
					.stack = (char *)"main;step"};
	struct report_straggler_rank rank = {
		.rank = 3, .host = "node1", .named = 1, .causes = &cause, .nr_causes = 1};
	struct report_straggler_member member = {.found = {.last = 90,
							   .others_ns = 7000000000,
							   .share = 0.07,
							   .ground = STRAGGLER_FREQUENCY}};
	struct collective_fold fold = {.used = 100, .nr_members = 8};
	struct report_straggler_communicator on = {
		.fold = &fold, .name = "all ranks", .members = &member};
	struct report_straggler straggler = {.communicators = &on,
					     .nr_communicators = 1,
					     .ranks = &rank,
					     .nr_ranks = 1,
					     .nr_named = 1};
	char *text = written(&straggler);

	(void)state;
	assert_non_null(strstr(text, "\"straggler\":{\"line\":\"late: rank 3 on node1 (without it "
				     "up to 1.000 s less, 7.00 % of the time, beyond chance by "
				     "frequency; slower GPU kernels "
				     "(ge\\\"mm): 50 % of it)\","));
	assert_non_null(strstr(text,
			       "\"name\":\"rank 3 on node1\",\"more\":\"\",\"text\":\"last in "
			       "90.00 % of 100 collectives of all ranks; each other rank waited "
			       "1.000 s for it, 7.00 % of the time\","));
	/* The communicator was there for a hundredth of the run. */
	on.span_ns = 100;
	on.run_ns = 10000;
	char *part = written(&straggler);
	assert_non_null(strstr(part, "up to 1.000 s less, 0.07 % of the run, beyond chance"));
	free(part);
	assert_non_null(strstr(text, "\"excess_ns\":3000,\"stack\":\"main;step\""));
	assert_string_equal(text + strlen(text) - strlen("\"others\":[]},\n"), "\"others\":[]},\n");
	free(text);
}

static void job_without_compared_collectives_has_no_verdict(void **state)
{
	struct collective_fold fold = {.collectives = 5};
	struct report_straggler_communicator on = {.fold = &fold, .name = "all ranks"};
	char *text = written(
		&(const struct report_straggler){.communicators = &on, .nr_communicators = 1});

	(void)state;
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_rank_has_the_sentences_of_the_table),
		cmocka_unit_test(job_without_compared_collectives_has_no_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
