#include "node-agent/dictionary/user_shares.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <unistd.h>

#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"

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

static struct string_dictionary *strings;
static struct stack_dictionary *stacks;
static struct user_shares *shares;

static int set_up(void **state)
{
	(void)state;
	nr_strings = nr_nodes = 0;
	strings = string_dictionary_create();
	stacks = stack_dictionary_create();
	shares = user_shares_create(strings, stacks);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	user_shares_destroy(shares);
	stack_dictionary_destroy(stacks);
	string_dictionary_destroy(strings);
	return 0;
}

static void a_user_has_one_share(void **state)
{
	struct user_share *share = user_share_join(shares, 5);

	(void)state;
	assert_ptr_equal(user_share_join(shares, 5), share);
	assert_ptr_not_equal(user_share_join(shares, 6), share);
}

static void texts_are_their_users_and_those_of_trusted_users_nobodys(void **state)
{
	const uid_t uids[] = {geteuid() + 5, geteuid(), 0};
	uint32_t id;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		const char name[] = {'a', (char)('a' + i)};
		struct user_share *share = user_share_join(shares, uids[i]);

		user_share_begin(share);
		assert_int_equal(string_dictionary_intern(strings, name, sizeof(name), &id), 0);
		user_share_end(share);
	}
	assert_int_equal(string_dictionary_intern(strings, "own", 3, &id), 0);
	const uint32_t *owners = string_dictionary_owners(strings, 1);
	assert_int_equal(owners[0], uids[0]);
	for (uint32_t i = 1; i < id; i++)
		assert_int_equal(owners[i], 0);
}

static void each_user_leaves_as_many_ids_as_it_takes(void **state)
{
	struct user_share *one = user_share_join(shares, geteuid() + 1);
	struct user_share *other = user_share_join(shares, geteuid() + 2);

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
	struct user_share *one = user_share_join(shares, geteuid() + 1);

	(void)state;
	assert_true(enter(one, WIRE_ID_MAX / 3, WIRE_ID_MAX / 3));
	assert_false(enter(one, WIRE_ID_MAX / 3, 0));
}

static void root_and_our_own_user_take_what_there_is(void **state)
{
	(void)state;
	assert_true(enter(user_share_join(shares, 0), WIRE_ID_MAX - 10, 0));
	assert_true(enter(user_share_join(shares, geteuid()), 10, 0));
}

/* Texts of a user's process; *first is the id of the first. */
static void enter_texts(struct user_share *share, const char *prefix, uint32_t count,
			uint32_t *first)
{
	uint32_t id;

	user_share_begin(share);
	for (uint32_t i = 0; i < count; i++) {
		char text[32];
		int size = snprintf(text, sizeof(text), "%s %u", prefix, i);

		assert_int_equal(string_dictionary_intern(strings, text, (size_t)size, &id), 0);
		if (i == 0)
			*first = id;
		nr_strings = id > nr_strings ? id : nr_strings;
	}
	user_share_end(share);
}

static void users_neither_share_what_they_know_nor_push_it_out(void **state)
{
	struct user_share *one = user_share_join(shares, geteuid() + 1);
	struct user_share *other = user_share_join(shares, geteuid() + 2);
	uint32_t first, others, again;

	(void)state;
	enter_texts(one, "name", 100, &first);
	enter_texts(other, "name", 100, &others);
	assert_int_not_equal(first, others);
	/* More than one user may remember. */
	enter_texts(other, "another name", 800000, &others);
	enter_texts(other, "name", 100, &again);
	assert_int_not_equal(again, others);
	enter_texts(one, "name", 100, &again);
	assert_int_equal(again, first);
	assert_true(user_shares_bytes(shares) < USER_SHARES_BYTES_MAX);
}

static void what_nobody_asked_for_again_is_forgotten_when_a_process_ends(void **state)
{
	struct user_share *share = user_share_join(shares, geteuid() + 1);
	uint32_t first, again;

	(void)state;
	enter_texts(share, "name", 1000, &first);
	assert_true(user_shares_bytes(shares) > 0);
	user_share_leave(share);
	assert_true(user_shares_bytes(shares) == 0);

	assert_ptr_equal(user_share_join(shares, geteuid() + 1), share);
	enter_texts(share, "name", 1000, &first);
	enter_texts(share, "name", 1000, &again);
	enter_texts(share, "name", 1, &again);
	assert_int_equal(again, first);
	user_share_leave(share);
	assert_true(user_shares_bytes(shares) > 0);
}

static void what_trusted_users_entered_is_kept(void **state)
{
	struct user_share *share = user_share_join(shares, geteuid());
	uint32_t first;

	(void)state;
	enter_texts(share, "name", 1000, &first);
	user_share_leave(share);
	assert_true(user_shares_bytes(shares) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_user_has_one_share),
		TEST(texts_are_their_users_and_those_of_trusted_users_nobodys),
		TEST(each_user_leaves_as_many_ids_as_it_takes),
		TEST(each_kind_counts_for_itself),
		TEST(root_and_our_own_user_take_what_there_is),
		TEST(users_neither_share_what_they_know_nor_push_it_out),
		TEST(what_nobody_asked_for_again_is_forgotten_when_a_process_ends),
		TEST(what_trusted_users_entered_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
