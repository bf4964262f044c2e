/* The agent's end of a connection, for tests: a DEALER that sends the frames it is given and
 * decodes the answers. Waits for events only; a wait of more than a minute fails the running
 * test. */
#ifndef TEST_AGENT_H
#define TEST_AGENT_H

#include "proto/batch/message.h"
#include "tests/aggregator/store/scenario.h"

struct test_agent;

/* zmq_context: borrowed until destroy. */
struct test_agent *test_agent_connect(void *zmq_context, const char *endpoint);
void test_agent_close(struct test_agent *agent);

/* Those that a test which failed has left: the context would wait for them without end. */
void test_agent_close_all(void);

void test_agent_send(struct test_agent *agent, const struct scenario_frame *frame);
void test_agent_send_bytes(struct test_agent *agent, const void *bytes, size_t size);

/* The next answer. Borrowed until the next call. */
const struct message *test_agent_receive(struct test_agent *agent);

/* Receives until one of this type comes. */
const struct message *test_agent_expect(struct test_agent *agent, enum message_type type);

/* Whether nothing is there right now. */
int test_agent_is_quiet(struct test_agent *agent);

/* Says HELLO and returns the durable sequence number that WELCOME tells. */
uint64_t test_agent_hello(struct test_agent *agent, const struct scenario *scenario);

/* Asks as the successor of the scenario's agent, on that node; NULL: on its own. Returns what it is told. */
uint64_t test_agent_ask(struct test_agent *agent, const struct scenario *scenario,
			const char *node);

/* Receives acknowledgements until everything up to seq is. */
void test_agent_expect_ack(struct test_agent *agent, uint64_t seq);

#endif
