/* Whether the guest may act, and its end: fork, exit. State is one word that every entry point
 * reads. Any thread, unless said otherwise. */
#ifndef LIFECYCLE_H
#define LIFECYCLE_H

#include <stdatomic.h>
#include <stdbool.h>

enum lifecycle_state {
	LIFECYCLE_OFF = 0, /* not begun, or over: callbacks do nothing */
	LIFECYCLE_ON = 1,
	/* a child of the profiled process: never touches the ring, for good */
	LIFECYCLE_FORKED = 2,
};

extern atomic_int lifecycle_word __attribute__((visibility("hidden")));

static inline enum lifecycle_state lifecycle_state(void)
{
	return (enum lifecycle_state)atomic_load_explicit(&lifecycle_word, memory_order_relaxed);
}

/* Switches on, and registers for fork and for the process's end: at_end then runs once, in the
 * process that called this, on the thread that exits. On the thread that loads the guest, once.
 * Returns 0, or -ENOMEM: stays off. */
int lifecycle_start(void (*at_end)(void));

/* Callbacks do nothing from now on. Keeps LIFECYCLE_FORKED. */
void lifecycle_off(void);

/* Registers the end again, at the first call only: the C library runs the newest handler first, and
 * ours must come before those that CUDA registered on the way to its first context. */
void lifecycle_context_created(void);

/* The same, for a process whose first context may have been created before anybody looked. */
void lifecycle_came_late(void);

#endif
