#include "descriptor_closer.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES  (128u << 10)
#define FDS_MAX      253u  /* in one message: the kernel's SCM_MAX_FD */
#define MESSAGES_MAX 4096u /* read from one socket: more than any queue holds */
#define NESTED_MAX   4u    /* sockets in messages of sockets: the kernel allows no more */

/* Shared with the workers; the last that leaves frees it. */
struct descriptor_closer {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	int waiting[DESCRIPTOR_CLOSER_MAX];
	uint32_t first, count;
	uint32_t nr_workers, nr_busy;
	bool stopping, abandoned;
};

/* ---- a worker ---------------------------------------------------------------------------------- */

static void close_fd(int fd, uint32_t nested);

/* Whoever frees an unread message closes what is in it, without a chance to stop it from lingering. */
static bool close_message(int fd, uint32_t nested)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	char bytes[4096];
	struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (size < 0)
		return false;
	for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head;
	     head = CMSG_NXTHDR(&message, head)) {
		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		size_t nr = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nr; i++) {
			int inner;

			memcpy(&inner, CMSG_DATA(head) + i * sizeof(int), sizeof(inner));
			close_fd(inner, nested + 1);
		}
	}
	return size > 0 || message.msg_controllen > 0;
}

static void empty(int fd, uint32_t nested)
{
	const struct linger none = {.l_onoff = 0};
	int domain;
	socklen_t size = sizeof(domain);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size))
		return; /* no socket */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	if (domain != AF_UNIX || nested > NESTED_MAX)
		return;
	shutdown(fd, SHUT_RDWR); /* or more might come meanwhile */
	for (uint32_t i = 0; i < MESSAGES_MAX && close_message(fd, nested); i++)
		;
}

static void close_fd(int fd, uint32_t nested)
{
	empty(fd, nested);
	close(fd);
}

static void destroy(struct descriptor_closer *closer)
{
	pthread_mutex_destroy(&closer->lock);
	pthread_cond_destroy(&closer->work);
	pthread_cond_destroy(&closer->done);
	free(closer);
}

static void *work(void *argument)
{
	struct descriptor_closer *closer = argument;

	pthread_mutex_lock(&closer->lock);
	for (;;) {
		while (closer->count == 0 && !closer->stopping)
			pthread_cond_wait(&closer->work, &closer->lock);
		if (closer->count == 0)
			break;
		int fd = closer->waiting[closer->first];
		closer->first = (closer->first + 1) % DESCRIPTOR_CLOSER_MAX;
		closer->count--;
		closer->nr_busy++;
		pthread_mutex_unlock(&closer->lock);
		close_fd(fd, 0);
		pthread_mutex_lock(&closer->lock);
		closer->nr_busy--;
	}
	bool last = --closer->nr_workers == 0;
	bool abandoned = closer->abandoned;
	pthread_cond_signal(&closer->done);
	pthread_mutex_unlock(&closer->lock);
	if (last && abandoned)
		destroy(closer);
	return NULL;
}

/* With the lock. One that cannot be started is not missed while others go on; else the next call tries again. */
static void start_worker(struct descriptor_closer *closer)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (closer->nr_busy + closer->count <= closer->nr_workers ||
	    closer->nr_workers == DESCRIPTOR_CLOSER_WORKERS || pthread_attr_init(&attributes))
		return;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attributes, work, closer) == 0)
		closer->nr_workers++;
	pthread_attr_destroy(&attributes);
}

/* ---- the loop's side --------------------------------------------------------------------------- */

struct descriptor_closer *descriptor_closer_create(void)
{
	struct descriptor_closer *closer = calloc(1, sizeof(*closer));
	pthread_condattr_t monotonic;

	if (!closer)
		return NULL;
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
	struct timespec until;
	int r = 0;

	if (!closer)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&closer->lock);
	closer->stopping = true;
	pthread_cond_broadcast(&closer->work);
	while (closer->nr_workers > 0 && r == 0)
		r = pthread_cond_timedwait(&closer->done, &closer->lock, &until);
	bool over = closer->nr_workers == 0;
	closer->abandoned = !over;
	pthread_mutex_unlock(&closer->lock);
	if (over)
		destroy(closer);
}

uint32_t descriptor_closer_room(struct descriptor_closer *closer)
{
	pthread_mutex_lock(&closer->lock);
	start_worker(closer);
	uint32_t room = DESCRIPTOR_CLOSER_MAX - closer->count;
	pthread_mutex_unlock(&closer->lock);
	return room;
}

void descriptor_closer_add(struct descriptor_closer *closer, int fd)
{
	pthread_mutex_lock(&closer->lock);
	assert(closer->count < DESCRIPTOR_CLOSER_MAX);
	closer->waiting[(closer->first + closer->count++) % DESCRIPTOR_CLOSER_MAX] = fd;
	start_worker(closer);
	pthread_cond_signal(&closer->work);
	pthread_mutex_unlock(&closer->lock);
}
