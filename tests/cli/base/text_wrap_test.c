#include "cli/base/text_wrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_wrapped(const char *text, const char *expected)
{
	char *wrapped;
	size_t size;
	FILE *out = open_memstream(&wrapped, &size);

	text_wrap_write(out, text, 20);
	fclose(out);
	assert_string_equal(wrapped, expected);
	free(wrapped);
}

static void lines_that_fit_stay(void **state)
{
	(void)state;
	assert_wrapped("", "");
	assert_wrapped("\n\n", "\n\n");
	assert_wrapped("12345678901234567890\n  two  words", "12345678901234567890\n  two  words");
}

static void longer_lines_break_between_words(void **state)
{
	(void)state;
	assert_wrapped("nothing was lost in this run\nok\n",
		       "nothing was lost in\n    this run\nok\n");
	assert_wrapped("  an indented line has more\n", "  an indented line\n      has more\n");
}

static void a_long_word_stays_whole(void **state)
{
	(void)state;
	assert_wrapped("/a/very/long/path/to/flame.html\n", "/a/very/long/path/to/flame.html\n");
	assert_wrapped("see /a/very/long/path/to/flame.html\n",
		       "see\n    /a/very/long/path/to/flame.html\n");
}

static void colours_take_no_room(void **state)
{
	(void)state;
	assert_wrapped("\033[1m12345678901234567\033[0m 90\n",
		       "\033[1m12345678901234567\033[0m 90\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_that_fit_stay),
		cmocka_unit_test(longer_lines_break_between_words),
		cmocka_unit_test(a_long_word_stays_whole),
		cmocka_unit_test(colours_take_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
