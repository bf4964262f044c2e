/* Commands to all agents, through a real aggregator. */
#include "aggregator/service/control_service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "aggregator_fixture.h"

#define S 1000000000ull

static void say(struct test_agent *agent, const struct message_control *control)
{
	const struct message message = {.type = MESSAGE_CONTROL, .control = *control};
	struct scenario_frame frame = scenario_encode(&message);

	test_agent_send(agent, &frame);
	free(frame.bytes);
}

static const struct message_control *hear(struct test_agent *agent, uint32_t kind)
{
	const struct message_control *control = &test_agent_expect(agent, MESSAGE_CONTROL)->control;

	assert_int_equal(control->kind, kind);
	return control;
}

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec;
}

static void an_order_reaches_all_agents_and_the_answer_says_who_took_it(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_control command = {.kind = CONTROL_ASK,
						.token = 7,
						.action = 1,
						.relative = 1,
						.from_ns = 5 * S,
						.until_ns = 15 * S};
	const struct message_control taken = {.kind = CONTROL_TAKEN,
					      .token = 7,
					      .state = CONTROL_IN_TIME,
					      .nr_processes = 4,
					      .bound_ns = 45100};

	aggregator_fixture_start(fixture);
	struct test_agent *one = aggregator_fixture_connect(fixture);
	struct test_agent *two = aggregator_fixture_connect(fixture);
	struct test_agent *who = aggregator_fixture_connect(fixture);
	test_agent_hello(one, &fixture->scenarios[0]);
	test_agent_hello(two, &fixture->scenarios[1]);
	uint64_t before_ns = realtime_ns();
	say(who, &command);
	struct message_control order = *hear(one, CONTROL_ORDER);
	assert_int_equal(order.token, 7);
	assert_int_equal(order.action, 1);
	assert_in_range(order.from_ns, before_ns + 5 * S, realtime_ns() + 5 * S);
	assert_int_equal(order.until_ns - order.from_ns, 10 * S);
	assert_int_equal(hear(two, CONTROL_ORDER)->from_ns, order.from_ns);
	const struct message_control *answer = hear(who, CONTROL_ANSWER);
	assert_int_equal(answer->nr_agents, 2);
	assert_int_equal(answer->agents[0].state, CONTROL_WAITING);
	assert_int_equal(answer->agents[1].state, CONTROL_WAITING);

	say(one, &taken);
	test_agent_hello(one, &fixture->scenarios[0]); /* now it was heard */
	say(who, &command);
	answer = hear(who, CONTROL_ANSWER);
	assert_int_equal(answer->from_ns, order.from_ns); /* asked again is not commanded again */
	assert_int_equal(answer->agents[0].state, CONTROL_IN_TIME);
	assert_int_equal(answer->agents[0].nr_processes, 4);
	assert_int_equal(answer->agents[0].bound_ns, 45100);
	assert_true(answer->agents[0].node.size > 0);
	assert_int_equal(answer->agents[1].state, CONTROL_WAITING);
	assert_int_equal(hear(two, CONTROL_ORDER)->token, 7); /* once more */
	assert_true(test_agent_is_quiet(one));
	test_agent_close(one);
	test_agent_close(two);
	test_agent_close(who);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void who_comes_later_gets_the_order_that_stands(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_control stands = {.kind = CONTROL_ASK, .token = 1, .action = 1};
	const struct message_control past = {
		.kind = CONTROL_ASK, .token = 2, .action = 1, .from_ns = 1, .until_ns = 2};

	aggregator_fixture_start(fixture);
	struct test_agent *who = aggregator_fixture_connect(fixture);
	say(who, &stands);
	assert_int_equal(hear(who, CONTROL_ANSWER)->nr_agents, 0);
	struct test_agent *one = aggregator_fixture_connect(fixture);
	test_agent_hello(one, &fixture->scenarios[0]);
	assert_int_equal(hear(one, CONTROL_ORDER)->token, 1);
	say(who, &past);
	assert_int_equal(hear(who, CONTROL_ANSWER)->nr_agents, 1);
	assert_int_equal(hear(one, CONTROL_ORDER)->token, 2);
	struct test_agent *two = aggregator_fixture_connect(fixture);
	test_agent_hello(two, &fixture->scenarios[1]);
	test_agent_hello(two, &fixture->scenarios[1]);
	assert_true(test_agent_is_quiet(two));
	test_agent_close(one);
	test_agent_close(two);
	test_agent_close(who);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void an_agent_that_said_goodbye_is_not_waited_for(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_control command = {.kind = CONTROL_ASK, .token = 1, .action = 2};

	aggregator_fixture_start(fixture);
	aggregator_fixture_play(fixture, &fixture->scenarios[0]);
	struct test_agent *who = aggregator_fixture_connect(fixture);
	say(who, &command);
	assert_int_equal(hear(who, CONTROL_ANSWER)->nr_agents, 0);
	test_agent_close(who);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void a_job_is_refused_where_no_jobs_are_kept(void **state)
{
	static const char reason[] = "this aggregator keeps no profiles of jobs";
	struct aggregator_fixture *fixture = *state;
	const struct message_control command = {
		.kind = CONTROL_ASK, .token = 1, .job_key = {"12", 2}, .job_user = {"alice", 5}};

	aggregator_fixture_start(fixture);
	struct test_agent *one = aggregator_fixture_connect(fixture);
	struct test_agent *who = aggregator_fixture_connect(fixture);
	test_agent_hello(one, &fixture->scenarios[0]);
	say(who, &command);
	const struct message_refuse *refuse = &test_agent_expect(who, MESSAGE_REFUSE)->refuse;
	assert_int_equal(refuse->code, REFUSE_UNDEFINED);
	assert_int_equal(refuse->reason.size, strlen(reason));
	assert_memory_equal(refuse->reason.data, reason, strlen(reason));
	test_agent_hello(one, &fixture->scenarios[0]);
	assert_true(test_agent_is_quiet(one));
	test_agent_close(one);
	test_agent_close(who);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void what_cannot_be_is_a_bad_frame(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_control bad[] = {
		{.kind = CONTROL_ASK, .token = 1, .from_ns = UINT64_MAX},
		{.kind = CONTROL_ASK, .token = 1, .from_ns = 2 * S, .until_ns = S},
		{.kind = CONTROL_TAKEN, .token = 1}, /* by whom? */
		{.kind = CONTROL_ORDER, .token = 1},
	};

	aggregator_fixture_start(fixture);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct test_agent *who = aggregator_fixture_connect(fixture);

		for (int times = 0; times < 3; times++)
			say(who, &bad[i]);
		assert_int_equal(test_agent_expect(who, MESSAGE_REFUSE)->refuse.code,
				 REFUSE_MALFORMED);
		test_agent_close(who);
	}
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, aggregator_fixture_set_up,                           \
					aggregator_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_order_reaches_all_agents_and_the_answer_says_who_took_it),
		TEST(who_comes_later_gets_the_order_that_stands),
		TEST(an_agent_that_said_goodbye_is_not_waited_for),
		TEST(a_job_is_refused_where_no_jobs_are_kept),
		TEST(what_cannot_be_is_a_bad_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
