#include "aggregator/service/aggregator.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "aggregator_fixture.h"

static void a_hello_is_welcomed_and_a_goodbye_acknowledged(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct aggregator_status status;

	aggregator_fixture_start(fixture);
	aggregator_fixture_play(fixture, &fixture->scenarios[0]);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	assert_int_equal(test_agent_hello(agent, &fixture->scenarios[0]),
			 fixture->scenarios[0].nr_frames);
	aggregator_status(fixture->aggregator, &status);
	assert_int_equal(status.agents, 1);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

/* The beginning of an agent's life. */
static struct test_agent *send_nine(struct aggregator_fixture *fixture)
{
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, &fixture->scenarios[0]);
	aggregator_fixture_send(agent, &fixture->scenarios[0], 1, 9);
	test_agent_expect_ack(agent, 9);
	return agent;
}

static void status_counts_what_came(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct aggregator_status status;

	aggregator_fixture_start(fixture);
	struct test_agent *agent = send_nine(fixture);
	/* The status is published at the end of a turn: one more turn, and it is. */
	test_agent_hello(agent, &fixture->scenarios[0]);
	test_agent_hello(agent, &fixture->scenarios[0]);
	aggregator_status(fixture->aggregator, &status);
	assert_int_equal(status.agents, 1);
	assert_int_equal(status.agents_connected, 1);
	assert_true(status.launches > 0 && status.records > 0);
	assert_true(status.commits > 0);
	assert_int_equal(status.bad_frames, 0);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

/* Whoever waits for goodbyes must not take the first look for the last. */
static void agents_of_a_store_that_was_left_open_are_awaited_from_the_start(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct aggregator_status status;

	aggregator_fixture_start(fixture);
	struct test_agent *agent = send_nine(fixture);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_start(fixture);
	aggregator_status(fixture->aggregator, &status);
	assert_int_equal(status.agents, 1);
	assert_int_equal(status.agents_connected, 1);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void a_frame_that_comes_twice_counts_once(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	const struct scenario *scenario = &fixture->scenarios[0];

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, scenario);
	for (uint64_t seq = 1; seq <= scenario->nr_frames; seq++) {
		aggregator_fixture_send(agent, scenario, seq, seq);
		aggregator_fixture_send(agent, scenario, seq > 3 ? seq - 3 : 1, seq);
	}
	test_agent_expect_ack(agent, scenario->nr_frames);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_assert_report(fixture, expected);
}

static void a_duplicate_is_acknowledged_again(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct scenario *scenario = &fixture->scenarios[0];

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, scenario);
	aggregator_fixture_send(agent, scenario, 1, 4);
	test_agent_expect_ack(agent, 4);
	aggregator_fixture_send(agent, scenario, 2, 2);
	test_agent_expect_ack(agent, 4);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void a_gap_is_refused_and_filled(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	const struct scenario *scenario = &fixture->scenarios[0];

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, scenario);
	aggregator_fixture_send(agent, scenario, 1, 3);
	aggregator_fixture_send(agent, scenario, 5, 8);
	assert_int_equal(test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code, REFUSE_SEQUENCE);
	aggregator_fixture_send(agent, scenario, 4, scenario->nr_frames);
	test_agent_expect_ack(agent, scenario->nr_frames);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_assert_report(fixture, expected);
}

static void two_agents_at_once_do_not_disturb_each_other(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 2);
	struct test_agent *agents[AGGREGATOR_FIXTURE_SCENARIOS];

	aggregator_fixture_start(fixture);
	for (uint32_t i = 0; i < AGGREGATOR_FIXTURE_SCENARIOS; i++) {
		agents[i] = aggregator_fixture_connect(fixture);
		test_agent_hello(agents[i], &fixture->scenarios[i]);
	}
	for (uint64_t seq = 1; seq <= fixture->scenarios[0].nr_frames; seq++)
		for (uint32_t i = 0; i < AGGREGATOR_FIXTURE_SCENARIOS; i++)
			aggregator_fixture_send(agents[i], &fixture->scenarios[i], seq, seq);
	for (uint32_t i = 0; i < AGGREGATOR_FIXTURE_SCENARIOS; i++) {
		test_agent_expect_ack(agents[i], fixture->scenarios[i].nr_frames);
		test_agent_close(agents[i]);
	}
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_assert_report(fixture, expected);
}

static void a_restart_at_every_sequence_number_changes_nothing(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 2);
	const struct scenario *scenario = &fixture->scenarios[0];

	aggregator_fixture_start(fixture);
	aggregator_fixture_play(fixture, &fixture->scenarios[1]);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	for (uint64_t seq = 1; seq <= scenario->nr_frames; seq++) {
		aggregator_fixture_start(fixture);
		struct test_agent *agent = aggregator_fixture_connect(fixture);
		assert_int_equal(test_agent_hello(agent, scenario), seq - 1);
		aggregator_fixture_send(agent, scenario, seq, seq);
		test_agent_expect_ack(agent, seq);
		test_agent_close(agent);
		assert_int_equal(aggregator_fixture_stop(fixture), 0);
	}
	aggregator_fixture_assert_report(fixture, expected);
}

static void a_new_connection_of_an_agent_takes_over(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	const struct scenario *scenario = &fixture->scenarios[0];

	aggregator_fixture_start(fixture);
	struct test_agent *old = aggregator_fixture_connect(fixture);
	test_agent_hello(old, scenario);
	aggregator_fixture_send(old, scenario, 1, 6);
	test_agent_expect_ack(old, 6);
	struct test_agent *new = aggregator_fixture_connect(fixture);
	assert_int_equal(test_agent_hello(new, scenario), 6);
	aggregator_fixture_send(old, scenario, 7, 7);
	assert_int_equal(test_agent_expect(old, MESSAGE_REFUSE)->refuse.code, REFUSE_NO_HELLO);
	aggregator_fixture_send(new, scenario, 7, scenario->nr_frames);
	test_agent_expect_ack(new, scenario->nr_frames);
	test_agent_close(old);
	test_agent_close(new);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_assert_report(fixture, expected);
}

/* The next commit is an hour away; the pong says that everything before the ping was received. */
static void what_welcome_names_is_all_that_will_ever_have_come(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct message ping = {.type = MESSAGE_PING, .ping = {.token = 1}};
	struct scenario_frame frame = scenario_encode(&ping);
	const struct scenario *scenario = &fixture->scenarios[0];

	aggregator_fixture_start_with(fixture, 3600000);
	struct test_agent *old = aggregator_fixture_connect(fixture);
	test_agent_hello(old, scenario);
	aggregator_fixture_send(old, scenario, 1, 6);
	test_agent_send(old, &frame);
	test_agent_expect(old, MESSAGE_PONG);
	struct test_agent *new = aggregator_fixture_connect(fixture);
	assert_int_equal(test_agent_hello(new, scenario), 6);
	aggregator_fixture_send(old, scenario, 7, 7);
	assert_int_equal(test_agent_expect(old, MESSAGE_REFUSE)->refuse.code, REFUSE_NO_HELLO);
	test_agent_close(old);
	test_agent_close(new);
	free(frame.bytes);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void a_ping_is_answered_and_acknowledges_again(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct message ping = {.type = MESSAGE_PING, .ping = {.token = 42}};
	struct scenario_frame frame = scenario_encode(&ping);

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_send(agent, &frame);
	assert_int_equal(test_agent_expect(agent, MESSAGE_PONG)->ping.token, 42);
	test_agent_hello(agent, &fixture->scenarios[0]);
	aggregator_fixture_send(agent, &fixture->scenarios[0], 1, 2);
	test_agent_expect_ack(agent, 2);
	test_agent_send(agent, &frame);
	assert_int_equal(test_agent_expect(agent, MESSAGE_PONG)->ping.token, 42);
	test_agent_expect_ack(agent, 2);
	test_agent_close(agent);
	free(frame.bytes);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void data_before_hello_is_refused(void **state)
{
	struct aggregator_fixture *fixture = *state;

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	aggregator_fixture_send(agent, &fixture->scenarios[0], 1, 1);
	assert_int_equal(test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code, REFUSE_NO_HELLO);
	assert_int_equal(test_agent_hello(agent, &fixture->scenarios[0]), 0);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void an_older_and_a_newer_version_are_refused_and_both_are_named(void **state)
{
	static const struct {
		uint32_t version_min, version_max;
		const char *reason;
	} cases[] = {
		{WIRE_VERSION + 1, WIRE_VERSION + 2,
		 "this aggregator speaks version 1 of the protocol, the agent versions 2 to 3"},
		{WIRE_VERSION - 1, WIRE_VERSION - 1,
		 "this aggregator speaks version 1 of the protocol, the agent versions 0 to 0"},
	};
	struct aggregator_fixture *fixture = *state;

	aggregator_fixture_start(fixture);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct test_agent *agent = aggregator_fixture_connect(fixture);
		struct message hello = {.type = MESSAGE_HELLO,
					.hello = fixture->scenarios[0].hello};

		hello.hello.version_min = cases[i].version_min;
		hello.hello.version_max = cases[i].version_max;
		struct scenario_frame frame = scenario_encode(&hello);
		test_agent_send(agent, &frame);
		const struct message *refusal = test_agent_expect(agent, MESSAGE_REFUSE);
		assert_int_equal(refusal->refuse.code, REFUSE_VERSION);
		assert_int_equal(refusal->refuse.reason.size, strlen(cases[i].reason));
		assert_memory_equal(refusal->refuse.reason.data, cases[i].reason,
				    strlen(cases[i].reason));
		/* One that speaks our version among others is welcome, on the same connection. */
		free(frame.bytes);
		hello.hello.version_min = WIRE_VERSION - 1;
		hello.hello.version_max = WIRE_VERSION + 1;
		frame = scenario_encode(&hello);
		test_agent_send(agent, &frame);
		assert_int_equal(test_agent_expect(agent, MESSAGE_WELCOME)->welcome.version,
				 WIRE_VERSION);
		free(frame.bytes);
		test_agent_close(agent);
	}
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void an_undefined_id_is_refused_and_changes_nothing(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	const struct scenario *scenario = &fixture->scenarios[0];
	struct launch_record launch = {.correlation_id = 1, .stack_id = 4000, .window = 1};
	struct gpu_record record = {
		.start_ns = 1, .end_ns = 2, .window = 1, .capture_stack_id = 4000};
	struct message events = {
		.type = MESSAGE_EVENTS,
		.events = {.seq = 6, .process_id = 1, .nr_launches = 1, .launches = &launch},
	};
	struct scenario_frame frame = scenario_encode(&events);
	events.events =
		(struct message_events){.seq = 6, .process_id = 1, .nr_gpu = 1, .gpu = &record};
	struct scenario_frame captured = scenario_encode(&events);

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, scenario);
	aggregator_fixture_send(agent, scenario, 1, 5);
	test_agent_send(agent, &frame);
	assert_int_equal(test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code, REFUSE_UNDEFINED);
	test_agent_send(agent, &captured);
	assert_int_equal(test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code, REFUSE_UNDEFINED);
	aggregator_fixture_send(agent, scenario, 6, scenario->nr_frames);
	test_agent_expect_ack(agent, scenario->nr_frames);
	test_agent_close(agent);
	free(frame.bytes);
	free(captured.bytes);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_assert_report(fixture, expected);
}

static void a_peer_with_three_bad_frames_is_ignored_and_others_are_not(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	const struct scenario *scenario = &fixture->scenarios[0];
	struct aggregator_status status;

	aggregator_fixture_start(fixture);
	struct test_agent *good = aggregator_fixture_connect(fixture);
	struct test_agent *bad = aggregator_fixture_connect(fixture);
	test_agent_hello(good, scenario);
	aggregator_fixture_send(good, scenario, 1, 5);
	test_agent_send_bytes(bad, "\xdd\xff\xff\xff\xff", 5);
	test_agent_send_bytes(bad, "", 0);
	assert_true(test_agent_is_quiet(bad));
	test_agent_send_bytes(bad, "rubbish", 7);
	assert_int_equal(test_agent_expect(bad, MESSAGE_REFUSE)->refuse.code, REFUSE_MALFORMED);
	test_agent_send(bad, &fixture->scenarios[1].hello_frame);
	aggregator_fixture_send(good, scenario, 6, scenario->nr_frames);
	test_agent_expect_ack(good, scenario->nr_frames);
	test_agent_hello(good, scenario);
	test_agent_hello(good, scenario);
	assert_true(test_agent_is_quiet(bad));
	aggregator_status(fixture->aggregator, &status);
	assert_int_equal(status.bad_frames, 3);
	assert_int_equal(status.agents, 1);
	test_agent_close(good);
	test_agent_close(bad);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_assert_report(fixture, expected);
}

static void unknown_types_are_passed_over(void **state)
{
	struct aggregator_fixture *fixture = *state;

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	for (int i = 0; i < 10; i++)
		test_agent_send_bytes(agent, "\x93\x63\x01\x07", 4);
	assert_int_equal(test_agent_hello(agent, &fixture->scenarios[0]), 0);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void stopping_commits_what_is_in_hand(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct scenario *scenario = &fixture->scenarios[0];
	struct message ping = {.type = MESSAGE_PING, .ping = {.token = 1}};
	struct scenario_frame frame = scenario_encode(&ping);

	aggregator_fixture_start_with(fixture, 3600 * 1000);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, scenario);
	aggregator_fixture_send(agent, scenario, 1, 7);
	/* The answer says that everything before it was taken. */
	test_agent_send(agent, &frame);
	test_agent_expect(agent, MESSAGE_PONG);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	test_agent_close(agent);
	aggregator_fixture_start(fixture);
	agent = aggregator_fixture_connect(fixture);
	assert_int_equal(test_agent_hello(agent, scenario), 7);
	test_agent_close(agent);
	free(frame.bytes);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void a_store_that_cannot_be_written_is_told_and_tried_again(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	const struct scenario *scenario = &fixture->scenarios[0];
	struct rlimit unlimited, tight;

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, scenario);
	aggregator_fixture_send(agent, scenario, 1, 3);
	test_agent_expect_ack(agent, 3);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	tight = unlimited;
	tight.rlim_cur = 1024;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	aggregator_fixture_send(agent, scenario, 4, 8);
	assert_int_equal(test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code, REFUSE_STORE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
	test_agent_expect_ack(agent, 8);
	signal(SIGXFSZ, SIG_DFL);
	aggregator_fixture_send(agent, scenario, 9, scenario->nr_frames);
	test_agent_expect_ack(agent, scenario->nr_frames);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_assert_report(fixture, expected);
}

static void create_fails_with(struct aggregator_fixture *fixture, const char *endpoint,
			      const char *store_path, int status, const char *words)
{
	struct aggregator_options options = {
		.endpoints = &endpoint, .nr_endpoints = 1, .store_path = store_path};
	char *error;

	assert_int_equal(aggregator_create(&options, &fixture->aggregator, &error), status);
	assert_null(fixture->aggregator);
	assert_non_null(strstr(error, words));
	free(error);
	assert_int_equal(aggregator_create(&options, &fixture->aggregator, NULL), status);
}

static void an_endpoint_that_others_can_reach_needs_a_word(void **state)
{
	struct aggregator_fixture *fixture = *state;

	create_fails_with(fixture, "tcp://0.0.0.0:*", fixture->path, -EACCES, "--insecure");
	create_fails_with(fixture, "tcp://*:*", fixture->path, -EACCES, "--insecure");

	const char *endpoint = "tcp://0.0.0.0:*";
	struct aggregator_options options = {.endpoints = &endpoint,
					     .nr_endpoints = 1,
					     .store_path = fixture->path,
					     .insecure = true};
	assert_int_equal(aggregator_create(&options, &fixture->aggregator, NULL), 0);
	aggregator_destroy(fixture->aggregator);
}

static void bad_endpoints_and_stores_are_errors_in_words(void **state)
{
	struct aggregator_fixture *fixture = *state;

	create_fails_with(fixture, "tcp://127.0.0.1:notaport", fixture->path, -EINVAL,
			  "cannot listen");
	create_fails_with(fixture, "tcp://127.0.0.1:*", "/proc/nonexistent/x.db", -ENOENT,
			  "/proc/nonexistent/x.db");
}

static void a_free_port_is_chosen_and_told(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const char *endpoints[] = {"tcp://127.0.0.1:*", fixture->socket_endpoint};
	struct aggregator_options options = {
		.endpoints = endpoints, .nr_endpoints = 2, .store_path = fixture->path};
	int port;

	assert_int_equal(aggregator_create(&options, &fixture->aggregator, NULL), 0);
	assert_int_equal(
		sscanf(aggregator_endpoint(fixture->aggregator, 0), "tcp://127.0.0.1:%d", &port),
		1);
	assert_true(port > 0);
	assert_string_equal(aggregator_endpoint(fixture->aggregator, 1), fixture->socket_endpoint);
	assert_null(aggregator_endpoint(fixture->aggregator, 2));
	aggregator_destroy(fixture->aggregator);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, aggregator_fixture_set_up,                           \
					aggregator_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hello_is_welcomed_and_a_goodbye_acknowledged),
		TEST(status_counts_what_came),
		TEST(agents_of_a_store_that_was_left_open_are_awaited_from_the_start),
		TEST(a_frame_that_comes_twice_counts_once),
		TEST(a_duplicate_is_acknowledged_again),
		TEST(a_gap_is_refused_and_filled),
		TEST(two_agents_at_once_do_not_disturb_each_other),
		TEST(a_restart_at_every_sequence_number_changes_nothing),
		TEST(a_new_connection_of_an_agent_takes_over),
		TEST(what_welcome_names_is_all_that_will_ever_have_come),
		TEST(a_ping_is_answered_and_acknowledges_again),
		TEST(data_before_hello_is_refused),
		TEST(an_older_and_a_newer_version_are_refused_and_both_are_named),
		TEST(an_undefined_id_is_refused_and_changes_nothing),
		TEST(a_peer_with_three_bad_frames_is_ignored_and_others_are_not),
		TEST(unknown_types_are_passed_over),
		TEST(stopping_commits_what_is_in_hand),
		TEST(a_store_that_cannot_be_written_is_told_and_tried_again),
		TEST(an_endpoint_that_others_can_reach_needs_a_word),
		TEST(bad_endpoints_and_stores_are_errors_in_words),
		TEST(a_free_port_is_chosen_and_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
