#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node-agent/publish/clock_exchange.h"
#include "node-agent/publish/publisher.h"
#include "router_fixture.h"

#define WAIT_NS     20000000000ull
#define AHEAD_NS    5000000000ull
#define CREDIT      64u
#define CREDIT_SIZE (1u << 24)

struct fixture {
	struct router_fixture *router;
	struct publisher *publisher;
	char endpoint[128];
};

static struct publisher *open_with_clock(const char *endpoint, uint64_t window_bytes,
					 void *zmq_context, uint32_t clock_ms)
{
	struct publisher_options options = {
		.endpoint = endpoint,
		.zmq_context = zmq_context,
		.window_bytes = window_bytes,
		.clock_ms = clock_ms,
		.ping_ms = 50,
		.silence_ms = clock_ms ? 10000 : 300, /* nobody answers a second HELLO there */
		.hello = {.version_min = WIRE_VERSION,
			  .version_max = WIRE_VERSION,
			  .epoch = {7},
			  .software = {"test", 4},
			  .node = {"node", 4},
			  .boot_id = {"boot", 4}},
	};
	struct publisher *publisher;

	assert_int_equal(publisher_create(&options, &publisher, NULL), 0);
	return publisher;
}

static struct publisher *open_publisher(const char *endpoint, uint64_t window_bytes,
					void *zmq_context)
{
	return open_with_clock(endpoint, window_bytes, zmq_context, 0);
}

static struct publisher *open_clock_publisher(const char *endpoint)
{
	return open_with_clock(endpoint, 1u << 20, NULL, 30000);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->router = router_fixture_create("tcp://127.0.0.1:*");
	snprintf(fixture->endpoint, sizeof(fixture->endpoint), "%s",
		 router_fixture_endpoint(fixture->router));
	fixture->publisher = open_publisher(fixture->endpoint, 1u << 20, NULL);
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

/* Runs the publisher for a moment, until its descriptor or its clock speaks. */
static int turn(struct fixture *fixture)
{
	struct pollfd ready = {.fd = publisher_fd(fixture->publisher), .events = POLLIN};
	int r = publisher_step(fixture->publisher, clock_now_ns());

	poll(&ready, 1, 1);
	return r;
}

/* Runs both sides until the router has a frame of this type; others are passed over. */
static const struct message *await(struct fixture *fixture, enum message_type type)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (clock_now_ns() < until_ns) {
		assert_int_equal(turn(fixture), 0);
		const struct message *message = router_fixture_receive(fixture->router, 0);
		if (message && message->type == type)
			return message;
	}
	fail_msg("no message of type %d came", (int)type);
	return NULL;
}

static void await_ack(struct fixture *fixture, uint64_t seq)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (publisher_acked_seq(fixture->publisher) < seq && clock_now_ns() < until_ns)
		assert_int_equal(turn(fixture), 0);
	assert_int_equal(publisher_acked_seq(fixture->publisher), seq);
}

/* Runs until the publisher fails; its error. */
static int await_failure(struct fixture *fixture)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;
	int r = 0;

	while (r == 0 && clock_now_ns() < until_ns)
		r = turn(fixture);
	return r;
}

static void welcome(struct fixture *fixture, uint64_t durable_seq)
{
	await(fixture, MESSAGE_HELLO);
	router_fixture_welcome(fixture->router, durable_seq, CREDIT, CREDIT_SIZE);
}

static void publish(struct fixture *fixture, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct message message = {.type = MESSAGE_LEDGER, .ledger = {.process_id = 1}};

		assert_int_equal(publisher_send(fixture->publisher, &message), 0);
		assert_int_equal(message.ledger.seq, publisher_last_seq(fixture->publisher));
	}
}

/* Frames first to last come in order, after any repetition of earlier ones. */
static void expect(struct fixture *fixture, uint64_t first, uint64_t last)
{
	for (uint64_t seq = first; seq <= last; seq++)
		assert_int_equal(await(fixture, MESSAGE_LEDGER)->ledger.seq, seq);
}

static void a_hello_comes_first_and_frames_only_after_the_welcome(void **state)
{
	struct fixture *fixture = *state;
	const struct message *hello;

	publish(fixture, 3);
	hello = await(fixture, MESSAGE_HELLO);
	assert_int_equal(hello->hello.version_max, WIRE_VERSION);
	assert_int_equal(hello->hello.epoch[0], 7);
	assert_memory_equal(hello->hello.node.data, "node", 4);
	assert_false(publisher_connected(fixture->publisher));
	router_fixture_welcome(fixture->router, 0, CREDIT, CREDIT_SIZE);
	expect(fixture, 1, 3);
	assert_true(publisher_connected(fixture->publisher));
	router_fixture_ack(fixture->router, 3);
	await_ack(fixture, 3);
}

static void frames_wait_for_an_aggregator_that_is_not_known_yet(void **state)
{
	struct fixture *fixture = *state;

	publisher_destroy(fixture->publisher);
	fixture->publisher = open_publisher(NULL, 1u << 20, NULL);
	publish(fixture, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(turn(fixture), 0);
	assert_int_equal(publisher_deadline_ns(fixture->publisher), UINT64_MAX);
	assert_null(router_fixture_receive(fixture->router, 0));
	assert_int_equal(publisher_connect(fixture->publisher, fixture->endpoint, NULL), 0);
	welcome(fixture, 0);
	expect(fixture, 1, 3);
	router_fixture_ack(fixture->router, 3);
	await_ack(fixture, 3);
}

static void acknowledgements_are_cumulative_and_may_come_twice_or_late(void **state)
{
	struct fixture *fixture = *state;

	welcome(fixture, 0);
	publish(fixture, 10);
	expect(fixture, 1, 10);
	router_fixture_ack(fixture->router, 7);
	router_fixture_ack(fixture->router, 3);
	router_fixture_ack(fixture->router, 7);
	router_fixture_ack(fixture->router, 99999);
	await_ack(fixture, 7);
	router_fixture_ack(fixture->router, 10);
	await_ack(fixture, 10);
}

static void a_lost_acknowledgement_leads_to_a_new_hello_and_no_loss(void **state)
{
	struct fixture *fixture = *state;

	welcome(fixture, 0);
	publish(fixture, 5);
	expect(fixture, 1, 5);
	/* The aggregator has stored up to 4, but is silent about it. */
	welcome(fixture, 4);
	expect(fixture, 5, 5);
	assert_int_equal(publisher_acked_seq(fixture->publisher), 4);
	router_fixture_ack(fixture->router, 5);
	await_ack(fixture, 5);
}

/* The first one may have gone into a connection that was about to end. */
static void a_hello_without_an_answer_comes_again_on_the_same_connection(void **state)
{
	struct fixture *fixture = *state;
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	publisher_destroy(fixture->publisher);
	fixture->publisher = open_clock_publisher(fixture->endpoint);
	for (uint32_t i = 0; i < 2; i++)
		await(fixture, MESSAGE_HELLO);
	router_fixture_welcome(fixture->router, 0, CREDIT, CREDIT_SIZE);
	publish(fixture, 1);
	while (!publisher_connected(fixture->publisher) && clock_now_ns() < until_ns)
		assert_int_equal(turn(fixture), 0);
	router_fixture_ack(fixture->router, 1);
	await_ack(fixture, 1);
}

static void pongs_without_progress_do_not_keep_a_connection_alive(void **state)
{
	struct fixture *fixture = *state;
	uint64_t until_ns = clock_now_ns() + WAIT_NS;
	bool new_hello = false;

	welcome(fixture, 0);
	publish(fixture, 2);
	while (!new_hello && clock_now_ns() < until_ns) {
		assert_int_equal(turn(fixture), 0);
		const struct message *message = router_fixture_receive(fixture->router, 0);
		if (message && message->type == MESSAGE_PING) {
			struct message pong = {.type = MESSAGE_PONG, .ping = message->ping};

			router_fixture_send(fixture->router, &pong);
		}
		new_hello = message && message->type == MESSAGE_HELLO;
	}
	assert_true(new_hello);
	router_fixture_welcome(fixture->router, 2, CREDIT, CREDIT_SIZE);
	await_ack(fixture, 2);
}

static void an_aggregator_that_comes_back_gets_what_it_has_not_stored(void **state)
{
	struct fixture *fixture = *state;

	welcome(fixture, 0);
	publish(fixture, 20);
	expect(fixture, 1, 20);
	router_fixture_ack(fixture->router, 6);
	await_ack(fixture, 6);
	router_fixture_destroy(fixture->router);
	publish(fixture, 5);
	fixture->router = router_fixture_create(fixture->endpoint);
	welcome(fixture, 12);
	expect(fixture, 13, 25);
	router_fixture_ack(fixture->router, 25);
	await_ack(fixture, 25);
}

static void an_absent_aggregator_is_waited_for(void **state)
{
	struct fixture *fixture = *state;

	router_fixture_destroy(fixture->router);
	fixture->router = NULL;
	publish(fixture, 3);
	for (int i = 0; i < 100; i++)
		assert_int_equal(turn(fixture), 0);
	assert_false(publisher_connected(fixture->publisher));
	fixture->router = router_fixture_create(fixture->endpoint);
	welcome(fixture, 0);
	expect(fixture, 1, 3);
}

static void no_hello_is_answered_with_a_hello_on_the_same_connection(void **state)
{
	struct fixture *fixture = *state;

	welcome(fixture, 0);
	publish(fixture, 2);
	expect(fixture, 1, 2);
	router_fixture_refuse(fixture->router, REFUSE_NO_HELLO);
	router_fixture_refuse(fixture->router, REFUSE_NO_HELLO);
	welcome(fixture, 1);
	expect(fixture, 2, 2);
	router_fixture_ack(fixture->router, 2);
	await_ack(fixture, 2);
}

static void a_gap_a_full_store_and_a_limit_are_tried_again(void **state)
{
	static const uint32_t codes[] = {REFUSE_SEQUENCE, REFUSE_STORE, REFUSE_LIMIT};
	struct fixture *fixture = *state;

	welcome(fixture, 0);
	publish(fixture, 4);
	expect(fixture, 1, 4);
	for (size_t i = 0; i < 3; i++) {
		router_fixture_refuse(fixture->router, codes[i]);
		welcome(fixture, i + 1);
		expect(fixture, i + 2, 4);
	}
	router_fixture_ack(fixture->router, 4);
	await_ack(fixture, 4);
}

static void an_aggregator_of_another_version_is_asked_again_and_nothing_is_lost(void **state)
{
	static const char reason[] = "this aggregator speaks version 2 of the protocol";
	const struct message refusal = {
		.type = MESSAGE_REFUSE,
		.refuse = {.code = REFUSE_VERSION, .reason = {reason, sizeof(reason) - 1}},
	};
	struct fixture *fixture = *state;

	publish(fixture, 3);
	for (int i = 0; i < 2; i++) {
		await(fixture, MESSAGE_HELLO);
		router_fixture_send(fixture->router, &refusal);
	}
	welcome(fixture, 0); /* it was renewed */
	expect(fixture, 1, 3);
	assert_string_equal(publisher_error(fixture->publisher), "");
}

static void refusals_for_good_end_it_with_a_reason(void **state)
{
	static const uint32_t codes[] = {REFUSE_MALFORMED, REFUSE_UNDEFINED, REFUSE_SUPERSEDED,
					 1000};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		await(fixture, MESSAGE_HELLO);
		router_fixture_refuse(fixture->router, codes[i]);
		assert_int_equal(await_failure(fixture), -EPROTO);
		assert_non_null(strstr(publisher_error(fixture->publisher), "because"));
		assert_int_equal(turn(fixture), -EPROTO);
		publisher_destroy(fixture->publisher);
		fixture->publisher = open_publisher(fixture->endpoint, 1u << 20, NULL);
	}
}

static void a_welcome_in_another_version_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct message message = {.type = MESSAGE_WELCOME,
				  .welcome = {.version = WIRE_VERSION + 1}};

	await(fixture, MESSAGE_HELLO);
	router_fixture_send(fixture->router, &message);
	assert_int_equal(await_failure(fixture), -EPROTO);
	assert_string_equal(publisher_error(fixture->publisher),
			    "the aggregator speaks version 2 of the protocol, this agent versions "
			    "1 to 1");
}

static void a_store_that_lost_what_it_acknowledged_ends_it(void **state)
{
	struct fixture *fixture = *state;

	welcome(fixture, 0);
	publish(fixture, 5);
	expect(fixture, 1, 5);
	router_fixture_ack(fixture->router, 5);
	await_ack(fixture, 5);
	router_fixture_destroy(fixture->router);
	fixture->router = router_fixture_create(fixture->endpoint);
	welcome(fixture, 0);
	assert_int_equal(await_failure(fixture), -EPROTO);
	assert_non_null(strstr(publisher_error(fixture->publisher), "store"));
}

static void no_more_frames_are_in_flight_than_the_credit_allows(void **state)
{
	struct fixture *fixture = *state;

	await(fixture, MESSAGE_HELLO);
	router_fixture_welcome(fixture->router, 0, 3, CREDIT_SIZE);
	publish(fixture, 5);
	expect(fixture, 1, 3);
	/* A PING comes after a while: had there been a fourth frame, it would have come before. */
	uint64_t until_ns = clock_now_ns() + WAIT_NS;
	const struct message *message = NULL;
	while (!message && clock_now_ns() < until_ns) {
		assert_int_equal(turn(fixture), 0);
		message = router_fixture_receive(fixture->router, 0);
	}
	assert_int_equal(message->type, MESSAGE_PING);
	router_fixture_ack(fixture->router, 1);
	expect(fixture, 4, 5);
}

static void a_credit_below_one_frame_still_lets_one_through(void **state)
{
	struct fixture *fixture = *state;

	await(fixture, MESSAGE_HELLO);
	router_fixture_welcome(fixture->router, 0, 0, 0);
	publish(fixture, 1);
	expect(fixture, 1, 1);
	router_fixture_ack(fixture->router, 1);
	await_ack(fixture, 1);
}

static void a_full_window_says_that_it_has_no_room_until_it_is_acknowledged(void **state)
{
	struct fixture *fixture = *state;

	publisher_destroy(fixture->publisher);
	fixture->publisher = open_publisher(fixture->endpoint, 200, NULL);
	welcome(fixture, 0);
	while (publisher_has_room(fixture->publisher))
		publish(fixture, 1);
	uint64_t last = publisher_last_seq(fixture->publisher);
	assert_true(last > 1);
	expect(fixture, 1, last);
	assert_false(publisher_has_room(fixture->publisher));
	router_fixture_ack(fixture->router, last);
	await_ack(fixture, last);
	assert_true(publisher_has_room(fixture->publisher));
}

static void frames_outlive_the_room_that_they_were_made_in(void **state)
{
	struct fixture *fixture = *state;

	publish(fixture, 2);
	publisher_give_back(fixture->publisher);
	publish(fixture, 1);
	welcome(fixture, 0);
	expect(fixture, 1, 3);
	publisher_give_back(fixture->publisher);
	publish(fixture, 1);
	expect(fixture, 4, 4);
	router_fixture_ack(fixture->router, 4);
	await_ack(fixture, 4);
}

static void nonsense_from_the_other_side_is_passed_over(void **state)
{
	struct fixture *fixture = *state;
	struct message bye = {.type = MESSAGE_BYE, .bye.seq = 5};

	welcome(fixture, 0);
	publish(fixture, 1);
	expect(fixture, 1, 1);
	router_fixture_send(fixture->router, &bye);
	router_fixture_welcome(fixture->router, 0, CREDIT, CREDIT_SIZE);
	router_fixture_ack(fixture->router, 1);
	await_ack(fixture, 1);
}

/* Nobody answers its PINGs and a second HELLO: it is not to take a busy machine's silence for an end. */
static struct publisher *open_inproc_publisher(const char *endpoint, void *context)
{
	return open_with_clock(endpoint, 1u << 20, context, 30000);
}

static void an_aggregator_in_this_process_may_come_before_or_after_us(void **state)
{
	struct fixture *fixture = *state;
	void *context = router_fixture_context(fixture->router);

	publisher_destroy(fixture->publisher);
	router_fixture_bind(fixture->router, "inproc://before");
	fixture->publisher = open_inproc_publisher("inproc://before", context);
	welcome(fixture, 0);
	publish(fixture, 50);
	expect(fixture, 1, 50);
	publisher_destroy(fixture->publisher);

	fixture->publisher = open_inproc_publisher("inproc://after", context);
	publish(fixture, 50);
	for (int i = 0; i < 100; i++)
		assert_int_equal(turn(fixture), 0);
	router_fixture_bind(fixture->router, "inproc://after");
	welcome(fixture, 0);
	expect(fixture, 1, 50);
	router_fixture_ack(fixture->router, 50);
	await_ack(fixture, 50);
}

/* Of an aggregator whose clock is five seconds ahead of ours. */
static void answer_clock(struct fixture *fixture, const struct message_clock *question)
{
	uint64_t then_ns = clock_now_ns() + AHEAD_NS;
	struct message answer = {
		.type = MESSAGE_CLOCK,
		.clock = {.kind = CLOCK_ANSWER,
			  .t1_ns = question->t1_ns,
			  .t2_ns = then_ns,
			  .t3_ns = then_ns,
			  .realtime_offset_ns = 77},
	};

	router_fixture_send(fixture->router, &answer);
}

static void clocks_are_compared_beside_data_and_the_result_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct clock_exchange_estimate estimate;
	uint32_t asked = 0;
	const struct message *message;

	publisher_destroy(fixture->publisher);
	fixture->publisher = open_clock_publisher(fixture->endpoint);
	welcome(fixture, 0);
	publish(fixture, 3);
	while ((message = await(fixture, MESSAGE_CLOCK))->clock.kind == CLOCK_ASK) {
		asked++;
		assert_in_range(message->clock.t1_ns, 1, clock_now_ns());
		answer_clock(fixture, &message->clock);
	}
	assert_int_equal(asked, CLOCK_EXCHANGE_BURST);
	assert_int_equal(message->clock.kind, CLOCK_RESULT);
	int64_t off_ns = message->clock.offset_ns + (int64_t)AHEAD_NS;
	assert_true((uint64_t)(off_ns < 0 ? -off_ns : off_ns) <= message->clock.bound_ns);
	assert_true(message->clock.realtime_offset_ns != 0);
	assert_true(publisher_clock(fixture->publisher, clock_now_ns(), &estimate));
	assert_int_equal(estimate.offset_ns, message->clock.offset_ns);
	assert_int_equal(estimate.realtime_offset_ns, 77);
}

static void an_aggregator_that_knows_nothing_of_clocks_gets_its_data(void **state)
{
	struct fixture *fixture = *state;
	struct clock_exchange_estimate estimate;

	publisher_destroy(fixture->publisher);
	fixture->publisher = open_clock_publisher(fixture->endpoint);
	welcome(fixture, 0);
	publish(fixture, 50);
	expect(fixture, 1, 50);
	router_fixture_ack(fixture->router, 50);
	await_ack(fixture, 50);
	assert_false(publisher_clock(fixture->publisher, clock_now_ns(), &estimate));
}

static void an_impossible_endpoint_is_an_error_that_names_it(void **state)
{
	struct publisher_options options = {.endpoint = "tcp://nonsense"};
	struct publisher *publisher;
	char *error = NULL;

	(void)state;
	assert_true(publisher_create(&options, &publisher, &error) < 0);
	assert_null(publisher);
	assert_non_null(strstr(error, "tcp://nonsense"));
	free(error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hello_comes_first_and_frames_only_after_the_welcome),
		TEST(frames_wait_for_an_aggregator_that_is_not_known_yet),
		TEST(acknowledgements_are_cumulative_and_may_come_twice_or_late),
		TEST(a_lost_acknowledgement_leads_to_a_new_hello_and_no_loss),
		TEST(a_hello_without_an_answer_comes_again_on_the_same_connection),
		TEST(pongs_without_progress_do_not_keep_a_connection_alive),
		TEST(an_aggregator_that_comes_back_gets_what_it_has_not_stored),
		TEST(an_absent_aggregator_is_waited_for),
		TEST(no_hello_is_answered_with_a_hello_on_the_same_connection),
		TEST(a_gap_a_full_store_and_a_limit_are_tried_again),
		TEST(an_aggregator_of_another_version_is_asked_again_and_nothing_is_lost),
		TEST(refusals_for_good_end_it_with_a_reason),
		TEST(a_welcome_in_another_version_is_refused),
		TEST(a_store_that_lost_what_it_acknowledged_ends_it),
		TEST(no_more_frames_are_in_flight_than_the_credit_allows),
		TEST(a_credit_below_one_frame_still_lets_one_through),
		TEST(a_full_window_says_that_it_has_no_room_until_it_is_acknowledged),
		TEST(frames_outlive_the_room_that_they_were_made_in),
		TEST(nonsense_from_the_other_side_is_passed_over),
		TEST(an_aggregator_in_this_process_may_come_before_or_after_us),
		TEST(clocks_are_compared_beside_data_and_the_result_is_told),
		TEST(an_aggregator_that_knows_nothing_of_clocks_gets_its_data),
		cmocka_unit_test(an_impossible_endpoint_is_an_error_that_names_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
