#include "job_fetch.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job_files.h"

#define READY_MAX 8u /* answers that wait for the aggregator's thread, of up to 1 MiB each */

struct question {
	struct question *next;
	struct peer peer; /* its id and its user alone */
	char user[MESSAGE_JOB_NAME_MAX], name[MESSAGE_JOB_NAME_MAX];
	struct message_fetch fetch; /* its texts are the two above */
	struct job_answer answer;
};

struct queue {
	struct question *first, *last; /* owns the list */
	uint32_t count;
};

struct job_fetch {
	struct job_files *files; /* owns; the thread's alone */
	struct question *given;  /* owns; its answer is with the caller */
	int wake_fd;
	pthread_t thread;
	pthread_mutex_t lock; /* guards all that follows */
	pthread_cond_t wake;
	struct queue waiting, ready;
	struct question *current; /* whose file the thread reads; owned by it */
	bool stopped;
};

/* ---- queues */

static void push(struct queue *queue, struct question *question)
{
	question->next = NULL;
	if (queue->last)
		queue->last->next = question;
	else
		queue->first = question;
	queue->last = question;
	queue->count++;
}

static struct question *pop(struct queue *queue)
{
	struct question *question = queue->first;

	if (!question)
		return NULL;
	queue->first = question->next;
	if (!queue->first)
		queue->last = NULL;
	queue->count--;
	question->next = NULL;
	return question;
}

static void destroy_question(struct question *question)
{
	if (!question)
		return;
	job_answer_fini(&question->answer);
	free(question);
}

static void clear(struct queue *queue)
{
	struct question *question;

	while ((question = pop(queue)) != NULL)
		destroy_question(question);
}

/* ---- the thread */

/* Waits for a question while there is room for its answer. NULL: the thread is to end. */
static struct question *take(struct job_fetch *fetch)
{
	pthread_mutex_lock(&fetch->lock);
	while (!fetch->stopped && (!fetch->waiting.first || fetch->ready.count >= READY_MAX))
		pthread_cond_wait(&fetch->wake, &fetch->lock);
	fetch->current = fetch->stopped ? NULL : pop(&fetch->waiting);
	struct question *question = fetch->current;
	pthread_mutex_unlock(&fetch->lock);
	return question;
}

static void *run(void *argument)
{
	struct job_fetch *fetch = argument;
	struct question *question;
	const uint64_t one = 1;

	while ((question = take(fetch)) != NULL) {
		job_files_answer(fetch->files, &question->fetch, &question->answer);
		pthread_mutex_lock(&fetch->lock);
		fetch->current = NULL;
		push(&fetch->ready, question);
		pthread_mutex_unlock(&fetch->lock);
		if (write(fetch->wake_fd, &one, sizeof(one)) < 0)
			assert(errno == EAGAIN); /* the counter is full, so the reader is awake */
	}
	return NULL;
}

int job_fetch_start(const char *directory, int wake_fd, struct job_fetch **fetch)
{
	struct job_fetch *new_fetch = calloc(1, sizeof(*new_fetch));

	*fetch = NULL;
	if (!new_fetch)
		return -ENOMEM;
	new_fetch->wake_fd = wake_fd;
	pthread_mutex_init(&new_fetch->lock, NULL);
	pthread_cond_init(&new_fetch->wake, NULL);
	int r = job_files_open(directory, &new_fetch->files);
	if (r == 0)
		r = -pthread_create(&new_fetch->thread, NULL, run, new_fetch);
	if (r == 0) {
		*fetch = new_fetch;
		return 0;
	}
	job_files_close(new_fetch->files);
	pthread_cond_destroy(&new_fetch->wake);
	pthread_mutex_destroy(&new_fetch->lock);
	free(new_fetch);
	return r;
}

void job_fetch_stop(struct job_fetch *fetch)
{
	if (!fetch)
		return;
	pthread_mutex_lock(&fetch->lock);
	fetch->stopped = true;
	pthread_cond_signal(&fetch->wake);
	pthread_mutex_unlock(&fetch->lock);
	pthread_join(fetch->thread, NULL);
	clear(&fetch->waiting);
	clear(&fetch->ready);
	destroy_question(fetch->given);
	job_files_close(fetch->files);
	pthread_cond_destroy(&fetch->wake);
	pthread_mutex_destroy(&fetch->lock);
	free(fetch);
}

/* ---- the aggregator's thread */

struct count {
	const struct peer *peer;
	const struct message_fetch *fetch;
	uint32_t all, of_user, of_peer;
	bool is_there; /* the same question */
};

static bool same_text(const struct message_text *left, const struct message_text *right)
{
	return left->size == right->size &&
	       (left->size == 0 || memcmp(left->data, right->data, left->size) == 0);
}

static bool same_question(const struct message_fetch *left, const struct message_fetch *right)
{
	return left->kind == right->kind && left->token == right->token &&
	       left->file == right->file && left->offset == right->offset &&
	       same_text(&left->user, &right->user) && same_text(&left->name, &right->name);
}

static void count_list(struct count *count, const struct question *first)
{
	for (const struct question *at = first; at; at = at->next) {
		bool same_peer = at->peer.id_size == count->peer->id_size &&
				 memcmp(at->peer.id, count->peer->id, at->peer.id_size) == 0;

		count->all++;
		count->of_user += strcmp(at->peer.user, count->peer->user) == 0;
		count->of_peer += same_peer;
		count->is_there |= same_peer && same_question(&at->fetch, count->fetch);
	}
}

/* The caller holds the lock. */
static bool has_place(const struct job_fetch *fetch, const struct peer *peer,
		      const struct message_fetch *question)
{
	struct count count = {.peer = peer, .fetch = question};

	count_list(&count, fetch->waiting.first);
	count_list(&count, fetch->ready.first);
	count_list(&count, fetch->current);
	return !count.is_there && count.all < JOB_FETCH_MAX && count.of_user < JOB_FETCH_OF_USER &&
	       count.of_peer < JOB_FETCH_OF_PEER;
}

static void copy_text(char to[static MESSAGE_JOB_NAME_MAX], struct message_text *text)
{
	assert(text->size <= MESSAGE_JOB_NAME_MAX); /* the decoder takes no more */
	if (text->size)
		memcpy(to, text->data, text->size);
	text->data = to;
}

void job_fetch_ask(struct job_fetch *fetch, const struct peer *peer,
		   const struct message_fetch *question)
{
	struct question *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return;
	copy->peer.id_size = peer->id_size;
	memcpy(copy->peer.id, peer->id, peer->id_size);
	memcpy(copy->peer.user, peer->user, sizeof(peer->user));
	copy->fetch = *question;
	copy_text(copy->user, &copy->fetch.user);
	copy_text(copy->name, &copy->fetch.name);
	pthread_mutex_lock(&fetch->lock);
	bool taken = has_place(fetch, peer, question);
	if (taken) {
		push(&fetch->waiting, copy);
		pthread_cond_signal(&fetch->wake);
	}
	pthread_mutex_unlock(&fetch->lock);
	if (!taken)
		free(copy);
}

const struct message *job_fetch_next(struct job_fetch *fetch, const struct peer **peer)
{
	destroy_question(fetch->given);
	pthread_mutex_lock(&fetch->lock);
	do {
		fetch->given = pop(&fetch->ready);
		pthread_cond_signal(&fetch->wake);
		if (!fetch->given || fetch->given->answer.message.type)
			break;
		free(fetch->given); /* there was no memory for its answer */
	} while (true);
	pthread_mutex_unlock(&fetch->lock);
	*peer = fetch->given ? &fetch->given->peer : NULL;
	return fetch->given ? &fetch->given->answer.message : NULL;
}
