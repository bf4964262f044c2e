/* What each callback asks of the capture window: one word, whose load is all that a launch pays where windows are not
 * wanted; and the gate, at which launches wait while CUPTI is being left. capture_window.h writes the word. Any
 * thread. */
#ifndef WINDOW_WORD_H
#define WINDOW_WORD_H

#include <stdatomic.h>
#include <stdbool.h>

#define WINDOW_WORD_GATE_NS 50000000u /* the most that a launch waits at the gate */

enum window_word_flags {
	WINDOW_WORD_TRACK = 1u << 0,   /* launches are counted out and in */
	WINDOW_WORD_GATE = 1u << 1,    /* CUPTI is being left: do not launch now */
	WINDOW_WORD_OUTSIDE = 1u << 2, /* the window is over, CUPTI not yet left */
	/* No window is open: callbacks are for cudaProfilerStart, or come because CUPTI stayed. */
	WINDOW_WORD_LISTEN = 1u << 3,
};

extern atomic_uint window_word __attribute__((visibility("hidden")));

static inline bool window_word_is_plain(void)
{
	return atomic_load_explicit(&window_word, memory_order_relaxed) == 0;
}

/* No window is open, but callbacks may come. */
static inline bool window_word_is_between(void)
{
	return atomic_load_explicit(&window_word, memory_order_relaxed) & WINDOW_WORD_LISTEN;
}

/* The gate closes; it opens, and wakes the threads that wait at it. */
void window_word_close_gate(void);
void window_word_open_gate(void);

/* Wakes the threads that wait at the gate, after the word was changed in another way. */
void window_word_wake(void);

/* Callback: returns when the gate is open, and after WINDOW_WORD_GATE_NS at the latest. Keeps errno. */
void window_word_wait_at_gate(void);

/* Whether a thread waits at the gate. */
bool window_word_is_at_gate(void);

#endif
