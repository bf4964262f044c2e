/* A publisher whose HELLO offers that its node folds (message_hello.offers). */
#include "tests/support/cmocka_test.h"

#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "node-agent/publish/publisher.h"
#include "router_fixture.h"

#define WAIT_NS     20000000000ull
#define CREDIT      64u
#define CREDIT_SIZE (1u << 24)
#define OWN         "inproc://own"

struct fixture {
	struct router_fixture *router;
	struct publisher *publisher;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->router = router_fixture_create("tcp://127.0.0.1:*");
	const struct publisher_options options = {
		.endpoint = router_fixture_endpoint(fixture->router),
		.zmq_context = router_fixture_context(fixture->router),
		.window_bytes = 1u << 20,
		.hello = {.version_min = WIRE_VERSION,
			  .version_max = WIRE_VERSION,
			  .epoch = {7},
			  .offers = true},
	};

	assert_int_equal(publisher_create(&options, &fixture->publisher, NULL), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	publisher_destroy(fixture->publisher);
	router_fixture_destroy(fixture->router);
	free(fixture);
	return 0;
}

static void turn(struct fixture *fixture)
{
	struct pollfd ready = {.fd = publisher_fd(fixture->publisher), .events = POLLIN};

	assert_int_equal(publisher_step(fixture->publisher, clock_now_ns()), 0);
	poll(&ready, 1, 1);
}

/* Returns the next message; NULL: none came while the publisher made so many turns. */
static const struct message *receive(struct fixture *fixture, int turns)
{
	const struct message *message = NULL;

	for (int i = 0; i < turns && !message; i++) {
		turn(fixture);
		message = router_fixture_receive(fixture->router, 0);
	}
	return message;
}

static const struct message *await(struct fixture *fixture, enum message_type type)
{
	const uint64_t until_ns = clock_now_ns() + WAIT_NS;
	const struct message *message;

	do
		message = receive(fixture, 1);
	while ((!message || message->type != type) && clock_now_ns() < until_ns);
	assert_non_null(message);
	return message;
}

static void await_way(struct fixture *fixture, enum event_way way)
{
	const uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (publisher_way(fixture->publisher) != way && clock_now_ns() < until_ns)
		turn(fixture);
	assert_int_equal(publisher_way(fixture->publisher), way);
}

static void publish(struct fixture *fixture, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct message message = {.type = MESSAGE_LEDGER, .ledger = {.process_id = 1}};

		assert_int_equal(publisher_send(fixture->publisher, &message), 0);
	}
}

static void expect(struct fixture *fixture, uint64_t last)
{
	for (uint64_t seq = 1; seq <= last; seq++)
		assert_int_equal(await(fixture, MESSAGE_LEDGER)->ledger.seq, seq);
}

static void tell_to_fold(struct fixture *fixture)
{
	const struct message welcome = {.type = MESSAGE_WELCOME,
					.welcome = {.version = WIRE_VERSION,
						    .window_frames = CREDIT,
						    .window_bytes = CREDIT_SIZE,
						    .folds = true}};

	router_fixture_send(fixture->router, &welcome);
}

/* Answers the offer, and HELLO after that. */
static void let_send(struct fixture *fixture)
{
	router_fixture_welcome(fixture->router, 0, CREDIT, CREDIT_SIZE);
	assert_false(await(fixture, MESSAGE_HELLO)->hello.offers);
	router_fixture_welcome(fixture->router, 0, CREDIT, CREDIT_SIZE);
}

/* Nothing of what waits goes to the aggregator that has told the node to fold. */
static void expect_all_at_own(struct fixture *fixture, uint64_t last)
{
	assert_false(publisher_connected(fixture->publisher));
	assert_null(receive(fixture, 20));
	router_fixture_bind(fixture->router, OWN);
	assert_int_equal(publisher_connect(fixture->publisher, OWN, NULL), 0);
	assert_false(await(fixture, MESSAGE_HELLO)->hello.offers);
	router_fixture_welcome(fixture->router, 0, CREDIT, CREDIT_SIZE);
	expect(fixture, last);
	assert_int_equal(publisher_way(fixture->publisher), EVENT_WAY_SENDS);
}

static void a_welcome_that_does_not_fold_settles_that_the_agent_sends(void **state)
{
	struct fixture *fixture = *state;

	publish(fixture, 2);
	assert_int_equal(publisher_way(fixture->publisher), EVENT_WAY_ASKS);
	assert_true(await(fixture, MESSAGE_HELLO)->hello.offers);
	assert_null(receive(fixture, 20));
	let_send(fixture);
	assert_int_equal(publisher_way(fixture->publisher), EVENT_WAY_SENDS);
	expect(fixture, 2);
	publisher_fold(fixture->publisher);
	assert_int_equal(publisher_way(fixture->publisher), EVENT_WAY_SENDS);
	assert_true(publisher_connected(fixture->publisher));
}

/* The aggregator was started again, or is another one. */
static void a_later_connection_offers_no_more(void **state)
{
	struct fixture *fixture = *state;

	publish(fixture, 2);
	await(fixture, MESSAGE_HELLO);
	let_send(fixture);
	expect(fixture, 2);
	router_fixture_refuse(fixture->router, REFUSE_NO_HELLO);
	assert_false(await(fixture, MESSAGE_HELLO)->hello.offers);
	tell_to_fold(fixture); /* which nobody may, as nothing is offered */
	expect(fixture, 2);
}

static void a_welcome_that_folds_leaves_all_to_the_nodes_own_aggregator(void **state)
{
	struct fixture *fixture = *state;

	publish(fixture, 3);
	await(fixture, MESSAGE_HELLO);
	tell_to_fold(fixture);
	await_way(fixture, EVENT_WAY_FOLDS);
	expect_all_at_own(fixture, 3);
}

static void without_a_welcome_the_node_may_fold(void **state)
{
	struct fixture *fixture = *state;

	publish(fixture, 3);
	await(fixture, MESSAGE_HELLO);
	publisher_fold(fixture->publisher);
	await_way(fixture, EVENT_WAY_FOLDS);
	router_fixture_welcome(fixture->router, 0, CREDIT, CREDIT_SIZE); /* too late */
	expect_all_at_own(fixture, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_welcome_that_does_not_fold_settles_that_the_agent_sends),
		TEST(a_later_connection_offers_no_more),
		TEST(a_welcome_that_folds_leaves_all_to_the_nodes_own_aggregator),
		TEST(without_a_welcome_the_node_may_fold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
