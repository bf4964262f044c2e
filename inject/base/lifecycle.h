/* Says whether the guest may act, and notices its end: a fork or an exit. The state is one word, which every entry
 * point reads. Any thread may call, unless a function says otherwise. */
#ifndef LIFECYCLE_H
#define LIFECYCLE_H

#include <stdatomic.h>
#include <stdbool.h>

enum lifecycle_state {
	LIFECYCLE_OFF = 0, /* not begun, or over: callbacks do nothing */
	LIFECYCLE_ON = 1,
	/* a child of the profiled process, which never touches the ring */
	LIFECYCLE_FORKED = 2,
};

extern atomic_int lifecycle_word __attribute__((visibility("hidden")));

static inline enum lifecycle_state lifecycle_state(void)
{
	return (enum lifecycle_state)atomic_load_explicit(&lifecycle_word, memory_order_relaxed);
}

/* Switches the guest on, and registers for forks and for the process's end. at_end then runs once, on the thread that
 * exits, and only in the process that called lifecycle_start(). Call it once, on the thread that loads the guest.
 * Returns 0; -ENOMEM: the guest stays off. */
int lifecycle_start(void (*at_end)(void));

/* Switches the guest off: callbacks do nothing from now on. LIFECYCLE_FORKED stays. */
void lifecycle_off(void);

/* Registers for the process's end again; only the first call does so. The C library runs the newest handler first. The
 * guest's handler must run before those that CUDA registered on the way to its first context. */
void lifecycle_context_created(void);

/* Does the same for a process that may have created its first context before the guest looked. */
void lifecycle_came_late(void);

#endif
