/* Waits for descriptors by epoll, and can be woken. Single-threaded but for event_loop_wake(). */
#ifndef EVENT_LOOP_H
#define EVENT_LOOP_H

#include <stdint.h>

struct event_loop;

/* A descriptor that becomes readable. Embedded in its owner, which removes it from the loop before it is freed. */
struct event_source {
	int fd;
	void (*ready)(void *context);
	void *context;
};

/* Creates the loop. 0 or -errno; on error *loop is NULL. */
int event_loop_create(struct event_loop **loop);
void event_loop_destroy(struct event_loop *loop); /* accepts NULL */

/* Watches source->fd. The source is borrowed until event_loop_remove(), which any callback may call, and which must
 * come before the descriptor is closed. 0 or -errno. */
int event_loop_add(struct event_loop *loop, struct event_source *source);
void event_loop_remove(struct event_loop *loop, struct event_source *source);

/* Waits until a source is readable, a thread wakes the loop, or deadline_ns (CLOCK_MONOTONIC) has come. Calls back for
 * all readable sources, then returns; it may return early. 0 or -errno. */
int event_loop_wait(struct event_loop *loop, uint64_t deadline_ns);

/* Ends the current wait, or the next one. Any thread. */
void event_loop_wake(struct event_loop *loop);

#endif
