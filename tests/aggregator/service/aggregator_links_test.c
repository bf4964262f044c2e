/* Links of nodes that fold their own events, and the aggregator that keeps their profiles. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/core/raw_budget.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/clock_log.h"
#include "aggregator/profile/collection.h"
#include "aggregator/service/ack_sender.h"
#include "aggregator/service/node_profiles.h"
#include "aggregator_fixture.h"
#include "base/clock.h"
#include "report/profile/profile.h"
#include "tests/aggregator/pages/pages_text.h"

#define NR_SHARING 16u /* links whose shares are less than what any agent may send */

static void say(struct test_agent *link, const struct message *message)
{
	struct scenario_frame frame = scenario_encode(message);

	test_agent_send(link, &frame);
	free(frame.bytes);
}

/* Epochs from 100 on are of one node, each lower one of a node of its own. */
static void say_hello(struct test_agent *link, uint8_t epoch, uint32_t version)
{
	char node[8];

	snprintf(node, sizeof(node), "node%02u", epoch < 100 ? epoch : 0u);
	const struct message message = {.type = MESSAGE_HELLO,
					.hello = {.version_min = version,
						  .version_max = version,
						  .epoch = {epoch},
						  .software = {"flamegrid test", 14},
						  .node = {node, 6},
						  .boot_id = {"a boot", 6},
						  .job = {.nr_nodes = -1, .world_size = -1},
						  .folds = true}};

	say(link, &message);
}

/* Returns the durable number that WELCOME tells. */
static uint64_t greet(struct test_agent *link, uint8_t epoch)
{
	say_hello(link, epoch, WIRE_VERSION_FOLDS);
	const struct message *welcome = test_agent_expect(link, MESSAGE_WELCOME);
	assert_int_equal(welcome->welcome.version, WIRE_VERSION_FOLDS);
	return welcome->welcome.durable_seq;
}

static void say_pages(struct test_agent *link, uint64_t seq, uint8_t writer, uint64_t round,
		      const char *text)
{
	struct pages_text pages;
	struct message message = {.type = MESSAGE_PAGES};

	pages_text_make(&pages, writer, round, text);
	message.pages = pages.pages;
	message.pages.seq = seq;
	say(link, &message);
}

static void say_bye(struct test_agent *link, uint64_t seq)
{
	say(link, &(struct message){.type = MESSAGE_BYE, .bye.seq = seq});
}

static void assert_refused(struct test_agent *link, enum refuse_code code)
{
	assert_int_equal(test_agent_expect(link, MESSAGE_REFUSE)->refuse.code, code);
}

static struct test_agent *connect_link(struct aggregator_fixture *fixture, uint8_t epoch)
{
	struct test_agent *link = aggregator_fixture_connect(fixture);

	assert_int_equal(greet(link, epoch), 0);
	return link;
}

static void start(struct aggregator_fixture *fixture)
{
	fixture->takes_links = true;
	aggregator_fixture_start(fixture);
}

static void stop_and_expect(struct aggregator_fixture *fixture, uint32_t nr_writers,
			    const char *first)
{
	char text[PAGES_TEXT_SIZE];
	struct page_set *set;

	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_int_equal(page_set_load(fixture->nodes_path, &set), 0);
	assert_int_equal(page_set_writers(set), nr_writers);
	pages_text_of(set, 0, text);
	assert_string_equal(text, first);
	page_set_destroy(set);
}

static void rounds_are_acknowledged_and_lie_in_the_file_at_the_end(void **state)
{
	struct aggregator_fixture *fixture = *state;

	start(fixture);
	struct test_agent *link = connect_link(fixture, 1);
	struct test_agent *other = connect_link(fixture, 2);
	say_pages(link, 1, 7, 1, "0.0=abc 0.1=d");
	say_pages(link, 2, 7, 1, "3.0=e |0:2 |3:1");
	test_agent_expect_ack(link, 2);
	say_pages(other, 1, 8, 1, "0.0=other |0:1");
	say_pages(link, 3, 7, 2, "0.1=D |0:2 |3:1");
	say_pages(link, 4, 7, 3, "0.0=half");
	test_agent_expect_ack(other, 1);
	say_bye(link, 5);
	test_agent_expect_ack(link, 5);
	test_agent_close(link);
	test_agent_close(other);
	stop_and_expect(fixture, 2, "0.0=abc 0.1=D 3.0=e");
}

/* Whether WELCOME tells the node of an agent, whose epoch begins with that byte, to fold. */
static bool is_to_fold(struct test_agent *agent, uint8_t epoch, bool offers)
{
	const struct message hello = {.type = MESSAGE_HELLO,
				      .hello = {.version_min = WIRE_VERSION,
						.version_max = WIRE_VERSION,
						.epoch = {epoch, 1},
						.node = {"node", 4},
						.boot_id = {"a boot", 6},
						.job = {.nr_nodes = -1, .world_size = -1},
						.offers = offers}};

	say(agent, &hello);
	return test_agent_expect(agent, MESSAGE_WELCOME)->welcome.folds;
}

static void offers_are_taken_when_enough_agents_send(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct test_agent *agents[RAW_BUDGET_AGENTS];

	start(fixture);
	struct test_agent *link = connect_link(fixture, 1),
			  *other = aggregator_fixture_connect(fixture);
	for (uint8_t i = 0; i < RAW_BUDGET_AGENTS; i++) {
		agents[i] = aggregator_fixture_connect(fixture);
		assert_false(is_to_fold(agents[i], i, true));
	}
	assert_true(is_to_fold(other, 200, true)); /* the others are awaited */
	for (uint8_t i = 0; i < RAW_BUDGET_AGENTS; i++)
		assert_false(is_to_fold(agents[i], i, false));
	assert_true(is_to_fold(other, 201, true));
	assert_false(is_to_fold(agents[3], 3, true)); /* it sends already */
	say_bye(agents[3], 1);
	test_agent_expect_ack(agents[3], 1);
	assert_false(is_to_fold(other, 202, true)); /* it has the free place */
	assert_true(is_to_fold(agents[3], 203, true));
	assert_false(is_to_fold(agents[3], 203, false)); /* its node has no place for a profile */
	for (uint8_t i = 0; i < RAW_BUDGET_AGENTS; i++)
		test_agent_close(agents[i]);
	test_agent_close(link);
	test_agent_close(other);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

/* The answer to an offer may come too late: the node folds, and its profile has the epoch that was told to send. */
static void an_offer_alone_leaves_nothing(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct profile *profile;

	start(fixture);
	struct test_agent *late = aggregator_fixture_connect(fixture),
			  *other = aggregator_fixture_connect(fixture);
	assert_false(is_to_fold(late, 7, true));
	assert_false(is_to_fold(late, 7, true)); /* it had no answer */
	assert_false(is_to_fold(other, 8, true));
	assert_false(is_to_fold(other, 8, false));
	test_agent_close(late);
	test_agent_close(other);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_int_equal(profile_load(fixture->path, &profile, NULL), 0);
	assert_int_equal(profile->collection->nr_sessions, 1);
	assert_int_equal(profile->collection->sessions[0]->epoch[0], 8);
	profile_destroy(profile);
}

static void an_aggregator_that_takes_no_links_takes_no_offers(void **state)
{
	struct aggregator_fixture *fixture = *state;

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	for (uint8_t i = 0; i < RAW_BUDGET_AGENTS + 2; i++)
		assert_false(is_to_fold(agent, i, true));
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

/* WELCOME tells the share before any link has sent a page, and ACKs tell it anew. */
static void links_are_told_their_share_of_the_bytes(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct test_agent *links[NR_SHARING];

	start(fixture);
	for (uint32_t i = 0; i < NR_SHARING; i++) {
		const uint64_t share = node_profiles_round_bytes(i + 1);

		links[i] = aggregator_fixture_connect(fixture);
		say_hello(links[i], (uint8_t)(i + 1), WIRE_VERSION_FOLDS);
		assert_int_equal(test_agent_expect(links[i], MESSAGE_WELCOME)->welcome.window_bytes,
				 share < ACK_SENDER_BYTES ? share : ACK_SENDER_BYTES);
	}
	say_pages(links[0], 1, 7, 1, "0.0=a |0:1");
	const struct message *ack = test_agent_expect(links[0], MESSAGE_ACK);
	assert_int_equal(ack->ack.seq, 1);
	assert_int_equal(ack->ack.window_bytes, node_profiles_round_bytes(NR_SHARING));
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	struct scenario_frame hello = scenario_encode(&(struct message){
		.type = MESSAGE_HELLO,
		.hello = {.version_min = WIRE_VERSION,
			  .version_max = WIRE_VERSION,
			  .epoch = {200},
			  .job = {.nr_nodes = -1, .world_size = -1}},
	});
	test_agent_send(agent, &hello);
	free(hello.bytes);
	assert_int_equal(test_agent_expect(agent, MESSAGE_WELCOME)->welcome.window_bytes,
			 ACK_SENDER_BYTES);
	test_agent_close(agent);
	for (uint32_t i = 0; i < NR_SHARING; i++)
		test_agent_close(links[i]);
	stop_and_expect(fixture, 1, "0.0=a");
}

static void a_message_that_comes_again_after_a_reconnect_counts_once(void **state)
{
	struct aggregator_fixture *fixture = *state;

	start(fixture);
	struct test_agent *link = connect_link(fixture, 1);
	say_pages(link, 1, 7, 1, "0.0=a/3");
	say_pages(link, 2, 7, 1, "0.0=.b/3");
	test_agent_expect_ack(link, 2);
	test_agent_close(link);
	link = aggregator_fixture_connect(fixture);
	assert_int_equal(greet(link, 1), 2);
	say_pages(link, 2, 7, 1, "0.0=.b/3");
	say_pages(link, 4, 7, 1, "|0:1");
	assert_refused(link, REFUSE_SEQUENCE);
	say_pages(link, 3, 7, 1, "0.0=..c/3 |0:1");
	test_agent_expect_ack(link, 3);
	test_agent_close(link);
	stop_and_expect(fixture, 1, "0.0=abc");
}

/* It is killed before its first save, or some time after it. */
static void the_aggregator_after_a_killed_one_gets_all_pages_anew(void **state)
{
	struct aggregator_fixture *fixture = *state;

	for (uint32_t has_file = 0; has_file < 2; has_file++) {
		start(fixture);
		struct test_agent *link = connect_link(fixture, 1);
		say_pages(link, 1, 7, 1, "0.0=a 0.1=b |0:2");
		test_agent_expect_ack(link, 1);
		test_agent_close(link);
		stop_and_expect(fixture, 1, "0.0=a 0.1=b");
		if (!has_file)
			unlink(fixture->nodes_path);

		start(fixture);
		link = connect_link(fixture, 1); /* nothing of this epoch is known */
		test_agent_close(link);
		link = connect_link(fixture, 2);
		say_pages(link, 1, 7, 5, "0.0=A 0.1=b 0.2=c |0:3");
		say_bye(link, 2);
		test_agent_expect_ack(link, 2);
		test_agent_close(link);
		stop_and_expect(fixture, 1, "0.0=A 0.1=b 0.2=c");
		unlink(fixture->nodes_path);
	}
}

static void a_later_link_of_a_profile_ends_the_earlier_one(void **state)
{
	struct aggregator_fixture *fixture = *state;

	start(fixture);
	struct test_agent *old = connect_link(fixture, 1), *new = connect_link(fixture, 2);
	say_pages(old, 1, 7, 1, "0.0=a |0:1");
	say_pages(old, 2, 7, 2, "0.0=half");
	test_agent_expect_ack(old, 2);
	say_pages(new, 1, 7, 2, "0.0=A |0:1");
	test_agent_expect_ack(new, 1);
	assert_refused(old, REFUSE_SUPERSEDED);
	say_pages(old, 3, 7, 2, "0.1=b |0:2");
	assert_refused(old, REFUSE_NO_HELLO);
	say_hello(old, 1, WIRE_VERSION_FOLDS);
	assert_refused(old, REFUSE_SUPERSEDED);
	test_agent_close(old);
	test_agent_close(new);
	stop_and_expect(fixture, 1, "0.0=A");
}

static void messages_that_cannot_be_are_refused_and_change_nothing(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message strings = {.type = MESSAGE_STRINGS, .strings.seq = 2};

	start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, &fixture->scenarios[0]);
	say_pages(agent, 1, 7, 1, "0.0=agent |0:1");
	assert_refused(agent, REFUSE_MALFORMED);
	struct test_agent *link = aggregator_fixture_connect(fixture);
	say_pages(link, 1, 7, 1, "0.0=a |0:1");
	assert_refused(link, REFUSE_NO_HELLO);
	assert_int_equal(greet(link, 1), 0);
	say_pages(link, 1, 7, 1, "0.0=a |0:1");
	say(link, &strings);
	assert_refused(link, REFUSE_MALFORMED);
	say_pages(link, 2, 8, 2, "0.0=other |0:1");
	assert_refused(link, REFUSE_MALFORMED);
	say_pages(link, 2, 7, 1, "0.0=again |0:1");
	assert_refused(link, REFUSE_MALFORMED);
	say_pages(link, 2, 7, 2, "0.1=b |0:3");
	assert_refused(link, REFUSE_MALFORMED);
	say_pages(link, 2, 7, 2, "0.1=b |0:2");
	say_bye(link, 3);
	test_agent_expect_ack(link, 3);
	say_pages(link, 4, 7, 3, "0.0=late |0:1");
	assert_refused(link, REFUSE_MALFORMED);
	test_agent_close(link);
	test_agent_close(agent);
	stop_and_expect(fixture, 1, "0.0=a 0.1=b");
}

static void an_aggregator_that_takes_no_links_says_so(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char jobs[128];

	snprintf(jobs, sizeof(jobs), "%s/jobs", fixture->folder);
	for (uint32_t has_jobs = 0; has_jobs < 2; has_jobs++) {
		fixture->jobs_path = has_jobs ? jobs : NULL;
		fixture->takes_links = has_jobs;
		aggregator_fixture_start(fixture);
		struct test_agent *link = aggregator_fixture_connect(fixture);
		say_hello(link, 1, WIRE_VERSION_FOLDS);
		const struct message *refuse = test_agent_expect(link, MESSAGE_REFUSE);
		assert_int_equal(refuse->refuse.code, REFUSE_UNDEFINED);
		assert_non_null(
			strstr(refuse->refuse.reason.data, "takes no profiles that nodes fold"));
		test_agent_close(link);
		assert_int_equal(aggregator_fixture_stop(fixture), 0);
	}
	rmdir(jobs);
}

/* As an aggregator does that does not know PAGES: it looks at the versions alone. */
static void a_link_offers_no_version_of_before_there_were_links(void **state)
{
	struct aggregator_fixture *fixture = *state;

	start(fixture);
	struct test_agent *link = aggregator_fixture_connect(fixture);
	say_hello(link, 1, WIRE_VERSION);
	assert_refused(link, REFUSE_VERSION);
	test_agent_close(link);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_int_equal(access(fixture->nodes_path, F_OK), -1);
}

static void await_status(const struct aggregator_fixture *fixture, uint64_t agents,
			 uint64_t connected)
{
	struct aggregator_status status;

	do
		aggregator_status(fixture->aggregator, &status);
	while ((status.agents != agents || status.agents_connected != connected) &&
	       sched_yield() == 0);
	assert_int_equal(status.agents_silent, 0);
}

static void links_count_as_agents(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct aggregator_status status;

	start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, &fixture->scenarios[0]);
	struct test_agent *link = connect_link(fixture, 1);
	await_status(fixture, 2, 2);
	say_pages(link, 1, 7, 1, "0.0=a |0:1");
	test_agent_expect_ack(link, 1);
	test_agent_close(agent);
	test_agent_close(link);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	/* Both are awaited by the next aggregator, before it hears anything. */
	start(fixture);
	aggregator_status(fixture->aggregator, &status);
	assert_int_equal(status.agents, 2);
	link = connect_link(fixture, 2);
	say_pages(link, 1, 7, 2, "0.0=a |0:1");
	say_bye(link, 2);
	test_agent_expect_ack(link, 2);
	await_status(fixture, 2, 1);
	test_agent_close(link);
	stop_and_expect(fixture, 1, "0.0=a");
}

/* Of a node whose ranks have ended the end counts, and not what its link still says. */
static void the_end_of_ranks_is_known(void **state)
{
	const struct message ended = {.type = MESSAGE_PING,
				      .ping = {.token = 1, .ended_ms = 60000}};
	const struct message run = {.type = MESSAGE_PING, .ping.token = 2};
	const uint64_t began_ns = clock_now_ns();
	struct aggregator_fixture *fixture = *state;
	struct aggregator_status status;

	start(fixture);
	struct test_agent *link = connect_link(fixture, 1);
	await_status(fixture, 1, 1);
	aggregator_status(fixture->aggregator, &status);
	assert_true(status.ranks_ns >= began_ns);
	say(link, &ended);
	test_agent_expect(link, MESSAGE_PONG);
	say_pages(link, 1, 7, 1, "0.0=a");
	test_agent_expect_ack(link, 1);
	do
		aggregator_status(fixture->aggregator, &status);
	while (status.ranks_ns >= began_ns && sched_yield() == 0);
	/* another rank comes on that node */
	say(link, &run);
	do
		aggregator_status(fixture->aggregator, &status);
	while (status.ranks_ns < began_ns && sched_yield() == 0);
	test_agent_close(link);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

/* As it does when the aggregator that knew its epoch was killed. */
static void a_link_that_begins_anew_is_not_awaited_twice(void **state)
{
	struct aggregator_fixture *fixture = *state;

	start(fixture);
	struct test_agent *link = connect_link(fixture, 100), *other = connect_link(fixture, 1);
	struct test_agent *anew = connect_link(fixture, 101);
	assert_refused(link, REFUSE_SUPERSEDED);
	await_status(fixture, 2, 2);
	say_pages(anew, 1, 7, 1, "0.0=a |0:1");
	say_bye(anew, 2);
	test_agent_expect_ack(anew, 2);
	await_status(fixture, 2, 1);
	test_agent_close(link);
	test_agent_close(anew);
	test_agent_close(other);
	stop_and_expect(fixture, 1, "0.0=a");
}

/* No page has the name of the second node, and two links are of the third one. */
static void the_profile_knows_how_many_nodes_have_come(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct profile *profile;

	start(fixture);
	struct test_agent *link = connect_link(fixture, 1);
	struct test_agent *silent = connect_link(fixture, 2);
	struct test_agent *one = connect_link(fixture, 100);
	say_pages(link, 1, 7, 1, "0.0=abc |0:1");
	test_agent_expect_ack(link, 1);
	say_pages(one, 1, 8, 1, "0.0=one |0:1");
	test_agent_expect_ack(one, 1);
	struct test_agent *two = connect_link(fixture, 101);
	test_agent_close(link);
	test_agent_close(silent);
	test_agent_close(one);
	test_agent_close(two);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_int_equal(profile_load(fixture->path, &profile, NULL), 0);
	assert_int_equal(profile->nr_nodes, 3);
	profile_destroy(profile);
}

static void commands_go_to_links_and_their_clocks_are_kept(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message command = {.type = MESSAGE_CONTROL,
					.control = {.kind = CONTROL_ASK, .token = 7, .action = 1}};
	const struct message taken = {.type = MESSAGE_CONTROL,
				      .control = {.kind = CONTROL_TAKEN,
						  .token = 7,
						  .state = CONTROL_IN_TIME,
						  .nr_processes = 4}};
	const struct message result = {.type = MESSAGE_CLOCK,
				       .clock = {.kind = CLOCK_RESULT,
						 .t1_ns = 500000000000,
						 .realtime_offset_ns = 1732213912000000000ll,
						 .offset_ns = -5000000000,
						 .bound_ns = 45100,
						 .round_trip_ns = 90200}};
	struct profile *profile;

	start(fixture);
	struct test_agent *link = connect_link(fixture, 1);
	struct test_agent *asker = aggregator_fixture_connect(fixture);
	say(asker, &command);
	assert_int_equal(test_agent_expect(link, MESSAGE_CONTROL)->control.kind, CONTROL_ORDER);
	assert_int_equal(test_agent_expect(asker, MESSAGE_CONTROL)->control.nr_agents, 1);
	say(link, &result);
	say(link, &taken);
	say_pages(link, 1, 7, 1, "0.0=a |0:1");
	test_agent_expect_ack(link, 1);
	say(asker, &command);
	const struct message_control *answer = &test_agent_expect(asker, MESSAGE_CONTROL)->control;
	assert_int_equal(answer->nr_agents, 1);
	assert_int_equal(answer->agents[0].state, CONTROL_IN_TIME);
	assert_int_equal(answer->agents[0].nr_processes, 4);
	assert_int_equal(answer->agents[0].node.size, 6);
	struct test_agent *later = connect_link(fixture, 2);
	assert_int_equal(test_agent_expect(later, MESSAGE_CONTROL)->control.token, 7);
	test_agent_close(link);
	test_agent_close(later);
	test_agent_close(asker);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_int_equal(profile_load(fixture->path, &profile, NULL), 0);
	assert_int_equal(profile->collection->nr_sessions, 0);
	uint32_t count;
	const struct clock_offset *offsets = clock_log_offsets(profile->collection->clocks, &count);
	assert_int_equal(count, 1);
	assert_int_equal(offsets[0].host, 1);
	assert_int_equal(offsets[0].offset_ns, -5000000000);
	profile_destroy(profile);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, aggregator_fixture_set_up,                           \
					aggregator_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rounds_are_acknowledged_and_lie_in_the_file_at_the_end),
		TEST(offers_are_taken_when_enough_agents_send),
		TEST(an_offer_alone_leaves_nothing),
		TEST(an_aggregator_that_takes_no_links_takes_no_offers),
		TEST(links_are_told_their_share_of_the_bytes),
		TEST(a_message_that_comes_again_after_a_reconnect_counts_once),
		TEST(the_aggregator_after_a_killed_one_gets_all_pages_anew),
		TEST(a_later_link_of_a_profile_ends_the_earlier_one),
		TEST(messages_that_cannot_be_are_refused_and_change_nothing),
		TEST(an_aggregator_that_takes_no_links_says_so),
		TEST(a_link_offers_no_version_of_before_there_were_links),
		TEST(links_count_as_agents),
		TEST(the_end_of_ranks_is_known),
		TEST(a_link_that_begins_anew_is_not_awaited_twice),
		TEST(the_profile_knows_how_many_nodes_have_come),
		TEST(commands_go_to_links_and_their_clocks_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
