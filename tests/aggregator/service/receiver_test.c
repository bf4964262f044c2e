/* A receiver without keys, and a peer that sends messages in parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "aggregator/service/connection_watch.h"
#include "aggregator/service/receiver.h"
#include "proto/batch/batch_encode.h"

#define PATIENCE_MS 20000
#define LOOK_NS     5000000000u
#define PART        (WIRE_FRAME_MAX - 4096u)

struct fixture {
	void *context, *peer, *news;
	struct receiver *receiver;
	struct batch_encoder *encoder;
	char *endpoint; /* owns */
	int wake_fd;
	uint64_t now_ns;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const int no_linger = 0, patience_ms = PATIENCE_MS;

	fixture->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fixture->encoder = batch_encoder_create();
	fixture->context = zmq_ctx_new();
	assert_int_equal(receiver_create(fixture->context, &fixture->receiver), 0);
	assert_int_equal(receiver_bind(fixture->receiver, "tcp://127.0.0.1:*", &fixture->endpoint),
			 0);
	fixture->peer = zmq_socket(fixture->context, ZMQ_DEALER);
	fixture->news = zmq_socket(fixture->context, ZMQ_PAIR);
	zmq_setsockopt(fixture->peer, ZMQ_LINGER, &no_linger, sizeof(no_linger));
	zmq_setsockopt(fixture->news, ZMQ_RCVTIMEO, &patience_ms, sizeof(patience_ms));
	zmq_socket_monitor(fixture->peer, "inproc://news", ZMQ_EVENT_DISCONNECTED);
	assert_int_equal(zmq_connect(fixture->news, "inproc://news"), 0);
	assert_int_equal(zmq_connect(fixture->peer, fixture->endpoint), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	zmq_close(fixture->news);
	zmq_close(fixture->peer);
	receiver_destroy(fixture->receiver);
	zmq_ctx_term(fixture->context);
	batch_encoder_destroy(fixture->encoder);
	close(fixture->wake_fd);
	free(fixture->endpoint);
	free(fixture);
	return 0;
}

/* Reads until so many frames have come, and then looks at the connections. Returns how many were good messages. */
static uint32_t take(struct fixture *fixture, uint64_t frames)
{
	const struct message *message;
	struct peer *peer;
	uint32_t good = 0;

	for (int i = 0; receiver_counts(fixture->receiver)->frames < frames; i++) {
		assert_true(i < PATIENCE_MS / (int)CONNECTION_WATCH_LOOK_MS);
		receiver_wait(fixture->receiver, fixture->wake_fd, CONNECTION_WATCH_LOOK_MS);
		while (receiver_next(fixture->receiver, &peer, &message) == 1)
			good++;
		receiver_tidy(fixture->receiver, fixture->now_ns, true);
	}
	receiver_tidy(fixture->receiver, fixture->now_ns += LOOK_NS, true);
	return good;
}

static void ping(struct fixture *fixture)
{
	const struct message message = {.type = MESSAGE_PING, .ping = {.token = 7}};
	const uint8_t *frame;
	size_t size;

	assert_int_equal(batch_encode(fixture->encoder, &message, &frame, &size), 0);
	assert_int_equal(zmq_send(fixture->peer, frame, size, 0), size);
}

/* Each of these messages is whole, but no agent sends such messages. */
static void messages_of_several_parts_are_bytes_without_a_message(void **state)
{
	struct fixture *fixture = *state;
	char *zeros = calloc(1, PART);
	uint8_t event[64];

	ping(fixture);
	assert_int_equal(take(fixture, 1), 1);
	ping(fixture); /* by now the watch knows the connection */
	assert_int_equal(take(fixture, 2), 1);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(zmq_send(fixture->peer, zeros, PART, ZMQ_SNDMORE), PART);
		assert_int_equal(zmq_send(fixture->peer, zeros, 3 * 4096, 0), 3 * 4096);
		assert_int_equal(take(fixture, 3 + i), 0);
	}
	free(zeros);
	assert_int_equal(receiver_counts(fixture->receiver)->bad_frames, 2);
	assert_true(zmq_recv(fixture->news, event, sizeof(event), 0) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			messages_of_several_parts_are_bytes_without_a_message, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
