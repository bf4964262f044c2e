#include "descriptor_closer.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trusted_user.h"

#include "base/clock.h"

#define STACK_BYTES (128u << 10)
#define HURRY_NS    100000000u /* between two signals to a busy worker */

/* SIGURG is ignored by default, and does not change how system calls are restarted. */
#define HURRY_SIGNAL SIGURG

struct waiting {
	int fd;
	uid_t uid;
	bool trusted;
};

struct worker {
	pthread_t thread;
	bool busy; /* in close(); thread is then valid */
	uid_t uid; /* owner of the descriptor that it closes */
};

/* Shared with the workers; the last to leave frees it. */
struct descriptor_closer {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct waiting *waiting; /* owns; [0..count), oldest first */
	uint32_t max, count;
	struct worker workers[DESCRIPTOR_CLOSER_WORKERS];
	uint32_t nr_workers, nr_busy;
	bool stopping, abandoned;
};

/* ---- a worker ---------------------------------------------------------------------------------- */

static void destroy(struct descriptor_closer *closer)
{
	pthread_mutex_destroy(&closer->lock);
	pthread_cond_destroy(&closer->work);
	pthread_cond_destroy(&closer->done);
	free(closer->waiting);
	free(closer);
}

static bool has_worker(const struct descriptor_closer *closer, uid_t uid)
{
	for (uint32_t i = 0; i < DESCRIPTOR_CLOSER_WORKERS; i++)
		if (closer->workers[i].busy && closer->workers[i].uid == uid)
			return true;
	return false;
}

/* Takes the oldest descriptor whose user may use another worker. Returns false if no descriptor qualifies. */
static bool take(struct descriptor_closer *closer, struct waiting *taken)
{
	for (uint32_t i = 0; i < closer->count; i++) {
		*taken = closer->waiting[i];
		if (!taken->trusted && has_worker(closer, taken->uid))
			continue;
		closer->count--;
		memmove(&closer->waiting[i], &closer->waiting[i + 1],
			(closer->count - i) * sizeof(*closer->waiting));
		return true;
	}
	return false;
}

/* Takes a free place among the workers; the caller knows that one is free. */
static struct worker *sit_down(struct descriptor_closer *closer)
{
	struct worker *worker = closer->workers;

	while (worker->busy)
		worker++;
	return worker;
}

static void start_worker(struct descriptor_closer *closer);

static void *work(void *argument)
{
	struct descriptor_closer *closer = argument;
	struct waiting taken;
	sigset_t hurry;

	sigemptyset(&hurry);
	sigaddset(&hurry, HURRY_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &hurry, NULL);
	pthread_mutex_lock(&closer->lock);
	for (;;) {
		bool any = take(closer, &taken);

		if (!any && closer->stopping)
			break;
		if (!any) {
			pthread_cond_wait(&closer->work, &closer->lock);
			continue;
		}
		struct worker *worker = sit_down(closer);
		*worker = (struct worker){pthread_self(), true, taken.uid};
		closer->nr_busy++;
		start_worker(closer);
		pthread_mutex_unlock(&closer->lock);
		close(taken.fd);
		pthread_mutex_lock(&closer->lock);
		worker->busy = false;
		closer->nr_busy--;
		/* This made room for a user, so another descriptor may be ready. */
		if (closer->count > 0)
			pthread_cond_broadcast(&closer->work);
	}
	bool last = --closer->nr_workers == 0;
	bool abandoned = closer->abandoned;
	pthread_cond_signal(&closer->done);
	pthread_mutex_unlock(&closer->lock);
	if (last && abandoned)
		destroy(closer);
	return NULL;
}

/* Starts a worker if all are busy and a descriptor waits; each worker that gets busy starts the next. If none can be
 * started, the other workers go on, and the next call tries again. Needs the lock. */
static void start_worker(struct descriptor_closer *closer)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (closer->nr_busy < closer->nr_workers || closer->count == 0 ||
	    closer->nr_workers == DESCRIPTOR_CLOSER_WORKERS || pthread_attr_init(&attributes))
		return;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attributes, work, closer) == 0)
		closer->nr_workers++;
	pthread_attr_destroy(&attributes);
}

/* A socket lingers until a signal comes, even a socket in another socket's unread messages. A worker that had not begun
 * to wait misses the signal, so the next call sends another. Needs the lock. */
static void hurry(const struct descriptor_closer *closer)
{
	for (uint32_t i = 0; i < DESCRIPTOR_CLOSER_WORKERS; i++)
		if (closer->workers[i].busy)
			pthread_kill(closer->workers[i].thread, HURRY_SIGNAL);
}

/* ---- the loop's side --------------------------------------------------------------------------- */

/* Only a signal with a handler interrupts a system call. */
static void on_hurry(int signal)
{
	(void)signal;
}

static void catch_hurry(void)
{
	const struct sigaction action = {.sa_handler = on_hurry, .sa_flags = SA_RESTART};
	struct sigaction old;

	if (sigaction(HURRY_SIGNAL, NULL, &old) == 0 &&
	    (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN))
		sigaction(HURRY_SIGNAL, &action, NULL);
}

struct descriptor_closer *descriptor_closer_create(uint32_t max)
{
	struct descriptor_closer *closer = calloc(1, sizeof(*closer));
	pthread_condattr_t monotonic;

	if (!closer)
		return NULL;
	closer->max = max;
	closer->waiting = calloc(max, sizeof(*closer->waiting));
	if (!closer->waiting) {
		free(closer);
		return NULL;
	}
	catch_hurry();
	pthread_mutex_init(&closer->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&closer->work, NULL);
	pthread_cond_init(&closer->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return closer;
}

void descriptor_closer_destroy(struct descriptor_closer *closer, uint32_t wait_ms)
{
	const uint64_t until_ns = clock_now_ns() + wait_ms * 1000000ull;

	if (!closer)
		return;
	pthread_mutex_lock(&closer->lock);
	closer->stopping = true;
	pthread_cond_broadcast(&closer->work);
	while (closer->nr_workers > 0 && clock_now_ns() < until_ns) {
		const struct timespec next = clock_in(CLOCK_MONOTONIC, HURRY_NS);

		hurry(closer);
		pthread_cond_timedwait(&closer->done, &closer->lock, &next);
	}
	bool over = closer->nr_workers == 0;
	closer->abandoned = !over;
	pthread_mutex_unlock(&closer->lock);
	if (over)
		destroy(closer);
}

uint32_t descriptor_closer_room(struct descriptor_closer *closer, uid_t uid)
{
	pthread_mutex_lock(&closer->lock);
	start_worker(closer);
	if (closer->count > 0)
		hurry(closer);
	uint32_t room = closer->max - closer->count;
	for (uint32_t i = 0; i < closer->count; i++)
		if (closer->waiting[i].uid == uid && !closer->waiting[i].trusted)
			room = 0;
	pthread_mutex_unlock(&closer->lock);
	return room;
}

void descriptor_closer_add(struct descriptor_closer *closer, int fd, uid_t uid)
{
	pthread_mutex_lock(&closer->lock);
	assert(closer->count < closer->max);
	closer->waiting[closer->count++] = (struct waiting){fd, uid, trusted_user(uid)};
	start_worker(closer);
	pthread_cond_signal(&closer->work);
	pthread_mutex_unlock(&closer->lock);
}
