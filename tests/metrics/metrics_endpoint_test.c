#include "metrics/metrics_endpoint.h"

#include <errno.h>
#include <stdlib.h>

#include "http/http_address.h"
#include "tests/support/cmocka_test.h"

static void an_option_becomes_an_address(void **state)
{
	struct http_address address = {0};
	char text[HTTP_ADDRESS_TEXT_MAX], *error = NULL;

	(void)state;
	assert_int_equal(metrics_endpoint_take(&address, "metrics", "[::1]:9401", &error), 0);
	assert_null(error);
	assert_true(address.size > 0);
	assert_string_equal(http_address_text(&address, text), "[::1]:9401");
}

static void a_wrong_value_names_its_option(void **state)
{
	struct http_address address;
	char *error = NULL;

	(void)state;
	assert_int_equal(metrics_endpoint_take(&address, "metrics", "host:1", &error), -EINVAL);
	assert_string_equal(error, "--metrics host:1: this is not PORT, ADDRESS:PORT or "
				   "[ADDRESS]:PORT");
	free(error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_option_becomes_an_address),
		cmocka_unit_test(a_wrong_value_names_its_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
