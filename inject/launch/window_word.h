/* Tells each callback the state of the capture window, in one word. If no windows are wanted, a launch only pays for
 * the load of this word. At the gate launches wait while the guest leaves CUPTI. capture_window.h writes the word. Any
 * thread may call. */
#ifndef WINDOW_WORD_H
#define WINDOW_WORD_H

#include <stdatomic.h>
#include <stdbool.h>

#define WINDOW_WORD_GATE_NS 50000000u /* the most that a launch waits at the gate */

enum window_word_flags {
	WINDOW_WORD_TRACK = 1u << 0,   /* outstanding launches are tracked */
	WINDOW_WORD_GATE = 1u << 1,    /* the guest leaves CUPTI: do not launch now */
	WINDOW_WORD_OUTSIDE = 1u << 2, /* the window is over, but CUPTI is not yet left */
	/* No window is open: callbacks are for cudaProfilerStart, or come because CUPTI stayed. */
	WINDOW_WORD_LISTEN = 1u << 3,
};

extern atomic_uint window_word __attribute__((visibility("hidden")));

static inline bool window_word_is_plain(void)
{
	return atomic_load_explicit(&window_word, memory_order_relaxed) == 0;
}

/* Returns whether no window is open, although callbacks may come. */
static inline bool window_word_is_between(void)
{
	return atomic_load_explicit(&window_word, memory_order_relaxed) & WINDOW_WORD_LISTEN;
}

/* The first closes the gate. The second opens it, and wakes the threads that wait at it. */
void window_word_close_gate(void);
void window_word_open_gate(void);

/* Wakes the threads that wait at the gate, after another change of the word. */
void window_word_wake(void);

/* Returns when the gate is open, and after WINDOW_WORD_GATE_NS at the latest. Callbacks call it. Keeps errno. */
void window_word_wait_at_gate(void);

/* Opens the gate, and lets out the threads that came to it in the meantime. They are inside a callback and must leave
 * it before CUPTI is left: as measured, a thread crashes if CUPTI is left while it is inside. Waits for them up to
 * WINDOW_WORD_GATE_NS. */
void window_word_let_out(void);

#endif
