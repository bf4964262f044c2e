#include "node-agent/base/trusted_user.h"

#include "tests/support/cmocka_test.h"

static void root_and_our_own_user_are_trusted(void **state)
{
	(void)state;
	assert_true(trusted_user(0));
	assert_true(trusted_user(geteuid()));
	assert_false(trusted_user(geteuid() + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_our_own_user_are_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
