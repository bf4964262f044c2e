/* Where a step's aggregator listens. */
#include "cli/job/own_endpoints.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void all_addresses_are_taken_if_no_interface_is_named(void **state)
{
	struct own_endpoints endpoints = {.count = 0};

	(void)state;
	assert_int_equal(own_endpoints_choose(&endpoints, NULL), 0);
	assert_int_equal(endpoints.count, 2);
	assert_string_equal(endpoints.text[0], "tcp://0.0.0.0:*");
	assert_string_equal(endpoints.text[1], "tcp://[::]:*");
}

static void what_is_chosen_stays(void **state)
{
	struct own_endpoints endpoints = {.text = {"tcp://0.0.0.0:4711"}, .count = 1};

	(void)state;
	assert_int_equal(own_endpoints_choose(&endpoints, NULL), 0);
	assert_int_equal(endpoints.count, 1);
	assert_string_equal(endpoints.text[0], "tcp://0.0.0.0:4711");
}

static void an_interface_without_an_address_is_refused(void **state)
{
	struct own_endpoints endpoints = {.count = 0};

	(void)state;
	assert_true(own_endpoints_choose(&endpoints, "no such one") < 0);
	assert_int_equal(endpoints.count, 0);
}

static void only_a_host_without_ipv6_does_without_it(void **state)
{
	static const int errors[] = {-EAFNOSUPPORT, -EADDRNOTAVAIL, -ENODEV};
	static const int others[] = {0, -EBUSY, -EIO, -ENOMEM, -EACCES, -EADDRINUSE};
	struct own_endpoints endpoints = {.count = 0};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		own_endpoints_choose(&endpoints, NULL);
		assert_false(own_endpoints_drop_ipv6(&endpoints, others[i]));
		assert_int_equal(endpoints.count, 2);
	}
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		endpoints.count = 0;
		own_endpoints_choose(&endpoints, NULL);
		assert_true(own_endpoints_drop_ipv6(&endpoints, errors[i]));
		assert_int_equal(endpoints.count, 1);
		assert_string_equal(endpoints.text[0], "tcp://0.0.0.0:*");
		/* there is no more to drop */
		assert_false(own_endpoints_drop_ipv6(&endpoints, errors[i]));
	}
}

/* One that is started again must have the addresses that agents know. */
static void bound_addresses_are_not_dropped(void **state)
{
	struct own_endpoints endpoints = {.text = {"tcp://0.0.0.0:4711", "tcp://[::]:4712"},
					  .count = 2};

	(void)state;
	assert_false(own_endpoints_drop_ipv6(&endpoints, -EADDRNOTAVAIL));
	assert_int_equal(endpoints.count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_addresses_are_taken_if_no_interface_is_named),
		cmocka_unit_test(what_is_chosen_stays),
		cmocka_unit_test(an_interface_without_an_address_is_refused),
		cmocka_unit_test(only_a_host_without_ipv6_does_without_it),
		cmocka_unit_test(bound_addresses_are_not_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
