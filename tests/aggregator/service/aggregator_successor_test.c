/* What an agent that follows another asks, and what becomes of the other. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "aggregator_fixture.h"

static void an_epoch_that_a_successor_has_asked_for_is_over(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct scenario *scenario = &fixture->scenarios[0];

	aggregator_fixture_start(fixture);
	struct test_agent *old = aggregator_fixture_connect(fixture);
	test_agent_hello(old, scenario);
	aggregator_fixture_send(old, scenario, 1, 6);
	test_agent_expect_ack(old, 6);
	struct test_agent *next = aggregator_fixture_connect(fixture);
	assert_int_equal(test_agent_ask(next, scenario, NULL), 6);
	assert_int_equal(test_agent_expect(old, MESSAGE_REFUSE)->refuse.code, REFUSE_SUPERSEDED);
	aggregator_fixture_send(old, scenario, 7, 7);
	assert_int_equal(test_agent_expect(old, MESSAGE_REFUSE)->refuse.code, REFUSE_NO_HELLO);
	test_agent_send(old, &scenario->hello_frame);
	assert_int_equal(test_agent_expect(old, MESSAGE_REFUSE)->refuse.code, REFUSE_SUPERSEDED);
	assert_int_equal(test_agent_ask(next, scenario, NULL), 6);
	test_agent_close(old);
	test_agent_close(next);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void it_stays_over_when_the_aggregator_was_restarted(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct scenario *scenario = &fixture->scenarios[0];

	/* Nothing but the question makes it commit. */
	aggregator_fixture_start_with(fixture, 3600000);
	struct test_agent *old = aggregator_fixture_connect(fixture);
	test_agent_hello(old, scenario);
	test_agent_close(old);
	struct test_agent *next = aggregator_fixture_connect(fixture);
	assert_int_equal(test_agent_ask(next, scenario, NULL), 0);
	test_agent_close(next);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);

	aggregator_fixture_start(fixture);
	old = aggregator_fixture_connect(fixture);
	test_agent_send(old, &scenario->hello_frame);
	assert_int_equal(test_agent_expect(old, MESSAGE_REFUSE)->refuse.code, REFUSE_SUPERSEDED);
	test_agent_close(old);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

/* Whoever has read the epoch of another node's agent in a ring there stops nobody by it here. */
static void another_nodes_question_is_answered_and_ends_nothing(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	const struct scenario *scenario = &fixture->scenarios[0];

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, scenario);
	aggregator_fixture_send(agent, scenario, 1, 6);
	test_agent_expect_ack(agent, 6);
	struct test_agent *other = aggregator_fixture_connect(fixture);
	assert_int_equal(test_agent_ask(other, scenario, "another-node"), 6);
	aggregator_fixture_send(agent, scenario, 7, scenario->nr_frames);
	test_agent_expect_ack(agent, scenario->nr_frames);
	test_agent_close(agent);
	test_agent_close(other);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_assert_report(fixture, expected);
}

static void a_question_about_an_unknown_epoch_makes_no_agent(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	struct aggregator_status status;

	aggregator_fixture_start(fixture);
	struct test_agent *next = aggregator_fixture_connect(fixture);
	assert_int_equal(test_agent_ask(next, &fixture->scenarios[1], NULL), 0);
	aggregator_fixture_play(fixture, &fixture->scenarios[0]);
	/* The status is published at the end of a turn, after its acknowledgements. */
	do
		aggregator_status(fixture->aggregator, &status);
	while (status.agents == 0 && sched_yield() == 0);
	assert_int_equal(status.agents, 1);
	test_agent_close(next);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	aggregator_fixture_assert_report(fixture, expected);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, aggregator_fixture_set_up,                           \
					aggregator_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_epoch_that_a_successor_has_asked_for_is_over),
		TEST(it_stays_over_when_the_aggregator_was_restarted),
		TEST(another_nodes_question_is_answered_and_ends_nothing),
		TEST(a_question_about_an_unknown_epoch_makes_no_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
