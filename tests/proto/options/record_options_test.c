#include "proto/options/record_options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nothing_is_recorded_by_default(void **state)
{
	uint32_t options = 1;

	(void)state;
	assert_int_equal(record_options_parse(NULL, &options), 0);
	assert_int_equal(options, 0);
	options = 1;
	assert_int_equal(record_options_parse("", &options), 0);
	assert_int_equal(options, 0);
}

static void a_list_is_the_sum_of_its_names(void **state)
{
	uint32_t options;

	(void)state;
	assert_int_equal(record_options_parse("sync,um", &options), 0);
	assert_int_equal(options, RECORD_OPTION_SYNC | RECORD_OPTION_UNIFIED);
	assert_int_equal(record_options_parse("memory,memory", &options), 0);
	assert_int_equal(options, RECORD_OPTION_MEMORY);
}

static void all_is_every_one(void **state)
{
	uint32_t options;

	(void)state;
	assert_int_equal(record_options_parse("all", &options), 0);
	assert_int_equal(options, RECORD_OPTION_SYNC | RECORD_OPTION_OVERHEAD |
					  RECORD_OPTION_UNIFIED | RECORD_OPTION_MODULES |
					  RECORD_OPTION_MEMORY | RECORD_OPTION_NVTX);
	assert_int_equal(record_options_parse("all,marks", &options), 0);
	assert_true(options & RECORD_OPTION_MARKS);
}

static void other_words_are_refused(void **state)
{
	const char *const bad[] = {"sync,", ",sync", "syn", "synch", "sync um", "sync,,um", "ALL"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t options = 1;

		assert_int_equal(record_options_parse(bad[i], &options), -EINVAL);
		assert_int_equal(options, 0);
	}
}

static void every_set_survives_its_text(void **state)
{
	(void)state;
	for (uint32_t set = 0; set < 1u << 6; set++) {
		char text[RECORD_OPTIONS_SIZE];
		uint32_t options;

		record_options_format(set, text);
		assert_int_equal(record_options_parse(text, &options), 0);
		assert_int_equal(options, set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_recorded_by_default),
		cmocka_unit_test(a_list_is_the_sum_of_its_names),
		cmocka_unit_test(all_is_every_one),
		cmocka_unit_test(other_words_are_refused),
		cmocka_unit_test(every_set_survives_its_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
