#include "admission.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/clock.h"
#include "proto/trust/user_keys.h"

#define ENDPOINT     "inproc://zeromq.zap.01" /* the socket on which ZeroMQ asks */
#define VERSION      "1.0"
#define DOMAIN       "flamegrid" /* without a domain ZeroMQ may not ask */
#define KEY_SIZE     32u
#define REQUEST_SIZE 256u

enum part { PART_VERSION, PART_REQUEST, PART_MECHANISM = 5, PART_CREDENTIALS };

struct admission {
	void *socket;
	struct key_set keys;
	struct user_keys *users; /* borrowed; NULL: none */
	bool by_munge;
	uint64_t refused;
};

int admission_make_keys(struct key_set *keys)
{
	if (zmq_curve_keypair(keys->server_public, keys->server_secret) ||
	    zmq_curve_keypair(keys->client_public, keys->client_secret))
		return -ENOTSUP;
	return 0;
}

static int listen_for_questions(struct admission *admission, void *context)
{
	const int no_linger = 0;

	admission->socket = zmq_socket(context, ZMQ_REP);
	if (!admission->socket ||
	    zmq_setsockopt(admission->socket, ZMQ_LINGER, &no_linger, sizeof(no_linger)) ||
	    zmq_bind(admission->socket, ENDPOINT))
		return -errno;
	return 0;
}

int admission_create(void *zmq_context, const struct key_set *keys, struct user_keys *users,
		     bool by_munge, struct admission **admission)
{
	*admission = NULL;
	if (!zmq_has("curve"))
		return -ENOTSUP;
	if (!key_set_serves(keys, KEY_ROLE_AGGREGATOR))
		return -EINVAL;
	struct admission *new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->keys = *keys;
	new->users = users;
	new->by_munge = by_munge;
	int r = listen_for_questions(new, zmq_context);
	if (r) {
		admission_destroy(new);
		return r;
	}
	*admission = new;
	return 0;
}

void admission_destroy(struct admission *admission)
{
	if (!admission)
		return;
	if (admission->socket) {
		zmq_unbind(admission->socket, ENDPOINT);
		zmq_close(admission->socket);
	}
	memset(&admission->keys, 0, sizeof(admission->keys));
	free(admission);
}

int admission_guard(const struct admission *admission, void *zmq_socket)
{
	const int is_server = 1;

	if (zmq_setsockopt(zmq_socket, ZMQ_CURVE_SERVER, &is_server, sizeof(is_server)) ||
	    zmq_setsockopt(zmq_socket, ZMQ_CURVE_SECRETKEY, admission->keys.server_secret,
			   KEY_SET_TEXT) ||
	    zmq_setsockopt(zmq_socket, ZMQ_ZAP_DOMAIN, DOMAIN, strlen(DOMAIN)))
		return -errno;
	return 0;
}

void *admission_socket(struct admission *admission)
{
	return admission->socket;
}

uint64_t admission_refused(const struct admission *admission)
{
	return admission->refused;
}

struct question {
	char request[REQUEST_SIZE];
	size_t request_size;
	bool is_version, is_curve;
	const char *user; /* borrowed from the keys, or `unproven`; NULL: nobody's key */
	char unproven[1 + KEY_SET_TEXT];
};

/* Returns the user id of a public key; NULL: nobody has it. */
static const char *find_user(const struct admission *admission, const uint8_t *key,
			     struct question *question)
{
	char *text = question->unproven + 1;

	if (!zmq_z85_encode(text, key, KEY_SIZE))
		return NULL;
	if (strcmp(text, admission->keys.client_public) == 0)
		return ADMISSION_ANY_USER;
	*question->unproven = ADMISSION_UNPROVEN;
	if (admission->by_munge)
		return question->unproven;
	return admission->users ? user_keys_find(admission->users, text, clock_now_ns()) : NULL;
}

static void take_part(const struct admission *admission, unsigned int number, zmq_msg_t *part,
		      struct question *question)
{
	const void *data = zmq_msg_data(part);
	size_t size = zmq_msg_size(part);

	switch (number) {
	case PART_VERSION:
		question->is_version = size == strlen(VERSION) && memcmp(data, VERSION, size) == 0;
		break;
	case PART_REQUEST:
		question->request_size = size < REQUEST_SIZE ? size : REQUEST_SIZE;
		memcpy(question->request, data, question->request_size);
		break;
	case PART_MECHANISM:
		question->is_curve = size == 5 && memcmp(data, "CURVE", size) == 0;
		break;
	case PART_CREDENTIALS:
		question->user = size == KEY_SIZE ? find_user(admission, data, question) : NULL;
		break;
	default:
		break;
	}
}

/* Returns 1; 0: there is no question. The parts of a message arrive together. */
static int receive_question(struct admission *admission, struct question *question)
{
	bool more = true;

	*question = (struct question){0};
	for (unsigned int number = 0; more; number++) {
		zmq_msg_t part;

		zmq_msg_init(&part);
		if (zmq_msg_recv(&part, admission->socket, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(&part);
			return 0;
		}
		take_part(admission, number, &part, question);
		more = zmq_msg_more(&part);
		zmq_msg_close(&part);
	}
	return 1;
}

static void answer(struct admission *admission, const struct question *question)
{
	bool admitted = question->is_version && question->is_curve && question->user;
	const struct {
		const char *data;
		size_t size;
	} parts[] = {
		{VERSION, strlen(VERSION)},
		{question->request, question->request_size},
		{admitted ? "200" : "400", 3},
		{admitted ? "" : "not this aggregator's key", admitted ? 0 : 25},
		{admitted ? question->user : "", admitted ? strlen(question->user) : 0},
		{"", 0},
	};
	const size_t count = sizeof(parts) / sizeof(*parts);

	admission->refused += !admitted;
	for (size_t i = 0; i < count; i++)
		zmq_send(admission->socket, parts[i].data, parts[i].size,
			 ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0));
}

void admission_step(struct admission *admission)
{
	struct question question;

	while (receive_question(admission, &question))
		answer(admission, &question);
}
