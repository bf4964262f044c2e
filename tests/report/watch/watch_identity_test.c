#include "report/watch/watch_identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RANKS 4u

static struct report_straggler_rank ranks[RANKS];
static struct report_straggler_member members[RANKS];
static const struct report_straggler straggler = {.ranks = ranks, .nr_ranks = RANKS};
static const struct report_straggler_communicator on = {.members = members};

static int set_up(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++) {
		ranks[i] = (struct report_straggler_rank){
			.rank = (int32_t)i, .pid = 100 + i, .host = "node01", .job = ""};
		members[i] = (struct report_straggler_member){.of_rank = i};
	}
	return 0;
}

static uint64_t of_member(uint32_t member)
{
	return watch_identity_ranks(&straggler, &on, &member, 1);
}

static void a_rank_that_starts_again_elsewhere_is_the_same(void **state)
{
	const uint64_t before = of_member(2);

	(void)state;
	ranks[2].pid = 7000;
	ranks[2].host = "node02";
	assert_true(of_member(2) == before);
	assert_true(of_member(1) != before);
}

static void ranks_of_two_jobs_are_two(void **state)
{
	const uint64_t before = of_member(2);

	(void)state;
	ranks[2].job = "4711";
	assert_true(of_member(2) != before);
}

static void processes_without_a_number_are_told_apart_by_host_and_pid(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++)
		ranks[i].rank = -1;
	const uint64_t first = of_member(0);
	assert_true(of_member(1) != first);
	ranks[0].host = "node02";
	assert_true(of_member(0) != first);
}

static void the_order_of_a_group_is_of_no_account(void **state)
{
	static const uint32_t there[] = {0, 1, 3}, back[] = {3, 0, 1}, others[] = {0, 1, 2};

	(void)state;
	assert_true(watch_identity_ranks(&straggler, &on, there, 3) ==
		    watch_identity_ranks(&straggler, &on, back, 3));
	assert_true(watch_identity_ranks(&straggler, &on, there, 3) !=
		    watch_identity_ranks(&straggler, &on, others, 3));
	assert_true(watch_identity_ranks(&straggler, &on, there, 2) != of_member(0));
}

static void links_are_told_apart_by_their_keys(void **state)
{
	(void)state;
	assert_true(watch_identity_link(1) == watch_identity_link(1));
	assert_true(watch_identity_link(1) != watch_identity_link(2));
	assert_true(watch_identity_link(1) != of_member(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_rank_that_starts_again_elsewhere_is_the_same, set_up),
		cmocka_unit_test_setup(ranks_of_two_jobs_are_two, set_up),
		cmocka_unit_test_setup(processes_without_a_number_are_told_apart_by_host_and_pid,
				       set_up),
		cmocka_unit_test_setup(the_order_of_a_group_is_of_no_account, set_up),
		cmocka_unit_test_setup(links_are_told_apart_by_their_keys, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
