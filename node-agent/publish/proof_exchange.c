#include "proof_exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/munge/munge_worker.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "proto/trust/key_set.h"

#define PROBLEM_MAX 256u

enum state {
	STATE_BEGUN,   /* a credential is to be made as soon as it can be sent */
	STATE_MAKING,  /* the worker makes it */
	STATE_MADE,    /* it is to be sent */
	STATE_WAITING, /* for an answer, or until the timer says that it is time for another one */
	STATE_DONE,
};

struct proof_exchange {
	int wake_fd, timer_fd;
	struct munge_worker *worker; /* owns, as the next four */
	struct batch_encoder *encoder;
	struct batch_decoder *decoder;
	char *credential; /* in STATE_MADE */
	enum state state;
	bool is_stale; /* nobody waits for the credential that is being made */
	uint32_t again_ms;
	char server_public[KEY_SET_TEXT], client_public[KEY_SET_TEXT];
	char problem[PROBLEM_MAX];
};

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int set_up(struct proof_exchange *exchange, int epoll_fd)
{
	exchange->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = watch(epoll_fd, exchange->wake_fd);

	if (r == 0) {
		exchange->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		r = watch(epoll_fd, exchange->timer_fd);
	}
	exchange->encoder = batch_encoder_create();
	exchange->decoder = batch_decoder_create();
	if (r == 0 && (!exchange->encoder || !exchange->decoder))
		r = -ENOMEM;
	return r ? r : munge_worker_start(exchange->wake_fd, &exchange->worker);
}

int proof_exchange_create(int epoll_fd, struct proof_exchange **exchange)
{
	struct proof_exchange *made = calloc(1, sizeof(*made));
	int r = -ENOMEM;

	if (made) {
		made->wake_fd = made->timer_fd = -1;
		r = set_up(made, epoll_fd);
	}
	*exchange = r ? NULL : made;
	if (r)
		proof_exchange_destroy(made);
	return r;
}

void proof_exchange_destroy(struct proof_exchange *exchange)
{
	if (!exchange)
		return;
	munge_worker_stop(exchange->worker);
	batch_encoder_destroy(exchange->encoder);
	batch_decoder_destroy(exchange->decoder);
	if (exchange->wake_fd >= 0)
		close(exchange->wake_fd);
	if (exchange->timer_fd >= 0)
		close(exchange->timer_fd);
	free(exchange->credential);
	free(exchange);
}

/* Goes on without the credential that is made or being made. */
static void enter(struct proof_exchange *exchange, enum state state)
{
	exchange->is_stale |= exchange->state == STATE_MAKING;
	exchange->state = state;
	free(exchange->credential);
	exchange->credential = NULL;
}

void proof_exchange_begin(struct proof_exchange *exchange, const char *server_public,
			  const char *client_public)
{
	enter(exchange, STATE_BEGUN);
	exchange->again_ms = PROOF_EXCHANGE_AGAIN_MS;
	if (*server_public)
		memcpy(exchange->server_public, server_public, KEY_SET_TEXT);
	if (*client_public)
		memcpy(exchange->client_public, client_public, KEY_SET_TEXT);
}

bool proof_exchange_is_done(const struct proof_exchange *exchange)
{
	return exchange->state == STATE_DONE;
}

/* Waits, and then makes another credential. */
static void try_later(struct proof_exchange *exchange)
{
	const struct itimerspec time = {
		.it_value = {.tv_sec = exchange->again_ms / 1000,
			     .tv_nsec = exchange->again_ms % 1000 * 1000000}};

	timerfd_settime(exchange->timer_fd, 0, &time, NULL);
	exchange->state = STATE_WAITING;
	exchange->again_ms *= 2;
	if (exchange->again_ms > PROOF_EXCHANGE_AGAIN_MAX_MS)
		exchange->again_ms = PROOF_EXCHANGE_AGAIN_MAX_MS;
}

static void note_problem(struct proof_exchange *exchange, const char *text, size_t size)
{
	snprintf(exchange->problem, sizeof(exchange->problem), "%.*s",
		 (int)(size < PROBLEM_MAX ? size : PROBLEM_MAX), text);
}

/* ---- the credential */

static void make_credential(struct proof_exchange *exchange)
{
	struct munge_task *task = calloc(1, sizeof(*task));

	if (task && (task->input = malloc(KEY_SET_PROOF))) {
		key_set_proof(exchange->server_public, exchange->client_public, task->input);
		if (munge_worker_give(exchange->worker, task) == 0) {
			exchange->state = STATE_MAKING;
			return;
		}
	}
	munge_task_destroy(task);
	try_later(exchange);
}

/* A credential for which nobody waits any more comes first. */
static void take_credential(struct proof_exchange *exchange)
{
	struct munge_task *task = munge_worker_take(exchange->worker);

	if (!task)
		return;
	if (exchange->is_stale) {
		exchange->is_stale = false;
	} else if (task->status == 0) {
		free(exchange->credential);
		exchange->credential = task->output;
		task->output = NULL;
		exchange->state = STATE_MADE;
	} else {
		const char *why = task->error ? task->error : strerror(-task->status);

		note_problem(exchange, why, strlen(why));
		try_later(exchange);
	}
	munge_task_destroy(task);
}

static void take_news(struct proof_exchange *exchange)
{
	uint64_t count;

	if (read(exchange->wake_fd, &count, sizeof(count)) == sizeof(count))
		take_credential(exchange);
	if (read(exchange->timer_fd, &count, sizeof(count)) == sizeof(count) &&
	    exchange->state == STATE_WAITING)
		exchange->state = STATE_BEGUN;
}

const uint8_t *proof_exchange_step(struct proof_exchange *exchange, bool can_send, size_t *size)
{
	struct message message = {.type = MESSAGE_PROOF};
	const uint8_t *frame = NULL;

	take_news(exchange);
	if (can_send && exchange->state == STATE_BEGUN && !exchange->is_stale)
		make_credential(exchange);
	if (!can_send || exchange->state != STATE_MADE)
		return NULL;
	message.proof.text =
		(struct message_text){exchange->credential, (uint32_t)strlen(exchange->credential)};
	if (batch_encode(exchange->encoder, &message, &frame, size))
		try_later(exchange);
	return frame;
}

void proof_exchange_sent(struct proof_exchange *exchange)
{
	free(exchange->credential);
	exchange->credential = NULL;
	try_later(exchange);
}

bool proof_exchange_wants(const struct proof_exchange *exchange)
{
	return (exchange->state == STATE_BEGUN && !exchange->is_stale) ||
	       exchange->state == STATE_MADE;
}

/* ---- the answer */

/* Frames are not decoded for nothing: once the proof is done, a REFUSE alone may be about it. */
static bool may_concern_proofs(const struct proof_exchange *exchange, const uint8_t *frame,
			       size_t size)
{
	return exchange->state != STATE_DONE || (size > 1 && frame[1] == MESSAGE_REFUSE);
}

bool proof_exchange_take(struct proof_exchange *exchange, const uint8_t *frame, size_t size)
{
	struct message message;

	if (!may_concern_proofs(exchange, frame, size) ||
	    batch_decode(exchange->decoder, frame, size, &message))
		return false;
	if (message.type == MESSAGE_PROOF) {
		enter(exchange, STATE_DONE);
		*exchange->problem = '\0';
		return true;
	}
	if (message.type != MESSAGE_REFUSE || message.refuse.code != REFUSE_UNPROVEN)
		return false;
	/* After a proof the aggregator is another one, or has forgotten us. */
	if (exchange->state == STATE_DONE)
		enter(exchange, STATE_BEGUN);
	else if (exchange->state == STATE_WAITING)
		note_problem(exchange, message.refuse.reason.data, message.refuse.reason.size);
	return true;
}

const char *proof_exchange_problem(const struct proof_exchange *exchange)
{
	return exchange->problem;
}
