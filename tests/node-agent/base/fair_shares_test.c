#include "node-agent/base/fair_shares.h"

#include "tests/support/cmocka_test.h"

#include <unistd.h>

/* A pool that one user after the other takes from until it may not. Returns how many the user got. */
static uint32_t take_all(struct fair_shares *shares, uid_t uid, uint32_t *left)
{
	uint32_t taken = 0;

	for (; fair_shares_may_take(shares, uid, *left); taken++, (*left)--)
		fair_shares_take(shares, uid);
	return taken;
}

static void each_user_leaves_as_much_as_it_takes(void **state)
{
	struct fair_shares shares = {0};
	uint32_t left = 16;

	(void)state;
	assert_int_equal(take_all(&shares, geteuid() + 1, &left), 8);
	assert_int_equal(take_all(&shares, geteuid() + 2, &left), 4);
	assert_int_equal(take_all(&shares, geteuid() + 1, &left), 0);
	assert_int_equal(take_all(&shares, geteuid(), &left), 4);
	assert_int_equal(shares.total, 16);
	fair_shares_forget(&shares);
	assert_int_equal(shares.total, 0);
	left = 2;
	assert_int_equal(take_all(&shares, geteuid() + 1, &left), 1);
	fair_shares_forget(&shares);
}

static void root_and_our_own_user_take_what_there_is(void **state)
{
	(void)state;
	assert_true(fair_shares_admit(0, 100, 1));
	assert_false(fair_shares_admit(0, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_user_leaves_as_much_as_it_takes),
		cmocka_unit_test(root_and_our_own_user_take_what_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
