#include "proto/options/metric_options.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void sets_and_metrics_are_added_once(void **state)
{
	struct metric_options options = {0};
	const char *list;
	uint32_t commas = 0;

	(void)state;
	assert_string_equal(metric_options_set(0, &list), "sol");
	for (const char *at = list; *at; at++)
		commas += *at == ',';
	assert_int_equal(metric_options_add(&options, "sol,a__b.sum,dram__bytes_read.sum,sol"), 0);
	assert_int_equal(options.nr_names, commas + 2);
	assert_string_equal(options.names[commas + 1], "a__b.sum");
	assert_string_equal(metric_options_set(1, &list), "roofline");
	assert_null(metric_options_set(2, &list));
}

static void lists_that_make_no_sense_are_refused(void **state)
{
	static const char *const lists[] = {"a b", "a:b", "ü"};
	static const char *const gaps[] = {"", "a.b,", ",a.b", "a.b,,c.d", "roofline,"};
	struct metric_options options;
	char name[METRIC_OPTIONS_NAME + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		options.nr_names = 0;
		assert_int_equal(metric_options_add(&options, lists[i]), -EINVAL);
	}
	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++)
		assert_int_equal(metric_options_add(&options, gaps[i]), -ENODATA);
	options.nr_names = 0;
	memset(name, 'a', sizeof(name));
	name[METRIC_OPTIONS_NAME] = '\0';
	assert_int_equal(metric_options_add(&options, name), -EINVAL);
	name[METRIC_OPTIONS_NAME - 1] = '\0';
	name[3] = '.';
	assert_int_equal(metric_options_add(&options, name), 0);
	options.nr_names = 0;
	for (uint32_t i = 0; i < METRIC_OPTIONS_MAX; i++) {
		snprintf(name, sizeof(name), "m%u.sum", i);
		assert_int_equal(metric_options_add(&options, name), 0);
	}
	assert_int_equal(metric_options_add(&options, "m5.sum"), 0);
	assert_int_equal(metric_options_add(&options, "another.sum"), -E2BIG);
}

static void names_without_an_ending_are_refused(void **state)
{
	struct metric_options options = {0};

	(void)state;
	assert_int_equal(metric_options_add(&options, "sm__a.sum,sm__cycles_active,sm__b.sum"),
			 -ENXIO);
	assert_int_equal(options.nr_names, 1);
	assert_string_equal(options.names[options.nr_names], "sm__cycles_active");
	/* The dots of this one are those of its group. */
	assert_int_equal(metric_options_add(&options, "CTC.TriageCompute.ctc__rx_bytes"), -ENXIO);
	assert_int_equal(metric_options_add(&options, "CTC.TriageCompute.ctc__rx_bytes.sum"), 0);
	assert_non_null(strstr(metric_options_refusal(-ENXIO), ".sum"));
}

static void text_and_options_are_the_same(void **state)
{
	struct metric_options options = {0}, read;
	char text[METRIC_OPTIONS_TEXT];

	(void)state;
	assert_int_equal(metric_options_add(&options, "roofline"), 0);
	assert_int_equal(metric_options_launches(&options, "7"), 0);
	assert_int_equal(metric_options_regex(&options, "gemm:(a|b)$", false), 0);
	metric_options_format(&options, text);
	assert_int_equal(metric_options_parse(text, &read), 0);
	assert_int_equal(read.nr_names, options.nr_names);
	for (uint32_t i = 0; i < read.nr_names; i++)
		assert_string_equal(read.names[i], options.names[i]);
	assert_int_equal(read.launches, 7);
	assert_string_equal(read.regex, "gemm:(a|b)$");
	assert_false(read.are_ranges || metric_options_are_of_ranges(text));
	options.launches = 0;
	metric_options_format(&options, text);
	assert_int_equal(metric_options_parse(text, &read), 0);
	assert_int_equal(read.launches, METRIC_OPTIONS_LAUNCHES);
}

static void ranges_have_a_metric_more(void **state)
{
	struct metric_options options = {.launches = 3}, read;
	char text[METRIC_OPTIONS_TEXT];

	(void)state;
	for (uint32_t i = 0; i < METRIC_OPTIONS_MAX; i++) {
		snprintf(text, sizeof(text), "m%u.sum", i);
		assert_int_equal(metric_options_add(&options, text), 0);
	}
	assert_int_equal(metric_options_regex(&options, "^step$", true), 0);
	metric_options_format(&options, text);
	assert_true(metric_options_are_of_ranges(text));
	assert_false(metric_options_are_of_ranges(NULL));
	assert_int_equal(metric_options_parse(text, &read), 0);
	assert_true(read.are_ranges);
	assert_string_equal(read.regex, "^step$");
	assert_int_equal(read.launches, 3);
	assert_int_equal(read.nr_names, METRIC_OPTIONS_MAX);
	assert_string_equal(read.names[METRIC_OPTIONS_MAX], METRIC_OPTIONS_KERNELS);
}

static void other_text_is_refused(void **state)
{
	static const char *const texts[] = {
		"1",       "1:a.b",    "0:a.b:",  ":a.b:",   "1::",          "x:a.b:",
		"1:a.b,:", "1:a.b c:", "1:a.b:(", "1:a.b:[", "1000001:a.b:", "rr1:a.b:"};
	struct metric_options options;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(metric_options_parse(texts[i], &options), -EINVAL);
		assert_int_equal(options.nr_names, 0);
	}
	assert_int_equal(metric_options_parse(NULL, &options), 0);
	assert_int_equal(options.nr_names, 0);
	assert_int_equal(metric_options_parse("1000000:a.b:", &options), 0);
	assert_int_equal(options.nr_names, 1);
}

/* regcomp() of the first one would take gigabytes, and crash where there are none. */
static void repetitions_of_expressions_are_bounded(void **state)
{
	static const char *const bad[] = {
		"((a{1,255}){1,255}){1,255}", "((a{255}){255}){255}",    "((a{255,}){255,}){9}",
		"(a{1,255})*{1,255}",         "a{1,255}{1,255}",         "a{30000}",
		"([(]a{1,255}[)]){1,255}",    "(((a{9}){9}){9}){9}){99}"};
	static const char *const good[] = {"^(gemm|conv)_[0-9]{1,3}x[0-9]{1,3}(_[a-z]{2}){1,4}$",
					   "a{1,255}", "(ab){1,255}", "{"};
	struct metric_options options;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(metric_options_regex(&options, bad[i], i % 2), -EOVERFLOW);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]) - 1; i++)
		assert_int_equal(metric_options_regex(&options, good[i], false), 0);
	assert_int_not_equal(metric_options_regex(&options, good[3], false), -EOVERFLOW);
	assert_int_equal(metric_options_parse("1:a.b:((a{1,255}){1,255}){1,255}", &options),
			 -EINVAL);
}

static void expressions_are_bounded(void **state)
{
	struct metric_options options;
	char regex[METRIC_OPTIONS_REGEX + 1];

	(void)state;
	memset(regex, 'a', sizeof(regex));
	regex[METRIC_OPTIONS_REGEX] = '\0';
	assert_int_equal(metric_options_regex(&options, regex, false), -E2BIG);
	regex[METRIC_OPTIONS_REGEX - 1] = '\0';
	assert_int_equal(metric_options_regex(&options, regex, false), 0);
	assert_int_equal(metric_options_regex(&options, "*(", true), -EINVAL);
	assert_int_equal(metric_options_launches(&options, "3x"), -EINVAL);
	assert_int_equal(metric_options_launches(&options, "-3"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_and_metrics_are_added_once),
		cmocka_unit_test(lists_that_make_no_sense_are_refused),
		cmocka_unit_test(ranges_have_a_metric_more),
		cmocka_unit_test(names_without_an_ending_are_refused),
		cmocka_unit_test(text_and_options_are_the_same),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(expressions_are_bounded),
		cmocka_unit_test(repetitions_of_expressions_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
