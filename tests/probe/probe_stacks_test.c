#include "tests/support/cmocka_test.h"

#include <string.h>

#include "bpf/launch_event.h"
#include "node-agent/guests/probe_stacks.h"
#include "proto/record.h"
#include "proto/stack_word.h"

#define TID 77u

static int set_up(void **state)
{
	*state = probe_stacks_create();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	probe_stacks_destroy(*state);
	return 0;
}

/* A stack of two frames that `leaf` tells from others. */
static void put(struct probe_stacks *stacks, uint32_t tid, uint32_t id, uint64_t leaf)
{
	const uint64_t addresses[] = {0x400000 + leaf, 0x500000};

	assert_int_equal(probe_stacks_put(stacks, tid, id, addresses, 2, 1), 0);
}

static uint64_t leaf_of(struct probe_stacks *stacks, uint32_t number)
{
	uint32_t depth;
	const uint64_t *words = probe_stacks_words(stacks, number, &depth);

	assert_int_equal(depth, 2);
	assert_int_equal(words[1], 0x500000);
	return words[0] - 0x400000;
}

static void a_launch_takes_its_own_stack_once(void **state)
{
	put(*state, TID, 1, 10);
	put(*state, TID, 2, 20);
	put(*state, TID + 1, 1, 30);
	assert_int_equal(probe_stacks_waiting(*state), 3);
	assert_int_equal(leaf_of(*state, probe_stacks_take(*state, TID + 1, 1)), 30);
	assert_int_equal(leaf_of(*state, probe_stacks_take(*state, TID, 2)), 20);
	assert_int_equal(leaf_of(*state, probe_stacks_take(*state, TID, 1)), 10);
	assert_int_equal(probe_stacks_take(*state, TID, 1), PROBE_STACKS_NONE);
	assert_int_equal(probe_stacks_take(*state, TID, 3), PROBE_STACKS_NONE);
	assert_int_equal(probe_stacks_waiting(*state), 0);
}

static void equal_stacks_have_one_number_while_the_mappings_stay(void **state)
{
	const uint64_t addresses[] = {0x400000, 0x500000};

	put(*state, TID, 1, 0);
	put(*state, TID, 2, 0);
	assert_int_equal(probe_stacks_put(*state, TID, 3, addresses, 2, 2), 0);
	assert_int_equal(probe_stacks_take(*state, TID, 1), 1);
	assert_int_equal(probe_stacks_take(*state, TID, 2), 1);
	assert_int_equal(probe_stacks_take(*state, TID, 3), 2);
}

static uint64_t mixed(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* A program may have the callers that it likes. Against a hash without a secret, the second address takes back what the
 * first one did. */
static void stacks_that_are_chosen_are_told_apart(void **state)
{
	const uint64_t start = (1ull << 8 | 2) + 1, meet = mixed(start, 0x400000) ^ 0x500000;
	uint32_t nr = 0;

	for (uint64_t leaf = 0x400000; nr < 100; leaf++) {
		const uint64_t addresses[] = {leaf, mixed(start, leaf) ^ meet};

		if (!stack_word_is_native(addresses[1]))
			continue;
		assert_int_equal(probe_stacks_put(*state, TID, nr, addresses, 2, 1), 0);
		assert_int_equal(probe_stacks_take(*state, TID, nr), nr + 1);
		nr++;
	}
}

static void an_id_that_comes_again_means_the_newer_stack(void **state)
{
	put(*state, TID, 1, 10);
	put(*state, TID, 1, 20);
	assert_int_equal(probe_stacks_waiting(*state), 1);
	assert_int_equal(leaf_of(*state, probe_stacks_take(*state, TID, 1)), 20);
	assert_int_equal(probe_stacks_take(*state, TID, 1), PROBE_STACKS_NONE);
}

static void ids_may_wrap(void **state)
{
	for (uint32_t i = 0; i < 1000; i++)
		put(*state, TID, UINT32_MAX - 500 + i, i);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(
			leaf_of(*state, probe_stacks_take(*state, TID, UINT32_MAX - 500 + i)), i);
}

static void many_stacks_and_many_launches_find_room(void **state)
{
	for (uint32_t i = 0; i < 100000; i++)
		put(*state, TID + i % 3, i, i % 5000);
	for (uint32_t i = 100000; i-- > 0;)
		assert_int_equal(leaf_of(*state, probe_stacks_take(*state, TID + i % 3, i)),
				 i % 5000);
	assert_int_equal(probe_stacks_waiting(*state), 0);
}

static void launches_that_never_come_make_room_in_the_end(void **state)
{
	for (uint32_t i = 0; i < PROBE_STACKS_WAITING_MAX + 1000; i++)
		put(*state, TID, i, 1);
	assert_int_equal(probe_stacks_waiting(*state), PROBE_STACKS_WAITING_MAX);
	for (uint32_t i = 1000; i < PROBE_STACKS_WAITING_MAX + 1000; i++)
		assert_int_equal(probe_stacks_take(*state, TID, i), 1);
	assert_int_equal(probe_stacks_take(*state, TID, 0), PROBE_STACKS_NONE);
	assert_int_equal(probe_stacks_take(*state, TID, 999), PROBE_STACKS_NONE);
}

/* A thread may be stopped between its probe and its launch, while others go on. */
static void a_stack_waits_while_others_come_and_go(void **state)
{
	put(*state, TID, 1, 10);
	for (uint32_t i = 0; i < 500000; i++) {
		put(*state, TID + 1, i, 20);
		assert_int_not_equal(probe_stacks_take(*state, TID + 1, i), PROBE_STACKS_NONE);
	}
	assert_int_equal(leaf_of(*state, probe_stacks_take(*state, TID, 1)), 10);
}

static void missing_frames_have_a_mark(void **state)
{
	uint64_t addresses[LAUNCH_EVENT_DEPTH] = {0};
	const uint64_t *words;
	uint32_t depth;

	assert_int_equal(probe_stacks_put(*state, TID, 1, addresses, 0, 1), 0);
	words = probe_stacks_words(*state, probe_stacks_take(*state, TID, 1), &depth);
	assert_int_equal(depth, 1);
	assert_int_equal(words[0], stack_word_mark(STACK_MARK_MISSING));

	for (uint32_t i = 0; i < LAUNCH_EVENT_DEPTH; i++)
		addresses[i] = 0x1000 + i;
	assert_int_equal(probe_stacks_put(*state, TID, 2, addresses, UINT32_MAX, 1), 0);
	words = probe_stacks_words(*state, probe_stacks_take(*state, TID, 2), &depth);
	assert_int_equal(depth, LAUNCH_EVENT_DEPTH + 1);
	assert_int_equal(words[depth - 2], 0x1000 + LAUNCH_EVENT_DEPTH - 1);
	assert_int_equal(words[depth - 1], stack_word_mark(STACK_MARK_TRUNCATED));
}

/* Where a frame pointer was none, the kernel reads what is there: never a mark, or a Python function. */
static void what_is_no_address_ends_the_stack(void **state)
{
	const uint64_t zero[] = {0x1000, 0x2000, 0, 0x3000};
	const uint64_t high[] = {0x1000, stack_word_python(1, 1), 0x3000};
	uint32_t depth;

	assert_int_equal(probe_stacks_put(*state, TID, 1, zero, 4, 1), 0);
	probe_stacks_words(*state, probe_stacks_take(*state, TID, 1), &depth);
	assert_int_equal(depth, 2);
	assert_int_equal(probe_stacks_put(*state, TID, 2, high, 3, 1), 0);
	probe_stacks_words(*state, probe_stacks_take(*state, TID, 2), &depth);
	assert_int_equal(depth, 1);
}

static void more_stacks_than_there_may_be_are_told_so(void **state)
{
	for (uint32_t i = 0; i < RECORD_STACKS_MAX; i++) {
		put(*state, TID, 1, i);
		assert_int_equal(probe_stacks_take(*state, TID, 1), i + 1);
	}
	put(*state, TID, 1, RECORD_STACKS_MAX);
	assert_int_equal(probe_stacks_take(*state, TID, 1), PROBE_STACKS_FULL);
	put(*state, TID, 1, 5);
	assert_int_equal(probe_stacks_take(*state, TID, 1), 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_launch_takes_its_own_stack_once),
		TEST(equal_stacks_have_one_number_while_the_mappings_stay),
		TEST(stacks_that_are_chosen_are_told_apart),
		TEST(an_id_that_comes_again_means_the_newer_stack),
		TEST(ids_may_wrap),
		TEST(many_stacks_and_many_launches_find_room),
		TEST(launches_that_never_come_make_room_in_the_end),
		TEST(a_stack_waits_while_others_come_and_go),
		TEST(missing_frames_have_a_mark),
		TEST(what_is_no_address_ends_the_stack),
		TEST(more_stacks_than_there_may_be_are_told_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
