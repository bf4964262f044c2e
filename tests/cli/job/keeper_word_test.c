#include "cli/job/keeper_word.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/job/end_budget.h"
#include "cli/job/node_members.h"

#include "tests/support/cmocka_test.h"

#define SECOND 1000000000ull

struct talk {
	int keeper, rank; /* the two ends */
	struct keeper_lives lives;
	uint64_t told_ns; /* the last */
	int nr_told;
};

static void set_up(struct talk *talk)
{
	int pair[2];

	*talk = (struct talk){.nr_told = 0};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	talk->keeper = pair[0];
	talk->rank = pair[1];
}

static void tear_down(struct talk *talk)
{
	close(talk->keeper);
	close(talk->rank);
}

static void say(const struct talk *talk, char word)
{
	assert_int_equal(send(talk->keeper, &word, 1, 0), 1);
}

static void say_lives(const struct talk *talk, uint64_t ran_ns, uint64_t nr_silent)
{
	const struct keeper_lives lives = {
		.word = KEEPER_WORD_LIVES, .nr_silent = nr_silent, .ran_ns = ran_ns};

	assert_int_equal(send(talk->keeper, &lives, sizeof(lives), 0), sizeof(lives));
}

static void note(void *context, uint64_t since_ns)
{
	struct talk *talk = context;

	talk->told_ns = since_ns;
	talk->nr_told++;
}

static char await(struct talk *talk, uint64_t ended_ns, bool failed)
{
	return keeper_word_await(talk->rank, ended_ns, failed, &talk->lives, note, talk);
}

/* Nobody writes and nobody closes, so a wait that ignored the time would not end. */
static void the_time_of_the_end_is_over_whatever_comes_later(void **state)
{
	const uint64_t ended_ns = clock_now_ns() - 10 * SECOND;
	struct talk talk;

	(void)state;
	set_up(&talk);
	assert_int_equal(await(&talk, ended_ns, false), KEEPER_WORD_NONE);
	say_lives(&talk, ended_ns - SECOND, 1);
	say_lives(&talk, ended_ns + SECOND, 3);
	assert_int_equal(await(&talk, ended_ns, false), KEEPER_WORD_LIVES);
	assert_int_equal(talk.lives.nr_silent, 3);
	assert_int_equal(talk.nr_told, 2);
	assert_int_equal(talk.told_ns, ended_ns + SECOND);
	say(&talk, KEEPER_WORD_WRITES);
	assert_int_equal(await(&talk, ended_ns, false), KEEPER_WORD_WRITES);
	tear_down(&talk);
}

static void words_that_wait_are_heard_though_the_time_is_over(void **state)
{
	const uint64_t ended_ns = clock_now_ns() - 10 * SECOND;
	struct talk talk;

	(void)state;
	set_up(&talk);
	say_lives(&talk, ended_ns, 1);
	say(&talk, KEEPER_WORD_WRITES);
	say(&talk, KEEPER_WORD_DONE);
	assert_int_equal(await(&talk, ended_ns, false), KEEPER_WORD_DONE);
	tear_down(&talk);
}

static void a_keeper_that_ends_without_a_word_is_told_apart(void **state)
{
	struct talk talk;

	(void)state;
	set_up(&talk);
	say_lives(&talk, clock_now_ns(), 1);
	shutdown(talk.keeper, SHUT_RDWR);
	assert_int_equal(await(&talk, clock_now_ns(), false), 0);
	tear_down(&talk);
	/* A node's process for such cases lives, and has no aggregator any more. */
	set_up(&talk);
	say(&talk, KEEPER_WORD_DECLINES);
	assert_int_equal(await(&talk, clock_now_ns(), false), 0);
	tear_down(&talk);
}

static void a_rank_that_failed_waits_for_no_others(void **state)
{
	const uint64_t ended_ns = clock_now_ns() - 10 * SECOND;
	struct talk talk;

	(void)state;
	set_up(&talk);
	say_lives(&talk, clock_now_ns() + 3600 * SECOND, 1);
	assert_int_equal(await(&talk, ended_ns, true), KEEPER_WORD_LIVES);
	assert_int_equal(talk.nr_told, 0);
	tear_down(&talk);
}

static void ranks_of_a_node_have_ended_when_the_last_one_has(void **state)
{
	struct member members[3] = {
		{.state = MEMBER_ANSWERED, .ended_ns = 30},
		{.state = MEMBER_RUNS},
		{.state = MEMBER_WAITS_FOR_ACK, .ended_ns = 20},
	};

	(void)state;
	assert_int_equal(node_members_ended_ns(members, 0), 0);
	assert_int_equal(node_members_ended_ns(members, 3), 0);
	members[1].leaves = true;
	assert_int_equal(node_members_ended_ns(members, 3), 30);
	assert_int_equal(node_members_staying(members, 3), 2);
	assert_int_equal(node_members_waits_since_ns(members, 3, 100), 30);
	/* a time in the future is no end, and nobody may have told one */
	assert_int_equal(node_members_waits_since_ns(members, 3, 10), 10);
	assert_int_equal(node_members_waits_since_ns(members + 1, 1, 100), 100);
}

/* What is said to the error stream. */
static void said(char last, const struct keeper_lives *lives, char text[static 1024])
{
	const int errors = dup(STDERR_FILENO);
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	keeper_word_say_left(last, lives, true);
	assert_true(dup2(errors, STDERR_FILENO) >= 0);
	close(errors);
	close(ends[1]);
	const ssize_t size = read(ends[0], text, 1023);
	close(ends[0]);
	assert_true(size >= 0);
	text[size] = '\0';
}

static void only_nodes_that_are_missing_are_called_so(void **state)
{
	struct keeper_lives lives = {.word = KEEPER_WORD_LIVES, .nr_agents = 2};
	char text[1024];

	(void)state;
	said(KEEPER_WORD_LIVES, &lives, text);
	assert_non_null(strstr(text, "it waits for other blocks of nodes"));
	assert_null(strstr(text, "goodbye"));
	assert_null(strstr(text, "these nodes"));
	lives.nr_silent = 1;
	said(KEEPER_WORD_LIVES, &lives, text);
	assert_non_null(strstr(text, "1 node did not say goodbye"));
	assert_non_null(strstr(text, "it waits for these nodes"));
	said(KEEPER_WORD_DONE, &lives, text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_of_the_end_is_over_whatever_comes_later),
		cmocka_unit_test(words_that_wait_are_heard_though_the_time_is_over),
		cmocka_unit_test(a_keeper_that_ends_without_a_word_is_told_apart),
		cmocka_unit_test(a_rank_that_failed_waits_for_no_others),
		cmocka_unit_test(ranks_of_a_node_have_ended_when_the_last_one_has),
		cmocka_unit_test(only_nodes_that_are_missing_are_called_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
