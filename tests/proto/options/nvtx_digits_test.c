#include "proto/options/nvtx_digits.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void every_name_parses_to_itself(void **state)
{
	static const enum nvtx_digits all[] = {NVTX_DIGITS_AUTO, NVTX_DIGITS_KEEP,
					       NVTX_DIGITS_MASK};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		enum nvtx_digits digits;

		assert_int_equal(nvtx_digits_parse(nvtx_digits_name(all[i]), &digits), 0);
		assert_int_equal(digits, all[i]);
	}
}

static void nothing_is_the_default_and_anything_else_an_error(void **state)
{
	static const char *const wrong[] = {"Keep", "keep ", "masked", "#"};
	enum nvtx_digits digits = NVTX_DIGITS_MASK;

	(void)state;
	assert_int_equal(nvtx_digits_parse(NULL, &digits), 0);
	assert_int_equal(digits, NVTX_DIGITS_AUTO);
	assert_int_equal(nvtx_digits_parse("", &digits), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		digits = NVTX_DIGITS_MASK;
		assert_int_equal(nvtx_digits_parse(wrong[i], &digits), -EINVAL);
		assert_int_equal(digits, NVTX_DIGITS_AUTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_parses_to_itself),
		cmocka_unit_test(nothing_is_the_default_and_anything_else_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
