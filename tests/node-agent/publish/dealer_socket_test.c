#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/publish/dealer_socket.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "proto/trust/key_set.h"
#include "router_fixture.h"

#define WAIT_MS 20000

int __real_zmq_socket_monitor(void *socket, const char *endpoint, int events);
int __wrap_zmq_socket_monitor(void *socket, const char *endpoint, int events);
int __real_zmq_close(void *socket);
int __wrap_zmq_close(void *socket);

static void *told_of;             /* the socket of which ZeroMQ tells; NULL: none */
static unsigned nr_closed_before; /* sockets closed while it tells */

int __wrap_zmq_socket_monitor(void *socket, const char *endpoint, int events)
{
	told_of = endpoint ? socket : NULL;
	return __real_zmq_socket_monitor(socket, endpoint, events);
}

int __wrap_zmq_close(void *socket)
{
	nr_closed_before += told_of != NULL;
	return __real_zmq_close(socket);
}

struct fixture {
	struct router_fixture *router;
	struct dealer_socket *dealer;
	struct batch_encoder *encoder;
	struct batch_decoder *decoder;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->router = router_fixture_create("tcp://127.0.0.1:*");
	fixture->encoder = batch_encoder_create();
	fixture->decoder = batch_decoder_create();
	assert_int_equal(dealer_socket_create(router_fixture_endpoint(fixture->router), NULL, NULL,
					      &fixture->dealer),
			 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	dealer_socket_destroy(fixture->dealer);
	router_fixture_destroy(fixture->router);
	batch_encoder_destroy(fixture->encoder);
	batch_decoder_destroy(fixture->decoder);
	free(fixture);
	return 0;
}

static void await_news(struct fixture *fixture)
{
	struct pollfd news = {.fd = dealer_socket_fd(fixture->dealer), .events = POLLIN};

	assert_int_equal(poll(&news, 1, WAIT_MS), 1);
}

/* Asks and has it answered. */
static void ping(struct fixture *fixture, uint64_t token)
{
	const struct message question = {.type = MESSAGE_PING, .ping.token = token};
	struct message answer = {.type = MESSAGE_PONG, .ping.token = token + 1};
	const uint8_t *frame;
	size_t size;
	int r;

	assert_int_equal(batch_encode(fixture->encoder, &question, &frame, &size), 0);
	while ((r = dealer_socket_send(fixture->dealer, frame, size)) == 0)
		if (!dealer_socket_has_work(fixture->dealer))
			await_news(fixture);
	assert_int_equal(r, 1);
	const struct message *heard = router_fixture_receive(fixture->router, WAIT_MS);
	assert_non_null(heard);
	assert_int_equal(heard->ping.token, token);
	router_fixture_send(fixture->router, &answer);
	while ((r = dealer_socket_receive(fixture->dealer, &frame, &size)) == 0)
		if (!dealer_socket_has_work(fixture->dealer))
			await_news(fixture);
	assert_int_equal(r, 1);
	assert_int_equal(batch_decode(fixture->decoder, frame, size, &answer), 0);
	assert_int_equal(answer.ping.token, token + 1);
}

static void frames_go_both_ways(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(dealer_socket_open(fixture->dealer), 0);
	for (uint64_t token = 1; token < 20; token++)
		ping(fixture, token);
	assert_false(dealer_socket_was_lost(fixture->dealer));
}

static void a_connection_can_be_made_anew(void **state)
{
	struct fixture *fixture = *state;
	int fd = dealer_socket_fd(fixture->dealer);

	for (uint64_t round = 1; round < 4; round++) {
		assert_int_equal(dealer_socket_open(fixture->dealer), 0);
		ping(fixture, round);
		assert_int_equal(dealer_socket_fd(fixture->dealer), fd);
	}
}

static void a_peer_that_goes_is_noticed_once(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(dealer_socket_open(fixture->dealer), 0);
	assert_false(dealer_socket_has_reached(fixture->dealer));
	ping(fixture, 1);
	router_fixture_destroy(fixture->router);
	fixture->router = NULL;
	while (!dealer_socket_was_lost(fixture->dealer))
		await_news(fixture);
	assert_true(dealer_socket_has_reached(fixture->dealer));
	assert_false(dealer_socket_was_lost(fixture->dealer));
}

static void what_is_closed_has_nothing_to_say(void **state)
{
	struct fixture *fixture = *state;
	const uint8_t *frame;
	size_t size;

	for (int round = 0; round < 2; round++) {
		assert_int_equal(dealer_socket_receive(fixture->dealer, &frame, &size), 0);
		assert_null(frame);
		assert_false(dealer_socket_has_work(fixture->dealer));
		assert_false(dealer_socket_was_lost(fixture->dealer));
		assert_int_equal(dealer_socket_open(fixture->dealer), 0);
		dealer_socket_close(fixture->dealer);
	}
}

/* The router has none, which ends the handshake; it is tried again and again. */
static void an_end_without_keys_is_a_refusal(void **state)
{
	struct fixture *fixture = *state;
	const struct key_set keys = {
		.server_public = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
		.client_public = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
		.client_secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs",
	};
	struct key_set half = keys;
	struct dealer_socket *dealer;

	memset(half.client_secret, 0, sizeof(half.client_secret));
	assert_int_equal(dealer_socket_create("tcp://127.0.0.1:1", NULL, &half, &dealer), -EINVAL);
	assert_null(dealer);
	assert_int_equal(dealer_socket_create(router_fixture_endpoint(fixture->router), NULL, &keys,
					      &dealer),
			 0);
	assert_int_equal(dealer_socket_open(dealer), 0);
	while (dealer_socket_refusals(dealer) == 0) {
		struct pollfd news = {.fd = dealer_socket_fd(dealer), .events = POLLIN};

		assert_int_equal(poll(&news, 1, WAIT_MS), 1);
		dealer_socket_has_work(dealer);
		dealer_socket_was_lost(dealer);
	}
	assert_null(router_fixture_receive(fixture->router, 0));
	dealer_socket_destroy(dealer);
}

/* A thread of ZeroMQ that tells of a lost connection while nobody reads waits for ever, and no connection is made any
 * more. */
static void the_telling_ends_before_its_reader_is_closed(void **state)
{
	struct fixture *fixture = *state;

	nr_closed_before = 0;
	assert_int_equal(dealer_socket_open(fixture->dealer), 0);
	assert_non_null(told_of);
	ping(fixture, 1);
	dealer_socket_close(fixture->dealer);
	assert_null(told_of);
	assert_int_equal(nr_closed_before, 0);
	assert_int_equal(dealer_socket_open(fixture->dealer), 0);
	ping(fixture, 3);
}

static void an_endpoint_that_is_none_is_an_error(void **state)
{
	struct dealer_socket *dealer;

	(void)state;
	assert_int_equal(dealer_socket_create("nowhere", NULL, NULL, &dealer), 0);
	assert_int_equal(dealer_socket_open(dealer), -EINVAL);
	assert_non_null(dealer_socket_error(-EINVAL));
	dealer_socket_destroy(dealer);
	dealer_socket_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_go_both_ways),
		TEST(a_connection_can_be_made_anew),
		TEST(a_peer_that_goes_is_noticed_once),
		TEST(what_is_closed_has_nothing_to_say),
		TEST(an_end_without_keys_is_a_refusal),
		TEST(the_telling_ends_before_its_reader_is_closed),
		TEST(an_endpoint_that_is_none_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
