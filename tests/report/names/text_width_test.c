#include "report/names/text_width.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_cut(const char *text, uint32_t columns, const char *expected)
{
	char copy[128];

	snprintf(copy, sizeof(copy), "%s", text);
	text_width_cut(copy, columns);
	assert_string_equal(copy, expected);
	assert_true(text_width_of(copy) <= columns);
}

static void characters_have_widths_and_escapes_have_none(void **state)
{
	(void)state;
	assert_int_equal(text_width_of(""), 0);
	assert_int_equal(text_width_of("gemm"), 4);
	assert_int_equal(text_width_of("gr\xc3\xbc\xc3\x9f"), 4);
	assert_int_equal(text_width_of("\xe6\xa0\xb8\xe5\xbf\x83"), 4); /* two wide characters */
	assert_int_equal(text_width_of("e\xcc\x81"), 1);                /* with an accent behind */
	assert_int_equal(text_width_of("\033[1mbold\033[0m"), 4);
	assert_int_equal(text_width_of("\xff\xc3"), 2); /* damaged: it ends all the same */
}

static void long_text_loses_its_middle(void **state)
{
	(void)state;
	assert_cut("ampere_sgemm_128x64_tn", 40, "ampere_sgemm_128x64_tn");
	assert_cut("ampere_sgemm_128x64_tn", 22, "ampere_sgemm_128x64_tn");
	assert_cut("ampere_sgemm_128x64_tn", 13,
		   "ampe\xe2\x80\xa6"
		   "28x64_tn");
	assert_cut("ampere_sgemm_128x64_tn", 1, "\xe2\x80\xa6");
}

static void wide_characters_are_cut_whole(void **state)
{
	(void)state;
	assert_cut("\xe6\xa0\xb8\xe5\xbf\x83\xe6\xa0\xb8\xe5\xbf\x83", 5,
		   "\xe2\x80\xa6\xe6\xa0\xb8\xe5\xbf\x83");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_have_widths_and_escapes_have_none),
		cmocka_unit_test(long_text_loses_its_middle),
		cmocka_unit_test(wide_characters_are_cut_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
