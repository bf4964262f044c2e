#include "proof_service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/munge/munge_library.h"
#include "base/munge/munge_worker.h"

#define SAY_NS 60000000000u /* from one line on munged to the next */

/* A question to munged, and the connection that it is about. */
struct question {
	struct munge_task task; /* the first member, for munge_task_destroy() */
	uint8_t id[PEER_ID_MAX];
	size_t id_size; /* 0: nobody's, to see whether munged answers */
	char key[KEY_SET_TEXT];
};

/* Gives a question about `input` (NULL: no memory). Takes both. */
static bool ask(struct proof_service *service, struct question *question, char *input)
{
	if (question)
		question->task.input = input;
	else
		free(input);
	if (question && input && munge_worker_give(service->worker, &question->task) == 0)
		return true;
	munge_task_destroy(question ? &question->task : NULL);
	return false;
}

int proof_service_start(struct proof_service *service, struct receiver *receiver,
			const char *server_public, int wake_fd, char **error)
{
	int status = munge_library_open(error);

	*service = (struct proof_service){.receiver = receiver};
	if (status)
		return status;
	strncpy(service->server_public, server_public, KEY_SET_TEXT - 1);
	status = munge_worker_start(wake_fd, &service->worker);
	if (status == 0)
		ask(service, calloc(1, sizeof(struct question)), strdup("flamegrid"));
	return status;
}

void proof_service_stop(struct proof_service *service)
{
	munge_worker_stop(service->worker);
	service->worker = NULL;
}

static void answer(const struct proof_service *service, const struct peer *peer)
{
	const char *user = *peer->user ? peer->user : "*";
	const struct message message = {.type = MESSAGE_PROOF,
					.proof.text = {user, (uint32_t)strlen(user)}};

	receiver_send(service->receiver, peer, &message);
}

void proof_service_handle(struct proof_service *service, struct peer *peer,
			  const struct message_proof *proof)
{
	if (!peer_is_unproven(peer))
		answer(service, peer);
	if (!peer_is_unproven(peer) || peer->proves || !service->worker)
		return;
	struct question *question = calloc(1, sizeof(*question));
	if (question) {
		question->task.decodes = true;
		question->id_size = peer->id_size;
		memcpy(question->id, peer->id, peer->id_size);
		memcpy(question->key, peer->key, sizeof(peer->key));
	}
	peer->proves = ask(service, question, strndup(proof->text.data, proof->text.size));
}

/* ---- what munged says */

static void refuse(struct proof_service *service, const struct peer *peer, const char *reason)
{
	char text[512];

	snprintf(text, sizeof(text), "at the aggregator: %s", reason);
	receiver_refuse(service->receiver, peer, REFUSE_UNPROVEN, text);
}

static void say_failure(struct proof_service *service, const char *reason, uint64_t now_ns)
{
	if (service->failed_ns && now_ns - service->failed_ns < SAY_NS)
		return;
	service->failed_ns = now_ns;
	log_error("%s; until then users cannot connect, and open connections go on", reason);
}

static void say_refusal(struct proof_service *service, const char *reason)
{
	service->refused++;
	if (!service->was_unbelieved)
		log_info("a connection did not prove whose it is: %s; further ones are not named",
			 reason);
	service->was_unbelieved = true;
}

/* Returns why the connection is not its user's; NULL: it is. */
static const char *find_fault(const struct proof_service *service, const struct question *question)
{
	const struct munge_task *task = &question->task;
	char expected[KEY_SET_PROOF];

	if (task->status)
		return task->error ? task->error : strerror(-task->status);
	key_set_proof(service->server_public, question->key, expected);
	return strcmp(task->output, expected) == 0
		       ? NULL
		       : "the credential was made for another connection or aggregator";
}

static void take(struct proof_service *service, const struct question *question, uint64_t now_ns)
{
	const struct munge_task *task = &question->task;
	const char *fault = task->decodes ? find_fault(service, question) : task->error;
	struct peer *peer =
		peer_table_find(receiver_peers(service->receiver), question->id, question->id_size);

	if (fault && (task->status == -EAGAIN || !task->decodes))
		say_failure(service, fault, now_ns);
	else if (fault)
		say_refusal(service, fault);
	/* The routing id may be another connection's by now. */
	if (!peer || strcmp(peer->key, question->key) != 0 || !peer->proves)
		return;
	peer->proves = false;
	if (fault) {
		refuse(service, peer, fault);
		return;
	}
	snprintf(peer->user, sizeof(peer->user), "%s", task->user);
	peer->proven = *peer->user != '\0'; /* no name would stand for every user */
	answer(service, peer);
}

void proof_service_step(struct proof_service *service, uint64_t now_ns)
{
	struct munge_task *task;

	while (service->worker && (task = munge_worker_take(service->worker)) != NULL) {
		take(service, (const struct question *)task, now_ns);
		munge_task_destroy(task);
	}
}
