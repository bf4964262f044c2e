#include "node-agent/user_shares.h"

#include "cmocka_test.h"

#include <unistd.h>

#include "node-agent/stack_dictionary.h"
#include "node-agent/string_dictionary.h"

/* The dictionaries hold as many strings and nodes as the tests say. */
static uint32_t nr_strings, nr_nodes;

uint32_t __wrap_string_dictionary_count(const struct string_dictionary *strings);
uint32_t __wrap_stack_dictionary_nr_modules(const struct stack_dictionary *stacks);
uint32_t __wrap_stack_dictionary_nr_codes(const struct stack_dictionary *stacks);
uint32_t __wrap_stack_dictionary_nr_frames(const struct stack_dictionary *stacks);
uint32_t __wrap_stack_dictionary_nr_nodes(const struct stack_dictionary *stacks);

uint32_t __wrap_string_dictionary_count(const struct string_dictionary *strings)
{
	(void)strings;
	return nr_strings;
}

uint32_t __wrap_stack_dictionary_nr_modules(const struct stack_dictionary *stacks)
{
	(void)stacks;
	return 0;
}

uint32_t __wrap_stack_dictionary_nr_codes(const struct stack_dictionary *stacks)
{
	(void)stacks;
	return 0;
}

uint32_t __wrap_stack_dictionary_nr_frames(const struct stack_dictionary *stacks)
{
	(void)stacks;
	return 0;
}

uint32_t __wrap_stack_dictionary_nr_nodes(const struct stack_dictionary *stacks)
{
	(void)stacks;
	return nr_nodes;
}

static bool enter(struct user_share *share, uint32_t strings, uint32_t nodes)
{
	user_share_begin(share);
	nr_strings += strings;
	nr_nodes += nodes;
	return user_share_end(share);
}

static struct user_shares *shares;

static int set_up(void **state)
{
	(void)state;
	nr_strings = nr_nodes = 0;
	shares = user_shares_create(NULL, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	user_shares_destroy(shares);
	return 0;
}

static void a_user_has_one_share(void **state)
{
	struct user_share *share = user_shares_find(shares, 5);

	(void)state;
	assert_ptr_equal(user_shares_find(shares, 5), share);
	assert_ptr_not_equal(user_shares_find(shares, 6), share);
}

static void each_user_leaves_as_many_ids_as_it_takes(void **state)
{
	struct user_share *one = user_shares_find(shares, geteuid() + 1);
	struct user_share *other = user_shares_find(shares, geteuid() + 2);

	(void)state;
	assert_true(enter(one, 0, WIRE_ID_MAX / 2 - 1));
	assert_false(enter(one, 0, 1));
	assert_true(enter(other, 0, WIRE_ID_MAX / 4 - 1));
	assert_false(enter(other, 0, 1));
	/* For good. */
	assert_false(enter(one, 0, 0));
}

static void each_kind_counts_for_itself(void **state)
{
	struct user_share *one = user_shares_find(shares, geteuid() + 1);

	(void)state;
	assert_true(enter(one, WIRE_ID_MAX / 3, WIRE_ID_MAX / 3));
	assert_false(enter(one, WIRE_ID_MAX / 3, 0));
}

static void root_and_our_own_user_take_what_there_is(void **state)
{
	(void)state;
	assert_true(enter(user_shares_find(shares, 0), WIRE_ID_MAX - 10, 0));
	assert_true(enter(user_shares_find(shares, geteuid()), 10, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_user_has_one_share),
		TEST(each_user_leaves_as_many_ids_as_it_takes),
		TEST(each_kind_counts_for_itself),
		TEST(root_and_our_own_user_take_what_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
