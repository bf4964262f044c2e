#include "report/compare/markdown_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_written(void (*write)(FILE *out, const char *text), const char *text,
			   const char *expected)
{
	char *written = NULL;
	size_t size;
	FILE *out = open_memstream(&written, &size);

	assert_non_null(out);
	write(out, text);
	fclose(out);
	assert_string_equal(written, expected);
	free(written);
}

static void text_begins_no_mark(void **state)
{
	(void)state;
	assert_written(markdown_text_write, "train.py:41 (+1.02 %)", "train.py:41 (+1.02 %)");
	assert_written(markdown_text_write, "<img src=x>|[a](b)", "\\<img src=x\\>\\|\\[a\\](b)");
	assert_written(markdown_text_write, "a\\b`c`*d*_e_~f~&amp;#@g",
		       "a\\\\b\\`c\\`\\*d\\*\\_e\\_\\~f\\~\\&amp;\\#\\@g");
}

static void code_ends_where_its_text_ends(void **state)
{
	(void)state;
	assert_written(markdown_text_code, "f<a|b>(\"`*_&", "`f<a\\|b>(\"'*_&`");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_begins_no_mark),
		cmocka_unit_test(code_ends_where_its_text_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
