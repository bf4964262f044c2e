#include "report/model/report_dimension.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *frame_of(const struct report_leaf *leaf, enum report_dimension dimension)
{
	static char text[32];
	static const char *strings[] = {"", "stream7 (copies)"};
	struct report_tree tree = {.strings = strings, .nr_strings = 2};

	return report_dimension_frame(&tree, dimension, report_dimension_value(leaf, dimension),
				      text, sizeof(text));
}

static void a_stream_is_its_id_or_the_text_that_has_all(void **state)
{
	(void)state;
	assert_string_equal(frame_of(&(struct report_leaf){.stream_id = 7}, REPORT_BY_STREAM),
			    "stream7");
	assert_string_equal(
		frame_of(&(struct report_leaf){.stream_id = 7, .stream = 1}, REPORT_BY_STREAM),
		"stream7 (copies)");
}

/* No CUPTI has such streams, but a job can say so. */
static void ids_above_all_that_there_are_are_one(void **state)
{
	static const uint32_t ids[] = {1u << 31, (1u << 31) + 5, UINT32_MAX};

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_string_equal(
			frame_of(&(struct report_leaf){.stream_id = ids[i]}, REPORT_BY_STREAM),
			"stream2147483647");
		assert_string_equal(
			frame_of(&(struct report_leaf){.context_id = ids[i]}, REPORT_BY_CONTEXT),
			"context2147483647");
	}
}

static void a_job_is_its_text_or_not_known(void **state)
{
	(void)state;
	assert_string_equal(frame_of(&(struct report_leaf){.job = 1}, REPORT_BY_JOB),
			    "stream7 (copies)"); /* the text with that index */
	assert_string_equal(frame_of(&(struct report_leaf){0}, REPORT_BY_JOB), "job?");
}

static void a_step_is_its_text_or_other(void **state)
{
	struct report_by by;

	(void)state;
	assert_string_equal(frame_of(&(struct report_leaf){.step = 1}, REPORT_BY_STEP),
			    "stream7 (copies)"); /* the text with that index */
	assert_string_equal(frame_of(&(struct report_leaf){0}, REPORT_BY_STEP), "[step] other");
	assert_int_equal(report_by_parse("rank,step-kind", &by), 0);
	assert_int_equal(by.dimensions[1], REPORT_BY_STEP);
	assert_int_not_equal(report_by_parse("step", &by), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_its_id_or_the_text_that_has_all),
		cmocka_unit_test(ids_above_all_that_there_are_are_one),
		cmocka_unit_test(a_job_is_its_text_or_not_known),
		cmocka_unit_test(a_step_is_its_text_or_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
