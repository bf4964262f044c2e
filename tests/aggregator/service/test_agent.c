#include "test_agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

#include "proto/batch/batch_decode.h"

#define PATIENCE_MS 60000 /* a disk that others write to may take its time to commit */

struct test_agent {
	struct test_agent *next; /* of those that are connected */
	void *socket;
	struct batch_decoder *decoder;
	struct message message;
	zmq_msg_t frame;
};

static struct test_agent *connected;

struct test_agent *test_agent_connect(void *zmq_context, const char *endpoint)
{
	struct test_agent *agent = calloc(1, sizeof(*agent));
	int patience_ms = PATIENCE_MS, linger_ms = 0;

	assert_non_null(agent);
	agent->decoder = batch_decoder_create();
	assert_non_null(agent->decoder);
	zmq_msg_init(&agent->frame);
	agent->socket = zmq_socket(zmq_context, ZMQ_DEALER);
	assert_non_null(agent->socket);
	zmq_setsockopt(agent->socket, ZMQ_RCVTIMEO, &patience_ms, sizeof(patience_ms));
	zmq_setsockopt(agent->socket, ZMQ_SNDTIMEO, &patience_ms, sizeof(patience_ms));
	zmq_setsockopt(agent->socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
	agent->next = connected;
	connected = agent;
	assert_int_equal(zmq_connect(agent->socket, endpoint), 0);
	return agent;
}

void test_agent_close(struct test_agent *agent)
{
	for (struct test_agent **link = &connected; *link; link = &(*link)->next)
		if (*link == agent) {
			*link = agent->next;
			break;
		}
	zmq_msg_close(&agent->frame);
	zmq_close(agent->socket);
	batch_decoder_destroy(agent->decoder);
	free(agent);
}

void test_agent_close_all(void)
{
	while (connected)
		test_agent_close(connected);
}

void test_agent_send_bytes(struct test_agent *agent, const void *bytes, size_t size)
{
	assert_int_equal(zmq_send(agent->socket, bytes, size, 0), size);
}

void test_agent_send(struct test_agent *agent, const struct scenario_frame *frame)
{
	test_agent_send_bytes(agent, frame->bytes, frame->size);
}

const struct message *test_agent_receive(struct test_agent *agent)
{
	assert_true(zmq_msg_recv(&agent->frame, agent->socket, 0) >= 0);
	assert_int_equal(batch_decode(agent->decoder, zmq_msg_data(&agent->frame),
				      zmq_msg_size(&agent->frame), &agent->message),
			 0);
	return &agent->message;
}

const struct message *test_agent_expect(struct test_agent *agent, enum message_type type)
{
	const struct message *message;

	do
		message = test_agent_receive(agent);
	while (message->type != type);
	return message;
}

int test_agent_is_quiet(struct test_agent *agent)
{
	zmq_pollitem_t item = {.socket = agent->socket, .events = ZMQ_POLLIN};

	return zmq_poll(&item, 1, 0) == 0;
}

uint64_t test_agent_hello(struct test_agent *agent, const struct scenario *scenario)
{
	test_agent_send(agent, &scenario->hello_frame);
	const struct message *welcome = test_agent_expect(agent, MESSAGE_WELCOME);
	assert_int_equal(welcome->welcome.version, WIRE_VERSION);
	assert_true(welcome->welcome.window_frames > 0);
	assert_true(welcome->welcome.window_bytes > 0);
	return welcome->welcome.durable_seq;
}

uint64_t test_agent_ask(struct test_agent *agent, const struct scenario *scenario, const char *node)
{
	struct message message = {.type = MESSAGE_HELLO, .hello = scenario->hello};

	message.hello.asks = true;
	memcpy(message.hello.epoch, scenario->epoch, WIRE_EPOCH_SIZE);
	if (node)
		message.hello.node = (struct message_text){node, (uint32_t)strlen(node)};
	struct scenario_frame frame = scenario_encode(&message);

	test_agent_send(agent, &frame);
	free(frame.bytes);
	return test_agent_expect(agent, MESSAGE_WELCOME)->welcome.durable_seq;
}

void test_agent_expect_ack(struct test_agent *agent, uint64_t seq)
{
	while (test_agent_expect(agent, MESSAGE_ACK)->ack.seq < seq)
		;
}
