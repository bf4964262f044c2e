#include "tests/support/cmocka_test.h"

#include <string.h>

#include "node-agent/symbols/kernel_symbols.h"

static const char text[] = "ffffffff81000000 T _stext\n"
			   "ffffffff81000200 t futex_wait\n"
			   "ffffffff81000100 T __schedule\n"
			   "ffffffff81000300 d some_data\n"
			   "ffffffffc0000000 t nvidia_ioctl\t[nvidia]\n"
			   "nonsense\n"
			   "ffffffff81000400 W last";

static void addresses_belong_to_the_function_before_them(void **state)
{
	struct kernel_symbols *symbols;

	(void)state;
	assert_int_equal(kernel_symbols_parse(text, strlen(text), &symbols), 0);
	assert_int_equal(kernel_symbols_count(symbols), 5);
	assert_string_equal(kernel_symbols_find(symbols, 0xffffffff81000100), "__schedule");
	assert_string_equal(kernel_symbols_find(symbols, 0xffffffff810001ff), "__schedule");
	assert_string_equal(kernel_symbols_find(symbols, 0xffffffff81000350), "futex_wait");
	assert_string_equal(kernel_symbols_find(symbols, 0xffffffffc0000010), "nvidia_ioctl");
	assert_string_equal(kernel_symbols_find(symbols, 0xffffffff81000401), "last");
	assert_null(kernel_symbols_find(symbols, 0xffffffff80ffffff));
	assert_null(kernel_symbols_find(symbols, 0xffffffffb0000000));
	kernel_symbols_destroy(symbols);
}

static void hidden_addresses_are_no_names(void **state)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 t futex_wait\n";
	struct kernel_symbols *symbols;

	(void)state;
	assert_int_equal(kernel_symbols_parse(hidden, strlen(hidden), &symbols), 0);
	assert_int_equal(kernel_symbols_count(symbols), 0);
	assert_null(kernel_symbols_find(symbols, 1));
	kernel_symbols_destroy(symbols);
	assert_int_equal(kernel_symbols_parse("", 0, &symbols), 0);
	assert_int_equal(kernel_symbols_count(symbols), 0);
	kernel_symbols_destroy(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_belong_to_the_function_before_them),
		cmocka_unit_test(hidden_addresses_are_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
