/* A ROUTER by ipc:// and peers that say something or nothing, with the clock in the test's hand. */
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "aggregator/service/connection_watch.h"
#include "aggregator/service/descriptor_limit.h"

#define PATIENCE_MS 60000
#define LATER_NS    (2 * CONNECTION_WATCH_SILENT_NS)

struct fixture {
	void *context, *router;
	struct connection_watch *watch;
	char folder[64], path[96];
};

static int set_up_with(void **state, uint32_t connections_max)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char endpoint[128];
	int no_linger = 0;

	*state = fixture;
	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/flamegrid_watch_XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/socket", fixture->folder);
	snprintf(endpoint, sizeof(endpoint), "ipc://%s", fixture->path);
	fixture->context = zmq_ctx_new();
	fixture->router = zmq_socket(fixture->context, ZMQ_ROUTER);
	zmq_setsockopt(fixture->router, ZMQ_LINGER, &no_linger, sizeof(no_linger));
	if (connection_watch_create(fixture->context, fixture->router, connections_max,
				    &fixture->watch))
		return -1;
	return zmq_bind(fixture->router, endpoint);
}

static int set_up(void **state)
{
	return set_up_with(state, 100);
}

static int set_up_for_two(void **state)
{
	return set_up_with(state, 2);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	connection_watch_destroy(fixture->watch);
	zmq_close(fixture->router);
	zmq_ctx_term(fixture->context);
	unlink(fixture->path);
	int r = rmdir(fixture->folder);
	free(fixture);
	return r;
}

/* A peer that connects and says nothing, not even ZeroMQ's greeting. */
static int connect_silent(const struct fixture *fixture)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, fixture->path);
	assert_int_equal(connect(peer, (struct sockaddr *)&address, sizeof(address)), 0);
	return peer;
}

/* Takes news until so many connections are open, and so many were ended for lack of room. */
static void await_counts(struct fixture *fixture, uint32_t open, uint64_t crowded, uint64_t now_ns)
{
	const struct connection_watch_counts *counts = connection_watch_counts(fixture->watch);
	zmq_pollitem_t news = {.socket = connection_watch_socket(fixture->watch),
			       .events = ZMQ_POLLIN};

	while (counts->open != open || counts->crowded != crowded) {
		assert_int_equal(zmq_poll(&news, 1, PATIENCE_MS), 1);
		connection_watch_step(fixture->watch, now_ns);
	}
}

static void await_open(struct fixture *fixture, uint32_t count, uint64_t now_ns)
{
	await_counts(fixture, count, 0, now_ns);
}

/* Reads what the listener greets with, until the end. */
static void assert_ends(int peer)
{
	char bytes[256];

	while (recv(peer, bytes, sizeof(bytes), 0) > 0)
		;
	close(peer);
}

/* Waits until all bytes have come at the other end. */
static void await_sent(int peer)
{
	int unsent = 1;

	while (unsent) {
		assert_int_equal(ioctl(peer, SIOCOUTQ, &unsent), 0);
		sched_yield();
	}
}

static int assert_lives(int peer)
{
	char bytes[256];
	ssize_t size;

	do
		size = recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT);
	while (size > 0);
	assert_int_equal(size, -1);
	return peer;
}

/* Returns the descriptor of the connection by which a message came. */
static int receive(struct fixture *fixture)
{
	zmq_msg_t part;
	int fd, patience_ms = PATIENCE_MS;

	zmq_setsockopt(fixture->router, ZMQ_RCVTIMEO, &patience_ms, sizeof(patience_ms));
	zmq_msg_init(&part);
	do
		assert_true(zmq_msg_recv(&part, fixture->router, 0) >= 0);
	while (zmq_msg_more(&part));
	fd = zmq_msg_get(&part, ZMQ_SRCFD);
	zmq_msg_close(&part);
	return fd;
}

static void a_connection_without_a_word_ends_in_time_and_not_before(void **state)
{
	struct fixture *fixture = *state;
	int peer = connect_silent(fixture);

	await_open(fixture, 1, 5);
	connection_watch_expire(fixture->watch, CONNECTION_WATCH_SILENT_NS + 4);
	assert_lives(peer);
	connection_watch_expire(fixture->watch, CONNECTION_WATCH_SILENT_NS + 5);
	assert_ends(peer);
	await_open(fixture, 0, LATER_NS);
	assert_int_equal(connection_watch_counts(fixture->watch)->silent, 1);
}

static void who_was_heard_stays_until_it_is_ignored(void **state)
{
	struct fixture *fixture = *state;
	void *agent = zmq_socket(fixture->context, ZMQ_DEALER);
	char endpoint[128];

	snprintf(endpoint, sizeof(endpoint), "ipc://%s", fixture->path);
	assert_int_equal(zmq_connect(agent, endpoint), 0);
	assert_int_equal(zmq_send(agent, "hello", 5, 0), 5);
	int fd = receive(fixture);
	assert_true(fd >= 0);
	await_open(fixture, 1, 5);
	assert_true(connection_watch_heard(fixture->watch, fd));
	connection_watch_expire(fixture->watch, LATER_NS);
	assert_int_equal(connection_watch_counts(fixture->watch)->silent, 0);
	connection_watch_ignore(fixture->watch, fd);
	connection_watch_expire(fixture->watch, LATER_NS);
	assert_int_equal(connection_watch_counts(fixture->watch)->silent, 1);
	await_open(fixture, 0, LATER_NS);
	zmq_close(agent);
}

static void where_there_are_too_many_the_one_that_was_silent_for_longest_ends(void **state)
{
	struct fixture *fixture = *state;
	int first, second, third;

	first = connect_silent(fixture);
	await_open(fixture, 1, 1);
	second = connect_silent(fixture);
	await_open(fixture, 2, 2);
	third = connect_silent(fixture);
	await_counts(fixture, 2, 1, 3);
	assert_ends(first);
	close(assert_lives(second));
	close(assert_lives(third));
}

static void a_connection_within_the_process_is_none(void **state)
{
	struct fixture *fixture = *state;

	assert_true(connection_watch_heard(fixture->watch, -1));
	assert_false(connection_watch_heard(fixture->watch, 1000));
	assert_int_equal(connection_watch_counts(fixture->watch)->open, 0);
}

/* ---- a peer by TCP that writes ZMTP 3.0 itself (rfc.zeromq.org/spec/23): ZeroMQ's sockets send no message in parts */

static void put(int peer, const void *bytes, size_t size)
{
	assert_int_equal(send(peer, bytes, size, MSG_NOSIGNAL), size);
}

/* Returns the router's end of the connection. */
static int far_end(int peer)
{
	struct sockaddr_in own, far;
	socklen_t size = sizeof(own);

	assert_int_equal(getsockname(peer, (struct sockaddr *)&own, &size), 0);
	for (int fd = 0; fd < 1024; fd++) {
		size = sizeof(far);
		if (fd != peer && getpeername(fd, (struct sockaddr *)&far, &size) == 0 &&
		    far.sin_family == AF_INET && far.sin_port == own.sin_port)
			return fd;
	}
	return -1;
}

/* Waits until ZeroMQ has read all: it closes a connection whose greeting comes together with a message. */
static void await_read(int peer)
{
	int unread = 1;

	while (unread) {
		assert_int_equal(ioctl(far_end(peer), FIONREAD, &unread), 0);
		sched_yield();
	}
}

/* count: the connections that are open afterwards. */
static int connect_another(struct fixture *fixture, uint32_t count)
{
	static const char ready[] = "\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06"
				    "DEALER";
	unsigned char greeting[64] = {0xff, [9] = 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char endpoint[64];
	size_t size = sizeof(endpoint);
	int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(zmq_bind(fixture->router, "tcp://127.0.0.1:*"), 0);
	assert_int_equal(zmq_getsockopt(fixture->router, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
	address.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
	assert_int_equal(connect(peer, (struct sockaddr *)&address, sizeof(address)), 0);
	await_open(fixture, count, 5);
	put(peer, greeting, sizeof(greeting));
	await_read(peer);
	put(peer, ready, sizeof(ready) - 1);
	await_read(peer);
	return peer;
}

static int connect_by_hand(struct fixture *fixture)
{
	return connect_another(fixture, 1);
}

/* Sends parts of a message that does not end, and looks after each. Returns the bytes until its connection ended. */
static uint64_t send_without_end(struct fixture *fixture, int peer)
{
	static unsigned char part[9 + 65536] = {0x03, [6] = 1}; /* more follows; 65,536 bytes */
	const struct connection_watch_counts *counts = connection_watch_counts(fixture->watch);
	uint64_t sent = 0;

	for (uint64_t now_ns = 10; counts->endless == 0; now_ns += 2000000000u) {
		put(peer, part, sizeof(part));
		sent += sizeof(part);
		assert_true(sent < 8ull * CONNECTION_WATCH_ENDLESS_MAX);
		connection_watch_expire(fixture->watch, now_ns % CONNECTION_WATCH_SILENT_NS);
	}
	await_open(fixture, 0, LATER_NS);
	close(peer);
	return sent;
}

static void a_first_message_without_an_end_ends_its_connection(void **state)
{
	struct fixture *fixture = *state;
	uint64_t sent = send_without_end(fixture, connect_by_hand(fixture));

	assert_true(sent > CONNECTION_WATCH_FIRST_MAX);
}

static void a_later_message_without_an_end_ends_its_connection(void **state)
{
	struct fixture *fixture = *state;
	int peer = connect_by_hand(fixture), fd;

	fd = far_end(peer);
	assert_true(connection_watch_heard(fixture->watch, fd));
	connection_watch_took(fixture->watch, fd);
	assert_true(send_without_end(fixture, peer) > CONNECTION_WATCH_ENDLESS_MAX);
}

/* Sends a part of a message that goes on, and waits until all its bytes have come. */
static void put_part(int peer, uint32_t size)
{
	unsigned char head[9] = {0x03};
	char *zeros = calloc(1, size);

	for (int i = 0; i < 4; i++)
		head[8 - i] = (unsigned char)(size >> 8 * i);
	put(peer, head, sizeof(head));
	put(peer, zeros, size);
	free(zeros);
	await_sent(peer);
}

static void a_message_that_is_not_understood_raises_no_limit(void **state)
{
	struct fixture *fixture = *state;
	int peer = connect_by_hand(fixture);

	connection_watch_took(fixture->watch, far_end(peer));
	connection_watch_expire(fixture->watch, 1000000000u);
	put_part(peer, CONNECTION_WATCH_FIRST_MAX + 4096);
	connection_watch_expire(fixture->watch, 3000000000u);
	assert_int_equal(connection_watch_counts(fixture->watch)->endless, 1);
	close(peer);
}

static void connections_that_nobody_knows_share_a_limit(void **state)
{
	enum { MANY = 12, FEW = 7, PART = CONNECTION_WATCH_FIRST_MAX - 4096 };
	struct fixture *fixture = *state;
	int peers[MANY], small, known;

	known = connect_by_hand(fixture);
	small = connect_another(fixture, 2);
	for (uint32_t i = 0; i < MANY; i++)
		peers[i] = connect_another(fixture, 3 + i);
	assert_true(connection_watch_heard(fixture->watch, far_end(known)));
	put_part(known, PART);
	put_part(small, 4096);
	for (uint32_t i = 0; i < FEW; i++)
		put_part(peers[i], PART);
	connection_watch_expire(fixture->watch, 2000000000u);
	assert_int_equal(connection_watch_counts(fixture->watch)->endless, 0);
	for (uint32_t i = FEW; i < MANY; i++)
		put_part(peers[i], PART);
	connection_watch_expire(fixture->watch, CONNECTION_WATCH_SILENT_NS - 1);
	assert_int_equal(connection_watch_counts(fixture->watch)->endless, MANY);
	await_open(fixture, 2, 5);
	for (uint32_t i = 0; i < MANY; i++)
		close(peers[i]);
	close(assert_lives(small));
	close(assert_lives(known));
}

static void somebody_unknown_is_looked_at_soon(void **state)
{
	struct fixture *fixture = *state;
	int peer;

	assert_int_equal(connection_watch_wait_ms(fixture->watch, 1000), 1000);
	peer = connect_by_hand(fixture);
	assert_int_equal(connection_watch_wait_ms(fixture->watch, -1), CONNECTION_WATCH_LOOK_MS);
	assert_int_equal(connection_watch_wait_ms(fixture->watch, 3), 3);
	int fd = far_end(peer);
	assert_true(connection_watch_heard(fixture->watch, fd));
	connection_watch_expire(fixture->watch, 10);
	assert_int_equal(connection_watch_wait_ms(fixture->watch, -1), -1);
	connection_watch_ignore(fixture->watch, fd);
	assert_int_equal(connection_watch_wait_ms(fixture->watch, 1000), CONNECTION_WATCH_LOOK_MS);
	close(peer);
}

static void many_whole_messages_end_no_connection(void **state)
{
	static char message[10 + 255] = {0x00, (char)0xff};
	struct fixture *fixture = *state;
	int peer = connect_by_hand(fixture), fd = -1;

	for (uint64_t sent = 0, now_ns = 10; sent < 3ull * CONNECTION_WATCH_ENDLESS_MAX;
	     now_ns += 2000000000u) {
		for (int i = 0; i < 1000; i++, sent += 257)
			put(peer, message, 257);
		for (int i = 0; i < 1000; i++)
			fd = receive(fixture);
		connection_watch_heard(fixture->watch, fd);
		connection_watch_took(fixture->watch, fd);
		connection_watch_expire(fixture->watch, now_ns);
	}
	assert_int_equal(connection_watch_counts(fixture->watch)->endless, 0);
	close(assert_lives(peer));
}

static void descriptors_are_enough_for_stores_and_connections(void **state)
{
	(void)state;
	for (uint32_t limit = 64; limit < 2000000; limit += limit / 3) {
		uint32_t stores = descriptor_limit_stores(limit);
		uint32_t connections = descriptor_limit_connections(limit);

		assert_true(stores >= 1 && connections >= 1);
		assert_true(4 * stores + connections < limit);
	}
	assert_true(descriptor_limit_connections(1024) >= 800);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_connection_without_a_word_ends_in_time_and_not_before),
		TEST(who_was_heard_stays_until_it_is_ignored),
		cmocka_unit_test_setup_teardown(
			where_there_are_too_many_the_one_that_was_silent_for_longest_ends,
			set_up_for_two, tear_down),
		TEST(a_first_message_without_an_end_ends_its_connection),
		TEST(a_later_message_without_an_end_ends_its_connection),
		TEST(a_message_that_is_not_understood_raises_no_limit),
		TEST(connections_that_nobody_knows_share_a_limit),
		TEST(somebody_unknown_is_looked_at_soon),
		TEST(many_whole_messages_end_no_connection),
		TEST(a_connection_within_the_process_is_none),
		cmocka_unit_test(descriptors_are_enough_for_stores_and_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
