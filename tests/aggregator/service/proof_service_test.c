/* A receiver that asks munge whose connections are, and those who want in, some of them hostile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "aggregator/service/admission.h"
#include "aggregator/service/connection_watch.h"
#include "aggregator/service/proof_service.h"
#include "aggregator/service/receiver.h"
#include "base/clock.h"
#include "base/munge/munge_library.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "tests/support/fake_munge/fake_munge.h"

#ifdef __SANITIZE_THREAD__
/* libzmq hands frames, which libsodium decrypts, from thread to thread by atomics that the sanitizer doesn't see. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:libzmq.so\ncalled_from_lib:libsodium.so\n";
}
#endif

#define WAIT_MS  20
#define PATIENCE 1000 /* waits */

enum who { ALICE, BOB, AGENTS, WHO_COUNT };

struct client {
	void *socket;
	struct key_set keys;
};

struct fixture {
	void *context;
	int wake_fd;
	struct receiver *receiver;
	struct proof_service proofs;
	struct key_set keys;
	char *endpoint; /* owns */
	struct client clients[WHO_COUNT];
	struct batch_encoder *encoder;
	struct batch_decoder *decoder;
	zmq_msg_t frame;
	uint64_t token;               /* of the PING that was heard last; 0: none */
	char user[PEER_USER_MAX + 1]; /* of its sender */
};

/* With the keys that the client has. */
static void connect_client(struct fixture *fixture, enum who who, const char *routing_id)
{
	struct client *client = &fixture->clients[who];
	const int no_linger = 0;

	client->socket = zmq_socket(fixture->context, ZMQ_DEALER);
	zmq_setsockopt(client->socket, ZMQ_LINGER, &no_linger, sizeof(no_linger));
	if (routing_id)
		zmq_setsockopt(client->socket, ZMQ_ROUTING_ID, routing_id, strlen(routing_id));
	zmq_setsockopt(client->socket, ZMQ_CURVE_SERVERKEY, fixture->keys.server_public,
		       KEY_SET_TEXT);
	zmq_setsockopt(client->socket, ZMQ_CURVE_PUBLICKEY, client->keys.client_public,
		       KEY_SET_TEXT);
	zmq_setsockopt(client->socket, ZMQ_CURVE_SECRETKEY, client->keys.client_secret,
		       KEY_SET_TEXT);
	assert_int_equal(zmq_connect(client->socket, fixture->endpoint), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *error;

	fake_munge_reset();
	zmq_msg_init(&fixture->frame);
	fixture->context = zmq_ctx_new();
	fixture->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fixture->encoder = batch_encoder_create();
	fixture->decoder = batch_decoder_create();
	assert_int_equal(admission_make_keys(&fixture->keys), 0);
	assert_int_equal(receiver_create(fixture->context, &fixture->receiver), 0);
	assert_int_equal(receiver_protect(fixture->receiver, &fixture->keys, NULL, true), 0);
	assert_int_equal(receiver_bind(fixture->receiver, "tcp://127.0.0.1:*", &fixture->endpoint),
			 0);
	assert_int_equal(proof_service_start(&fixture->proofs, fixture->receiver,
					     fixture->keys.server_public, fixture->wake_fd, &error),
			 0);
	fixture->clients[AGENTS].keys = fixture->keys;
	for (enum who who = ALICE; who < AGENTS; who++)
		assert_int_equal(admission_make_keys(&fixture->clients[who].keys), 0);
	for (enum who who = ALICE; who < WHO_COUNT; who++)
		connect_client(fixture, who, NULL);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	proof_service_stop(&fixture->proofs);
	fake_munge_hang(false);
	for (enum who who = ALICE; who < WHO_COUNT; who++)
		if (fixture->clients[who].socket)
			zmq_close(fixture->clients[who].socket);
	receiver_destroy(fixture->receiver);
	zmq_msg_close(&fixture->frame);
	zmq_ctx_term(fixture->context);
	batch_encoder_destroy(fixture->encoder);
	batch_decoder_destroy(fixture->decoder);
	close(fixture->wake_fd);
	free(fixture->endpoint);
	free(fixture);
	return 0;
}

/* ---- the aggregator's loop */

static void turn(struct fixture *fixture)
{
	const struct message *message;
	struct peer *peer;
	uint64_t count;

	assert_int_equal(receiver_wait(fixture->receiver, fixture->wake_fd, WAIT_MS), 0);
	if (read(fixture->wake_fd, &count, sizeof(count)) < 0)
		assert_int_equal(errno, EAGAIN);
	while (receiver_next(fixture->receiver, &peer, &message) == 1) {
		if (message->type == MESSAGE_PROOF) {
			proof_service_handle(&fixture->proofs, peer, &message->proof);
			continue;
		}
		assert_int_equal(message->type, MESSAGE_PING);
		fixture->token = message->ping.token;
		strcpy(fixture->user, peer->user);
	}
	proof_service_step(&fixture->proofs, clock_now_ns());
	receiver_tidy(fixture->receiver, clock_now_ns(), false);
}

/* ---- clients */

static void send_message(struct fixture *fixture, enum who who, const struct message *message)
{
	const uint8_t *frame;
	size_t size;

	assert_int_equal(batch_encode(fixture->encoder, message, &frame, &size), 0);
	assert_true(zmq_send(fixture->clients[who].socket, frame, size, 0) >= 0);
}

/* The answer is borrowed until the next one. */
static struct message await_answer(struct fixture *fixture, enum who who)
{
	struct message answer = {0};

	for (int i = 0; i < PATIENCE; i++) {
		if (zmq_msg_recv(&fixture->frame, fixture->clients[who].socket, ZMQ_DONTWAIT) >=
		    0) {
			assert_int_equal(batch_decode(fixture->decoder,
						      zmq_msg_data(&fixture->frame),
						      zmq_msg_size(&fixture->frame), &answer),
					 0);
			return answer;
		}
		turn(fixture);
	}
	fail_msg("no answer");
	return answer;
}

static char *make_credential(const char *server_public, const char *client_public)
{
	char text[KEY_SET_PROOF], *credential, *error;

	key_set_proof(server_public, client_public, text);
	assert_int_equal(munge_library_encode(text, &credential, &error), 0);
	return credential;
}

static void send_proof(struct fixture *fixture, enum who who, const char *credential)
{
	const struct message proof = {.type = MESSAGE_PROOF,
				      .proof.text = {credential, (uint32_t)strlen(credential)}};

	send_message(fixture, who, &proof);
}

/* Takes the credential. reason NULL: it is believed. */
static void shows(struct fixture *fixture, enum who who, char *credential, const char *reason)
{
	send_proof(fixture, who, credential);
	free(credential);
	const struct message answer = await_answer(fixture, who);
	if (!reason) {
		assert_int_equal(answer.type, MESSAGE_PROOF);
		return;
	}
	assert_int_equal(answer.type, MESSAGE_REFUSE);
	assert_int_equal(answer.refuse.code, REFUSE_UNPROVEN);
	char *text = strndup(answer.refuse.reason.data, answer.refuse.reason.size);
	if (!strstr(text, reason))
		fail_msg("%s: without \"%s\"", text, reason);
	free(text);
}

static char *own_credential(struct fixture *fixture, enum who who, uid_t uid)
{
	fake_munge_user(uid);
	return make_credential(fixture->keys.server_public,
			       fixture->clients[who].keys.client_public);
}

static void send_ping(struct fixture *fixture, enum who who, uint64_t token)
{
	send_message(fixture, who, &(struct message){.type = MESSAGE_PING, .ping.token = token});
}

static void is_heard_as(struct fixture *fixture, enum who who, const char *user)
{
	static uint64_t token;

	send_ping(fixture, who, ++token);
	for (int i = 0; i < PATIENCE && fixture->token != token; i++)
		turn(fixture);
	assert_int_equal(fixture->token, token);
	assert_string_equal(fixture->user, user);
}

static void is_not_heard(struct fixture *fixture, enum who who)
{
	send_ping(fixture, who, UINT64_MAX);
	const struct message answer = await_answer(fixture, who);
	assert_int_equal(answer.type, MESSAGE_REFUSE);
	assert_int_equal(answer.refuse.code, REFUSE_UNPROVEN);
	assert_int_not_equal(fixture->token, UINT64_MAX);
}

/* ---- tests */

static void a_connection_is_nobodys_until_it_is_proven(void **state)
{
	struct fixture *fixture = *state;

	is_not_heard(fixture, ALICE);
	shows(fixture, ALICE, own_credential(fixture, ALICE, 0), NULL);
	is_heard_as(fixture, ALICE, "root");
	shows(fixture, BOB, own_credential(fixture, BOB, 3999999998), NULL);
	is_heard_as(fixture, BOB, "3999999998");
	is_heard_as(fixture, ALICE, "root");
	is_heard_as(fixture, AGENTS, "");
	assert_int_equal(receiver_counts(fixture->receiver)->strangers, 0);
}

static void an_answer_that_was_lost_comes_again(void **state)
{
	struct fixture *fixture = *state;

	shows(fixture, ALICE, own_credential(fixture, ALICE, 0), NULL);
	const uint32_t decoded = fake_munge_decoded();
	shows(fixture, ALICE, own_credential(fixture, ALICE, 0), NULL);
	shows(fixture, AGENTS, strdup("words"), NULL); /* which need none */
	assert_int_equal(fake_munge_decoded(), decoded);
}

static void a_credential_for_another_connection_proves_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct key_set other;

	shows(fixture, BOB, own_credential(fixture, ALICE, 0), "for another connection");
	is_not_heard(fixture, BOB);
	assert_int_equal(admission_make_keys(&other), 0);
	shows(fixture, BOB,
	      make_credential(other.server_public, fixture->clients[BOB].keys.client_public),
	      "for another connection or aggregator");
	is_not_heard(fixture, BOB);
	shows(fixture, BOB, strdup("MUNGE:AwQDAAA=:"), "Invalid credential format");
	is_not_heard(fixture, BOB);
	assert_int_equal(fixture->proofs.refused, 3);
}

static void a_credential_counts_once(void **state)
{
	struct fixture *fixture = *state;
	char *seen = own_credential(fixture, ALICE, 0), *copy = strdup(seen);

	shows(fixture, BOB, copy, "for another connection"); /* who has seen it somehow */
	shows(fixture, ALICE, seen, "Replayed credential");
	is_not_heard(fixture, ALICE);
	shows(fixture, ALICE, own_credential(fixture, ALICE, 0), NULL);
	is_heard_as(fixture, ALICE, "root");
}

static void an_old_credential_or_one_of_another_realm_proves_nothing(void **state)
{
	struct fixture *fixture = *state;

	fake_munge_expired(true);
	shows(fixture, ALICE, own_credential(fixture, ALICE, 0), "Expired credential");
	fake_munge_expired(false);
	fake_munge_realm(2);
	shows(fixture, ALICE, own_credential(fixture, ALICE, 0), "the same munge.key");
	is_not_heard(fixture, ALICE);
}

static void a_connection_that_comes_again_is_proven_again(void **state)
{
	struct fixture *fixture = *state;
	char *credential = own_credential(fixture, ALICE, 0);

	shows(fixture, ALICE, strdup(credential), NULL);
	zmq_close(fixture->clients[ALICE].socket);
	connect_client(fixture, ALICE, NULL); /* with the same key */
	is_not_heard(fixture, ALICE);
	shows(fixture, ALICE, credential, "Replayed credential");
	is_not_heard(fixture, ALICE);
	shows(fixture, ALICE, own_credential(fixture, ALICE, 0), NULL);
	is_heard_as(fixture, ALICE, "root");
}

/* A routing id is the client's choice. It is refused while its last connection is not known to be closed. */
static void another_users_routing_id_gives_nothing(void **state)
{
	struct fixture *fixture = *state;
	const enum who order[] = {ALICE, BOB, AGENTS, BOB};

	for (int i = 0; i < 4; i++) {
		enum who who = order[i];
		struct message answer = {0};

		while (answer.type == 0) {
			zmq_close(fixture->clients[who].socket);
			connect_client(fixture, who, "the same");
			send_proof(fixture, who, "words");
			for (int j = 0; j < 10 && answer.type == 0; j++) {
				turn(fixture);
				if (zmq_msg_recv(&fixture->frame, fixture->clients[who].socket,
						 ZMQ_DONTWAIT) >= 0)
					batch_decode(fixture->decoder,
						     zmq_msg_data(&fixture->frame),
						     zmq_msg_size(&fixture->frame), &answer);
			}
		}
		assert_int_equal(answer.type, who == AGENTS ? MESSAGE_PROOF : MESSAGE_REFUSE);
		if (who == ALICE) {
			shows(fixture, who, own_credential(fixture, who, 0), NULL);
			is_heard_as(fixture, who, "root");
		}
		zmq_close(fixture->clients[who].socket);
		connect_client(fixture, who, NULL);
	}
}

static void a_munged_that_hangs_holds_only_new_connections_up(void **state)
{
	struct fixture *fixture = *state;

	shows(fixture, ALICE, own_credential(fixture, ALICE, 0), NULL);
	char *credential = own_credential(fixture, BOB, 3999999998);
	const uint32_t decoded = fake_munge_decoded();
	fake_munge_hang(true);
	for (int i = 0; i < 5; i++) {
		send_proof(fixture, BOB, credential);
		is_heard_as(fixture, ALICE, "root");
		is_heard_as(fixture, AGENTS, "");
	}
	assert_true(fake_munge_decoded() <= decoded + 1);
	fake_munge_hang(false);
	assert_int_equal(await_answer(fixture, BOB).type, MESSAGE_PROOF);
	is_heard_as(fixture, BOB, "3999999998");
	free(credential);
}

static void a_munged_that_is_gone_is_told(void **state)
{
	struct fixture *fixture = *state;
	char *credential = own_credential(fixture, ALICE, 0);

	fake_munge_gone(true);
	shows(fixture, ALICE, credential, "at the aggregator: munged does not answer");
	fake_munge_gone(false);
	shows(fixture, ALICE, own_credential(fixture, ALICE, 0), NULL);
	assert_int_equal(fixture->proofs.refused, 0);
}

/* Each client has its own: ZeroMQ frees an endpoint some time after its monitor has ended. */
static void monitor_endpoint(enum who who, char endpoint[static 32])
{
	snprintf(endpoint, 32, "inproc://cut_%d", (int)who);
}

/* Returns whether the client's connection ends within so many turns. */
static bool is_cut_off(struct fixture *fixture, enum who who, uint64_t later_ns)
{
	void *monitor = zmq_socket(fixture->context, ZMQ_PAIR);
	char part[64], endpoint[32];
	bool ended = false;

	monitor_endpoint(who, endpoint);
	assert_int_equal(zmq_connect(monitor, endpoint), 0);
	for (int i = 0; i < 50 && !ended; i++) {
		turn(fixture);
		if (later_ns)
			receiver_tidy(fixture->receiver, clock_now_ns() + later_ns, true);
		ended = zmq_recv(monitor, part, sizeof(part), ZMQ_DONTWAIT) >= 0;
	}
	zmq_socket_monitor(fixture->clients[who].socket, NULL, 0);
	zmq_close(monitor);
	return ended;
}

static void watch_end(struct fixture *fixture, enum who who)
{
	char endpoint[32];

	monitor_endpoint(who, endpoint);
	assert_int_equal(
		zmq_socket_monitor(fixture->clients[who].socket, endpoint, ZMQ_EVENT_DISCONNECTED),
		0);
}

static void who_is_not_proven_may_send_nothing_large(void **state)
{
	struct fixture *fixture = *state;
	static const char large[100000];

	is_not_heard(fixture, ALICE);
	watch_end(fixture, ALICE);
	assert_true(zmq_send(fixture->clients[ALICE].socket, large, sizeof(large), 0) >= 0);
	assert_true(is_cut_off(fixture, ALICE, 0));
	assert_int_equal(receiver_counts(fixture->receiver)->bad_frames, 1);
}

static void who_is_not_proven_in_time_is_cut_off(void **state)
{
	struct fixture *fixture = *state;

	shows(fixture, BOB, own_credential(fixture, BOB, 0), NULL);
	is_heard_as(fixture, BOB, "root");
	watch_end(fixture, BOB);
	assert_false(is_cut_off(fixture, BOB, 2 * CONNECTION_WATCH_SILENT_NS));
	zmq_close(fixture->clients[ALICE].socket);
	connect_client(fixture, ALICE, NULL);
	is_not_heard(fixture, ALICE);
	watch_end(fixture, ALICE);
	assert_true(is_cut_off(fixture, ALICE, 2 * CONNECTION_WATCH_SILENT_NS));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_connection_is_nobodys_until_it_is_proven),
		TEST(an_answer_that_was_lost_comes_again),
		TEST(a_credential_for_another_connection_proves_nothing),
		TEST(a_credential_counts_once),
		TEST(an_old_credential_or_one_of_another_realm_proves_nothing),
		TEST(a_connection_that_comes_again_is_proven_again),
		TEST(another_users_routing_id_gives_nothing),
		TEST(a_munged_that_hangs_holds_only_new_connections_up),
		TEST(a_munged_that_is_gone_is_told),
		TEST(who_is_not_proven_may_send_nothing_large),
		TEST(who_is_not_proven_in_time_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
