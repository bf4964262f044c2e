#include "event_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

#define READY_MAX   64
#define NS_PER_MS   1000000ull
#define WAIT_MAX_MS 60000ull

struct event_loop {
	int epoll_fd, wake_fd;
	struct event_source wake;
	struct epoll_event ready[READY_MAX];
	int nr_ready; /* events of this round, which a removal must search */
};

static void drain_wake(void *context)
{
	struct event_loop *loop = context;
	uint64_t counter;

	if (read(loop->wake_fd, &counter, sizeof(counter)) < 0)
		return; /* all were drained before */
}

int event_loop_create(struct event_loop **loop)
{
	struct event_loop *new_loop = calloc(1, sizeof(*new_loop));
	int r = 0;

	*loop = NULL;
	if (!new_loop)
		return -ENOMEM;
	new_loop->wake_fd = -1;
	new_loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (new_loop->epoll_fd >= 0)
		new_loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (new_loop->epoll_fd < 0 || new_loop->wake_fd < 0)
		r = -errno;
	new_loop->wake = (struct event_source){new_loop->wake_fd, drain_wake, new_loop};
	if (r == 0)
		r = event_loop_add(new_loop, &new_loop->wake);
	if (r) {
		event_loop_destroy(new_loop);
		return r;
	}
	*loop = new_loop;
	return 0;
}

void event_loop_destroy(struct event_loop *loop)
{
	if (!loop)
		return;
	if (loop->wake_fd >= 0)
		close(loop->wake_fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	free(loop);
}

int event_loop_add(struct event_loop *loop, struct event_source *source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) ? -errno : 0;
}

void event_loop_remove(struct event_loop *loop, struct event_source *source)
{
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	for (int i = 0; i < loop->nr_ready; i++)
		if (loop->ready[i].data.ptr == source)
			loop->ready[i].data.ptr = NULL;
}

static int wait_ms(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (deadline_ns <= now_ns)
		return 0;
	uint64_t ms = (deadline_ns - now_ns) / NS_PER_MS + 1; /* rounded up, or the loop spins */
	return (int)(ms < WAIT_MAX_MS ? ms : WAIT_MAX_MS);
}

int event_loop_wait(struct event_loop *loop, uint64_t deadline_ns)
{
	int nr = epoll_wait(loop->epoll_fd, loop->ready, READY_MAX, wait_ms(deadline_ns));

	if (nr < 0)
		return errno == EINTR ? 0 : -errno;
	loop->nr_ready = nr;
	for (int i = 0; i < nr; i++) {
		struct event_source *source = loop->ready[i].data.ptr;

		if (source)
			source->ready(source->context);
	}
	loop->nr_ready = 0;
	return 0;
}

void event_loop_wake(struct event_loop *loop)
{
	uint64_t one = 1;

	if (write(loop->wake_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full, so the loop is awake */
}
