/* Tells the profile of a capture window: when it began and ended, and how. All but window_span_init() is called within
 * capture_window's lock. */
#ifndef WINDOW_SPAN_H
#define WINDOW_SPAN_H

#include <stdbool.h>
#include <stdint.h>

struct definition_writer;
struct record_ring;

struct window_span {
	struct record_ring *ring; /* borrowed for good, and definitions */
	struct definition_writer *definitions;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint16_t window;
	bool open; /* its end was not told yet */
};

void window_span_init(struct window_span *span, struct record_ring *ring,
		      struct definition_writer *definitions);

/* Begins a window: span->begin_ns becomes now_ns. `window` is its number in records. */
void window_span_begin(struct window_span *span, uint16_t window, uint64_t now_ns);

/* Ends the window at span->end_ns, which the caller has set. left: CUPTI is out of the process. A second call does
 * nothing. */
void window_span_end(struct window_span *span, bool left);

/* Goes on from now_ns, under the same number, with the window that was over since span->end_ns. */
void window_span_resume(struct window_span *span, uint64_t now_ns);

/* Tells, when the process ends, that the window was the whole run and not a part of it. */
void window_span_whole(struct window_span *span);

#endif
