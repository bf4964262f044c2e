/* A receiver with keys, and those who want in: each must be heard, or told off before anything it sent was. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "aggregator/service/admission.h"
#include "aggregator/service/receiver.h"
#include "proto/batch/batch_encode.h"
#include "proto/trust/user_keys.h"

#ifdef __SANITIZE_THREAD__
/* libzmq hands frames from thread to thread by atomics that the sanitizer doesn't see. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:libzmq.so\n";
}
#endif

#define WAIT_MS  20
#define PATIENCE 1000 /* waits */

struct client {
	void *socket, *monitor;
};

struct fixture {
	void *context;
	struct client client; /* closed by tear_down if the test fails */
	unsigned int nr_clients;
	struct receiver *receiver;
	struct key_set keys, alice, bob; /* the agents', and two users' */
	struct user_keys *users;
	const char *routing_id; /* of clients; NULL: one that the receiver makes up */
	char folder[64], path[96], users_path[96];
	char user[PEER_USER_MAX + 1]; /* of the peer that was heard last */
	bool was_new;                 /* nothing was known of it */
	char *endpoints[2];           /* tcp and ipc; own */
	int pipe[2];
};

static void add_user(struct fixture *fixture, const char *name, struct key_set *keys)
{
	char *error;

	assert_int_equal(admission_make_keys(keys), 0);
	memcpy(keys->server_public, fixture->keys.server_public, KEY_SET_TEXT);
	assert_int_equal(user_keys_add(fixture->users_path, name, keys->client_public, &error), 0);
}

static int set_up(void **state)
{
	char *error;

	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->context = zmq_ctx_new();
	assert_int_equal(pipe(fixture->pipe), 0);
	strcpy(fixture->folder, "/tmp/admission_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "ipc://%s/socket", fixture->folder);
	assert_int_equal(admission_make_keys(&fixture->keys), 0);
	snprintf(fixture->users_path, sizeof(fixture->users_path), "%s/users", fixture->folder);
	add_user(fixture, "alice", &fixture->alice);
	add_user(fixture, "bob", &fixture->bob);
	assert_int_equal(user_keys_open(fixture->users_path, &fixture->users, &error), 0);
	assert_int_equal(receiver_create(fixture->context, &fixture->receiver), 0);
	assert_int_equal(receiver_protect(fixture->receiver, &fixture->keys, fixture->users, false),
			 0);
	assert_int_equal(
		receiver_bind(fixture->receiver, "tcp://127.0.0.1:*", &fixture->endpoints[0]), 0);
	assert_int_equal(receiver_bind(fixture->receiver, fixture->path, &fixture->endpoints[1]),
			 0);
	*state = fixture;
	return 0;
}

static void close_client(struct client *client)
{
	if (client->monitor)
		zmq_close(client->monitor);
	if (client->socket)
		zmq_close(client->socket);
	*client = (struct client){0};
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	close_client(&fixture->client);
	receiver_destroy(fixture->receiver);
	user_keys_close(fixture->users);
	unlink(fixture->users_path);
	zmq_ctx_term(fixture->context);
	for (int i = 0; i < 2; i++) {
		free(fixture->endpoints[i]);
		close(fixture->pipe[i]);
	}
	unlink(fixture->path + strlen("ipc://"));
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	return 0;
}

/* Whatever mask its user has. */
static void a_socket_without_keys_is_for_its_user_alone(void **state)
{
	struct fixture *fixture = *state;
	struct receiver *receiver;
	struct stat status;
	char path[128], *actual;

	snprintf(path, sizeof(path), "%s-open", fixture->path);
	assert_int_equal(receiver_create(fixture->context, &receiver), 0);
	mode_t mask = umask(0);
	assert_int_equal(receiver_bind(receiver, path, &actual), 0);
	assert_int_equal(umask(mask), 0);
	assert_int_equal(stat(path + strlen("ipc://"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	free(actual);
	receiver_destroy(receiver);
	unlink(path + strlen("ipc://"));
}

/* The first one takes the file of a socket at which nobody listens any more, and the lock beside it. */
static void a_path_has_one_receiver_at_a_time(void **state)
{
	struct sockaddr_un left = {.sun_family = AF_UNIX};
	struct fixture *fixture = *state;
	struct receiver *first, *second;
	char path[128], lock[128], *actual;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(left.sun_path, sizeof(left.sun_path), "%s/one", fixture->folder);
	assert_int_equal(bind(fd, (const struct sockaddr *)&left, sizeof(left)), 0);
	close(fd);
	snprintf(path, sizeof(path), "ipc://%s", left.sun_path);
	snprintf(lock, sizeof(lock), "%s.lock", left.sun_path);
	fd = open(lock, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(receiver_create(NULL, &first), 0);
	assert_int_equal(receiver_bind(first, path, &actual), 0);
	free(actual);
	assert_int_equal(receiver_create(NULL, &second), 0);
	assert_int_equal(receiver_bind(second, path, &actual), -EADDRINUSE);
	assert_null(actual);
	receiver_destroy(first);
	assert_int_equal(access(lock, F_OK), -1);
	assert_int_equal(receiver_bind(second, path, &actual), 0);
	free(actual);
	receiver_destroy(second);
	assert_int_equal(access(lock, F_OK), -1);
	unlink(left.sun_path);
}

static void send_ping(void *socket)
{
	const struct message ping = {.type = MESSAGE_PING, .ping.token = 7};
	struct batch_encoder *encoder = batch_encoder_create();
	const uint8_t *frame;
	size_t size;

	assert_int_equal(batch_encode(encoder, &ping, &frame, &size), 0);
	assert_true(zmq_send(socket, frame, size, 0) >= 0);
	batch_encoder_destroy(encoder);
}

/* keys NULL: none. It sends at once, and ZeroMQ keeps that until it is let in. */
static void connect_client(struct fixture *fixture, const char *endpoint,
			   const struct key_set *keys, struct client *client)
{
	const int no_linger = 0;
	char monitor[32];

	snprintf(monitor, sizeof(monitor), "inproc://monitor-%u", fixture->nr_clients++);

	client->socket = zmq_socket(fixture->context, ZMQ_DEALER);
	zmq_setsockopt(client->socket, ZMQ_LINGER, &no_linger, sizeof(no_linger));
	if (fixture->routing_id)
		zmq_setsockopt(client->socket, ZMQ_ROUTING_ID, fixture->routing_id,
			       strlen(fixture->routing_id));
	if (keys) {
		assert_int_equal(zmq_setsockopt(client->socket, ZMQ_CURVE_SERVERKEY,
						keys->server_public, KEY_SET_TEXT),
				 0);
		assert_int_equal(zmq_setsockopt(client->socket, ZMQ_CURVE_PUBLICKEY,
						keys->client_public, KEY_SET_TEXT),
				 0);
		assert_int_equal(zmq_setsockopt(client->socket, ZMQ_CURVE_SECRETKEY,
						keys->client_secret, KEY_SET_TEXT),
				 0);
	}
	assert_int_equal(zmq_socket_monitor(client->socket, monitor,
					    ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
						    ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
						    ZMQ_EVENT_HANDSHAKE_FAILED_AUTH),
			 0);
	client->monitor = zmq_socket(fixture->context, ZMQ_PAIR);
	assert_int_equal(zmq_connect(client->monitor, monitor), 0);
	assert_int_equal(zmq_connect(client->socket, endpoint), 0);
	send_ping(client->socket);
}

/* Turns the receiver's loop until the client is heard (1) or told off (0), or so often (-1). */
static int outcome(struct fixture *fixture, const struct client *client, int turns)
{
	for (int i = 0; i < turns; i++) {
		const struct message *message;
		struct peer *peer;
		char part[64];

		assert_int_equal(receiver_wait(fixture->receiver, fixture->pipe[0], WAIT_MS), 0);
		if (receiver_next(fixture->receiver, &peer, &message) == 1) {
			assert_int_equal(message->type, MESSAGE_PING);
			strcpy(fixture->user, peer->user);
			fixture->was_new = !peer->gap_reported;
			peer->gap_reported = true;
			return 1;
		}
		receiver_tidy(fixture->receiver, 0, false);
		if (zmq_recv(client->monitor, part, sizeof(part), ZMQ_DONTWAIT) >= 0)
			return 0;
	}
	return -1;
}

static int comes_in(struct fixture *fixture, const char *endpoint, const struct key_set *keys)
{
	int heard;

	connect_client(fixture, endpoint, keys, &fixture->client);
	heard = outcome(fixture, &fixture->client, PATIENCE);
	close_client(&fixture->client);
	assert_int_not_equal(heard, -1);
	return heard;
}

/* A routing id is refused while its last connection is not known to be closed. */
static void comes_again(struct fixture *fixture, const struct key_set *keys)
{
	int heard = -1;

	for (int i = 0; i < PATIENCE && heard < 0; i++) {
		connect_client(fixture, fixture->endpoints[0], keys, &fixture->client);
		heard = outcome(fixture, &fixture->client, 10);
		close_client(&fixture->client);
	}
	assert_int_equal(heard, 1);
}

static void who_has_the_agents_keys_is_heard(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(comes_in(fixture, fixture->endpoints[0], &fixture->keys), 1);
	assert_int_equal(comes_in(fixture, fixture->endpoints[1], &fixture->keys), 1);
	assert_int_equal(receiver_counts(fixture->receiver)->strangers, 0);
}

static void each_user_is_known_by_the_key(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(comes_in(fixture, fixture->endpoints[i], &fixture->alice), 1);
		assert_string_equal(fixture->user, "alice");
		assert_int_equal(comes_in(fixture, fixture->endpoints[i], &fixture->bob), 1);
		assert_string_equal(fixture->user, "bob");
		assert_int_equal(comes_in(fixture, fixture->endpoints[i], &fixture->keys), 1);
		assert_string_equal(fixture->user, "");
	}
}

/* A routing id is the client's choice. */
static void another_users_routing_id_gives_nothing(void **state)
{
	struct fixture *fixture = *state;
	const struct key_set *const order[] = {&fixture->keys, &fixture->bob, &fixture->alice,
					       &fixture->alice};

	for (int i = 0; i < 4; i++) {
		fixture->routing_id = "the same";
		comes_again(fixture, order[i]);
		assert_int_equal(fixture->was_new, i < 3);
	}
	assert_string_equal(fixture->user, "alice");
}

static void a_pair_of_keys_of_ones_own_is_not_enough(void **state)
{
	struct fixture *fixture = *state;
	struct key_set own;

	assert_int_equal(admission_make_keys(&own), 0);
	memcpy(own.server_public, fixture->keys.server_public, KEY_SET_TEXT);
	for (int i = 0; i < 2; i++)
		assert_int_equal(comes_in(fixture, fixture->endpoints[i], &own), 0);
	assert_true(receiver_counts(fixture->receiver)->strangers >= 2);
	assert_int_equal(receiver_counts(fixture->receiver)->frames, 0);
}

static void the_public_keys_are_not_enough(void **state)
{
	struct fixture *fixture = *state;
	struct key_set own;

	assert_int_equal(admission_make_keys(&own), 0);
	memcpy(own.server_public, fixture->keys.server_public, KEY_SET_TEXT);
	memcpy(own.client_public, fixture->keys.client_public, KEY_SET_TEXT);
	assert_int_equal(comes_in(fixture, fixture->endpoints[0], &own), 0);
	assert_int_equal(receiver_counts(fixture->receiver)->frames, 0);
}

static void without_keys_nobody_is_heard(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 2; i++)
		assert_int_equal(comes_in(fixture, fixture->endpoints[i], NULL), 0);
	assert_int_equal(receiver_counts(fixture->receiver)->frames, 0);
}

static void an_aggregator_that_is_another_one_gets_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct key_set own = fixture->keys, other;

	assert_int_equal(admission_make_keys(&other), 0);
	memcpy(own.server_public, other.server_public, KEY_SET_TEXT);
	assert_int_equal(comes_in(fixture, fixture->endpoints[0], &own), 0);
	assert_int_equal(receiver_counts(fixture->receiver)->frames, 0);
}

static void the_same_process_needs_no_keys(void **state)
{
	struct fixture *fixture = *state;
	char *actual;

	assert_int_equal(receiver_bind(fixture->receiver, "inproc://inside", &actual), 0);
	free(actual);
	assert_int_equal(comes_in(fixture, "inproc://inside", NULL), 1);
}

static void only_one_answers_in_a_context(void **state)
{
	struct fixture *fixture = *state;
	struct key_set agents = fixture->keys;
	struct admission *second;

	assert_int_equal(admission_create(fixture->context, &fixture->keys, NULL, false, &second),
			 -EADDRINUSE);
	assert_null(second);
	memset(agents.server_secret, 0, sizeof(agents.server_secret));
	assert_int_equal(admission_create(fixture->context, &agents, NULL, false, &second),
			 -EINVAL);
	assert_null(second);
	admission_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_has_the_agents_keys_is_heard),
		TEST(each_user_is_known_by_the_key),
		TEST(another_users_routing_id_gives_nothing),
		TEST(a_pair_of_keys_of_ones_own_is_not_enough),
		TEST(the_public_keys_are_not_enough),
		TEST(without_keys_nobody_is_heard),
		TEST(an_aggregator_that_is_another_one_gets_nothing),
		TEST(the_same_process_needs_no_keys),
		TEST(only_one_answers_in_a_context),
		TEST(a_socket_without_keys_is_for_its_user_alone),
		TEST(a_path_has_one_receiver_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
