#include "munge_worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "munge_library.h"

#define PASSWD_SIZE 65536u

struct queue {
	struct munge_task *first, *last; /* owns the list */
};

struct munge_worker {
	int wake_fd;          /* owns */
	pthread_mutex_t lock; /* guards all that follows */
	struct queue waiting, done;
	uint32_t count;  /* tasks that the worker has, the thread's included */
	bool is_running; /* there is a thread */
	bool is_stopped; /* the thread frees the worker at its end */
};

static void push(struct queue *queue, struct munge_task *task)
{
	task->next = NULL;
	if (queue->last)
		queue->last->next = task;
	else
		queue->first = task;
	queue->last = task;
}

static struct munge_task *pop(struct queue *queue)
{
	struct munge_task *task = queue->first;

	if (task)
		queue->first = task->next;
	if (!queue->first)
		queue->last = NULL;
	return task;
}

void munge_task_destroy(struct munge_task *task)
{
	if (!task)
		return;
	free(task->input);
	free(task->output);
	free(task->error);
	free(task);
}

/* ---- the thread */

/* A name of digits alone would be taken for another user's number. */
static bool can_name_jobs(const char *name)
{
	size_t size = strlen(name);

	if (strspn(name, "0123456789") == size)
		return false;
	for (const char *at = name; *at; at++)
		if (*at <= ' ' || *at >= 0x7f || *at == '*')
			return false;
	return size < MUNGE_WORKER_USER;
}

/* Returns whether the service that names users failed for now. Other errors stand for a user without a name
 * (getpwuid_r(3)). */
static bool is_passing(int error)
{
	return error == EINTR || error == EIO || error == EMFILE || error == ENFILE ||
	       error == ENOMEM || error == EAGAIN || error == ETIMEDOUT;
}

/* Returns false if the user may have a name, but it can't be asked for now. */
static bool name_user(uid_t uid, char user[static MUNGE_WORKER_USER])
{
	struct passwd entry, *found = NULL;
	char *texts = malloc(PASSWD_SIZE);
	int error = texts ? getpwuid_r(uid, &entry, texts, PASSWD_SIZE, &found) : ENOMEM;

	if (error == 0 && found && can_name_jobs(found->pw_name))
		strcpy(user, found->pw_name);
	else
		snprintf(user, MUNGE_WORKER_USER, "%u", (unsigned int)uid);
	free(texts);
	return !is_passing(error);
}

static void work_on(struct munge_task *task)
{
	uid_t uid;

	if (!task->decodes) {
		task->status = munge_library_encode(task->input, &task->output, &task->error);
		return;
	}
	task->status = munge_library_decode(task->input, &task->output, &uid, &task->error);
	if (task->status == 0 && !name_user(uid, task->user)) {
		task->status = -EAGAIN;
		task->error = strdup("users' names cannot be asked for now");
	}
}

static void destroy(struct munge_worker *worker)
{
	struct munge_task *task;

	while ((task = pop(&worker->waiting)) != NULL || (task = pop(&worker->done)) != NULL)
		munge_task_destroy(task);
	pthread_mutex_destroy(&worker->lock);
	close(worker->wake_fd);
	free(worker);
}

/* Puts a finished task (NULL: none yet) away, and takes the next one. NULL: the thread is to end, and has no worker any
 * more. */
static struct munge_task *exchange(struct munge_worker *worker, struct munge_task *finished)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&worker->lock);
	if (finished)
		push(&worker->done, finished);
	struct munge_task *next = worker->is_stopped ? NULL : pop(&worker->waiting);
	if (finished && write(worker->wake_fd, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN); /* the counter is full, so the reader is awake */
	worker->is_running = next != NULL;
	bool is_last = worker->is_stopped;
	pthread_mutex_unlock(&worker->lock);
	if (is_last)
		destroy(worker);
	return next;
}

static void *run(void *argument)
{
	struct munge_task *task = NULL;

	while ((task = exchange(argument, task)) != NULL)
		work_on(task);
	return NULL;
}

/* The caller holds the lock. 0 or -errno. */
static int begin_thread(struct munge_worker *worker)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (worker->is_running)
		return 0;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int status = -pthread_create(&thread, &attributes, run, worker);
	pthread_attr_destroy(&attributes);
	worker->is_running = status == 0;
	return status;
}

/* ---- the other side */

int munge_worker_start(int wake_fd, struct munge_worker **worker)
{
	*worker = calloc(1, sizeof(**worker));
	if (!*worker)
		return -ENOMEM;
	(*worker)->wake_fd = fcntl(wake_fd, F_DUPFD_CLOEXEC, 0);
	if ((*worker)->wake_fd < 0) {
		int status = -errno;

		free(*worker);
		*worker = NULL;
		return status;
	}
	pthread_mutex_init(&(*worker)->lock, NULL);
	return 0;
}

void munge_worker_stop(struct munge_worker *worker)
{
	if (!worker)
		return;
	pthread_mutex_lock(&worker->lock);
	worker->is_stopped = true;
	bool is_running = worker->is_running;
	pthread_mutex_unlock(&worker->lock);
	if (!is_running)
		destroy(worker);
}

int munge_worker_give(struct munge_worker *worker, struct munge_task *task)
{
	int status = -EAGAIN;

	pthread_mutex_lock(&worker->lock);
	if (worker->count < MUNGE_WORKER_MAX)
		status = begin_thread(worker);
	if (status == 0) {
		push(&worker->waiting, task);
		worker->count++;
	}
	pthread_mutex_unlock(&worker->lock);
	return status;
}

struct munge_task *munge_worker_take(struct munge_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	struct munge_task *task = pop(&worker->done);
	worker->count -= task != NULL;
	pthread_mutex_unlock(&worker->lock);
	return task;
}
