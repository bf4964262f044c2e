#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/http_address.h"

static void a_port_alone_is_of_loopback(void **state)
{
	struct http_address address;
	char text[HTTP_ADDRESS_TEXT_MAX];

	(void)state;
	assert_int_equal(http_address_parse("9401", &address, NULL), 0);
	assert_string_equal(http_address_text(&address, text), "127.0.0.1:9401");
	assert_true(http_address_is_local(&address));
}

static void addresses_are_read_and_written(void **state)
{
	static const struct {
		const char *text;
		bool is_local;
	} cases[] = {
		{"127.9.8.7:1", true}, {"0.0.0.0:65535", false}, {"10.0.0.1:9400", false},
		{"[::1]:9400", true},  {"[::]:0", false},        {"[fe80::1:2]:9400", false},
	};
	struct http_address address;
	char text[HTTP_ADDRESS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(http_address_parse(cases[i].text, &address, NULL), 0);
		assert_string_equal(http_address_text(&address, text), cases[i].text);
		assert_int_equal(http_address_is_local(&address), cases[i].is_local);
	}
}

static void other_texts_are_refused_by_name(void **state)
{
	static const char *const cases[] = {
		"",
		":",
		":9400",
		"65536",
		"-1",
		"+1",
		"1 ",
		"localhost:1",
		"1.2.3:4",
		"[::1]",
		"[::1:2",
		"::1:9400",
		"[x]:1",
		"[]:1",
		"1.2.3.4:",
		"1.2.3.4:99999",
		"123456",
		"1111111111111111111111111111111111111111111111111111111111111111111111:1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct http_address address;
		char *error = NULL;

		assert_int_equal(http_address_parse(cases[i], &address, &error), -EINVAL);
		assert_non_null(error);
		assert_memory_equal(error, cases[i], strlen(cases[i]));
		free(error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_alone_is_of_loopback),
		cmocka_unit_test(addresses_are_read_and_written),
		cmocka_unit_test(other_texts_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
