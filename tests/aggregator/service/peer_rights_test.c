#include "aggregator/service/peer_rights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct message_text text(const char *text)
{
	return (struct message_text){text, (uint32_t)strlen(text)};
}

static struct message hello(const char *user, const char *key)
{
	return (struct message){.type = MESSAGE_HELLO,
				.hello.job = {.user = text(user), .key = text(key)}};
}

static struct message command(enum control_kind kind, const char *user, const char *key)
{
	return (struct message){
		.type = MESSAGE_CONTROL,
		.control = {.kind = kind, .job_user = text(user), .job_key = text(key)}};
}

static struct message fetch(enum fetch_kind kind, const char *user, const char *name)
{
	return (struct message){.type = MESSAGE_FETCH,
				.fetch = {.kind = kind, .user = text(user), .name = text(name)}};
}

static void expect(const struct peer *peer, struct message message, enum peer_right right)
{
	assert_int_equal(peer_rights_look(peer, &message), right);
}

static void the_agents_key_may_say_everything(void **state)
{
	const struct peer peer = {.user = ""};

	(void)state;
	expect(&peer, hello("alice", "1"), PEER_RIGHT_SAY);
	expect(&peer, hello("", ""), PEER_RIGHT_SAY);
	expect(&peer, command(CONTROL_ASK, "alice", "1"), PEER_RIGHT_SAY);
	expect(&peer, command(CONTROL_ASK, "", ""), PEER_RIGHT_SAY);
	expect(&peer, fetch(FETCH_LIST, "alice", ""), PEER_RIGHT_SAY);
	expect(&peer, fetch(FETCH_READ, "", "1"), PEER_RIGHT_SAY);
	expect(&peer, (struct message){.type = MESSAGE_CLOCK}, PEER_RIGHT_SAY);
}

static void a_user_reads_that_users_jobs_alone(void **state)
{
	const struct peer peer = {.user = "alice"};

	(void)state;
	expect(&peer, fetch(FETCH_LIST, "alice", ""), PEER_RIGHT_SAY);
	expect(&peer, fetch(FETCH_READ, "alice", "bob-1"), PEER_RIGHT_SAY); /* its mark decides */
	expect(&peer, fetch(FETCH_LIST, "bob", ""), PEER_RIGHT_DENIED);
	expect(&peer, fetch(FETCH_READ, "bob", "alice-1"), PEER_RIGHT_DENIED);
	expect(&peer, fetch(FETCH_LIST, "", ""), PEER_RIGHT_DENIED);
	expect(&peer, fetch(FETCH_READ, "alic", "alice-1"), PEER_RIGHT_DENIED);
	expect(&peer, fetch(FETCH_READ, "alicea", "alice-1"), PEER_RIGHT_DENIED);
}

static void a_users_key_is_for_that_users_jobs(void **state)
{
	const struct peer peer = {.user = "alice"};

	(void)state;
	expect(&peer, hello("alice", "1"), PEER_RIGHT_SAY);
	expect(&peer, hello("bob", "1"), PEER_RIGHT_DENIED);
	expect(&peer, hello("alic", "1"), PEER_RIGHT_DENIED);
	expect(&peer, hello("alicea", "1"), PEER_RIGHT_DENIED);
	expect(&peer, hello("alice", ""), PEER_RIGHT_DENIED);
	expect(&peer, hello("", ""), PEER_RIGHT_DENIED);
}

static void a_users_commands_are_for_that_users_jobs(void **state)
{
	const struct peer peer = {.user = "alice"};

	(void)state;
	expect(&peer, command(CONTROL_ASK, "alice", "1"), PEER_RIGHT_SAY);
	expect(&peer, command(CONTROL_ASK, "bob", "1"), PEER_RIGHT_DENIED);
	expect(&peer, command(CONTROL_ASK, "alice", ""), PEER_RIGHT_DENIED);
}

static void before_hello_nothing_counts_for_another_profile(void **state)
{
	struct agent_session *some = (struct agent_session *)(uintptr_t)1; /* never read */
	struct peer peer = {.user = "alice"};

	(void)state;
	expect(&peer, (struct message){.type = MESSAGE_CLOCK}, PEER_RIGHT_NOT_YET);
	expect(&peer, command(CONTROL_TAKEN, "", ""), PEER_RIGHT_NOT_YET);
	expect(&peer, (struct message){.type = MESSAGE_PING}, PEER_RIGHT_SAY);
	expect(&peer, (struct message){.type = MESSAGE_EVENTS}, PEER_RIGHT_SAY);
	peer.session = some;
	expect(&peer, (struct message){.type = MESSAGE_CLOCK}, PEER_RIGHT_SAY);
	expect(&peer, command(CONTROL_ASK, "", ""), PEER_RIGHT_SAY);
	expect(&peer, command(CONTROL_TAKEN, "", ""), PEER_RIGHT_SAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_agents_key_may_say_everything),
		cmocka_unit_test(a_users_key_is_for_that_users_jobs),
		cmocka_unit_test(a_user_reads_that_users_jobs_alone),
		cmocka_unit_test(a_users_commands_are_for_that_users_jobs),
		cmocka_unit_test(before_hello_nothing_counts_for_another_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
