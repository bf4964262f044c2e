#include "router_fixture.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"

#ifdef __SANITIZE_THREAD__
/* libzmq hands frames from thread to thread by atomics that the sanitizer doesn't see. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:libzmq.so\n";
}
#endif

struct router_fixture {
	void *context, *socket;
	char endpoint[128];
	uint8_t peer[256];
	size_t peer_size;
	struct batch_encoder *encoder;
	struct batch_decoder *decoder;
	struct message message;
	zmq_msg_t frame;
};

struct router_fixture *router_fixture_create(const char *endpoint)
{
	struct router_fixture *router = calloc(1, sizeof(*router));
	size_t size = sizeof(router->endpoint);
	int linger = 0, mandatory = 0;

	router->context = zmq_ctx_new();
	router->socket = zmq_socket(router->context, ZMQ_ROUTER);
	router->encoder = batch_encoder_create();
	router->decoder = batch_decoder_create();
	zmq_msg_init(&router->frame);
	zmq_setsockopt(router->socket, ZMQ_LINGER, &linger, sizeof(linger));
	zmq_setsockopt(router->socket, ZMQ_ROUTER_MANDATORY, &mandatory, sizeof(mandatory));
	/* The port of a router that was just closed is free as soon as its thread has let go of it.
	 */
	int r;
	do {
		r = zmq_bind(router->socket, endpoint);
	} while (r && errno == EADDRINUSE);
	assert_int_equal(r, 0);
	assert_int_equal(zmq_getsockopt(router->socket, ZMQ_LAST_ENDPOINT, router->endpoint, &size),
			 0);
	return router;
}

void router_fixture_destroy(struct router_fixture *router)
{
	if (!router)
		return;
	zmq_msg_close(&router->frame);
	zmq_close(router->socket);
	zmq_ctx_term(router->context);
	batch_encoder_destroy(router->encoder);
	batch_decoder_destroy(router->decoder);
	free(router);
}

const char *router_fixture_endpoint(const struct router_fixture *router)
{
	return router->endpoint;
}

void *router_fixture_context(const struct router_fixture *router)
{
	return router->context;
}

void router_fixture_bind(struct router_fixture *router, const char *endpoint)
{
	assert_int_equal(zmq_bind(router->socket, endpoint), 0);
}

const struct message *router_fixture_receive(struct router_fixture *router, int wait_ms)
{
	zmq_pollitem_t item = {.socket = router->socket, .events = ZMQ_POLLIN};

	if (zmq_poll(&item, 1, wait_ms) != 1)
		return NULL;
	int size = zmq_recv(router->socket, router->peer, sizeof(router->peer), 0);
	assert_true(size > 0);
	router->peer_size = (size_t)size;
	assert_true(zmq_msg_recv(&router->frame, router->socket, 0) >= 0);
	assert_false(zmq_msg_more(&router->frame));
	int r = batch_decode(router->decoder, zmq_msg_data(&router->frame),
			     zmq_msg_size(&router->frame), &router->message);
	if (r)
		fail_msg("frame: %s", batch_decoder_error(router->decoder));
	return &router->message;
}

void router_fixture_send(struct router_fixture *router, const struct message *message)
{
	const uint8_t *frame;
	size_t size;

	assert_int_equal(batch_encode(router->encoder, message, &frame, &size), 0);
	zmq_send(router->socket, router->peer, router->peer_size, ZMQ_SNDMORE);
	zmq_send(router->socket, frame, size, 0);
}

void router_fixture_welcome(struct router_fixture *router, uint64_t durable_seq,
			    uint32_t window_frames, uint64_t window_bytes)
{
	struct message message = {.type = MESSAGE_WELCOME,
				  .welcome = {.version = WIRE_VERSION,
					      .window_frames = window_frames,
					      .window_bytes = window_bytes,
					      .durable_seq = durable_seq}};

	router_fixture_send(router, &message);
}

void router_fixture_ack(struct router_fixture *router, uint64_t seq)
{
	struct message message = {
		.type = MESSAGE_ACK,
		.ack = {.seq = seq, .window_frames = 64, .window_bytes = 1u << 24}};

	router_fixture_send(router, &message);
}

void router_fixture_refuse(struct router_fixture *router, uint32_t code)
{
	struct message message = {.type = MESSAGE_REFUSE,
				  .refuse = {.code = code, .reason = {"because", 7}}};

	router_fixture_send(router, &message);
}
