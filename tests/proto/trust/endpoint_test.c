#include "tests/support/cmocka_test.h"

#include "proto/trust/endpoint.h"

static void loopback_and_same_host_endpoints_are_local(void **state)
{
	(void)state;
	assert_true(endpoint_is_local("tcp://127.0.0.1:7040"));
	assert_true(endpoint_is_local("tcp://127.8.9.10:*"));
	assert_true(endpoint_is_local("tcp://[::1]:7040"));
	assert_true(endpoint_is_local("tcp://[::ffff:127.0.0.1]:7040"));
	assert_true(endpoint_is_local("tcp://localhost:7040"));
	assert_true(endpoint_is_local("ipc:///run/flamegrid"));
	assert_true(endpoint_is_local("inproc://aggregator"));
}

static void other_hosts_are_not_local(void **state)
{
	(void)state;
	assert_false(endpoint_is_local("tcp://10.0.0.1:7040"));
	assert_false(endpoint_is_local("tcp://node01:7040"));
	assert_false(endpoint_is_local("tcp://localhost.example.org:7040"));
	assert_false(endpoint_is_local("tcp://127.0.0.1.example.org:7040"));
	assert_false(endpoint_is_local("tcp://[2001:db8::1]:7040"));
	assert_false(endpoint_is_local("tcp://[::ffff:10.0.0.1]:7040"));
}

static void wildcards_and_interfaces_are_not_local(void **state)
{
	(void)state;
	assert_false(endpoint_is_local("tcp://*:7040"));
	assert_false(endpoint_is_local("tcp://0.0.0.0:7040"));
	assert_false(endpoint_is_local("tcp://[::]:7040"));
	assert_false(endpoint_is_local("tcp://eth0:7040"));
	assert_false(endpoint_is_local("tcp://lo:7040"));
}

static void a_source_address_does_not_make_a_target_local(void **state)
{
	(void)state;
	assert_false(endpoint_is_local("tcp://127.0.0.1:0;10.0.0.1:7040"));
	assert_true(endpoint_is_local("tcp://10.0.0.1:0;127.0.0.1:7040"));
}

static void what_is_no_endpoint_is_not_local(void **state)
{
	(void)state;
	assert_false(endpoint_is_local(""));
	assert_false(endpoint_is_local("127.0.0.1:7040"));
	assert_false(endpoint_is_local("tcp://"));
	assert_false(endpoint_is_local("tcp://127.0.0.1"));
	assert_false(endpoint_is_local("tcp://:7040"));
	assert_false(endpoint_is_local("pgm://127.0.0.1:7040"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loopback_and_same_host_endpoints_are_local),
		cmocka_unit_test(other_hosts_are_not_local),
		cmocka_unit_test(wildcards_and_interfaces_are_not_local),
		cmocka_unit_test(a_source_address_does_not_make_a_target_local),
		cmocka_unit_test(what_is_no_endpoint_is_not_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
