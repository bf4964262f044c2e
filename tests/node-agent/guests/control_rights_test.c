#include "node-agent/guests/control_rights.h"

#include "tests/support/cmocka_test.h"

#include <unistd.h>

static void root_and_the_agents_user_command_all(void **state)
{
	(void)state;
	assert_true(control_rights_cover_all(0));
	assert_true(control_rights_cover_all(geteuid()));
	assert_true(control_rights_cover(0, 4711));
	assert_true(control_rights_cover(geteuid(), 4711));
}

static void any_other_user_commands_its_own_guests_alone(void **state)
{
	const uid_t other = geteuid() + 1;

	(void)state;
	assert_false(control_rights_cover_all(other));
	assert_true(control_rights_cover(other, other));
	assert_false(control_rights_cover(other, other + 1));
	assert_false(control_rights_cover(other, geteuid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_the_agents_user_command_all),
		cmocka_unit_test(any_other_user_commands_its_own_guests_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
