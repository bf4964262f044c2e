/* What the profile is told of a capture window: when it began and ended, and how. Within capture_window's lock, but
 * window_span_init(). */
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

/* A window opens at span->begin_ns, which is set to now_ns; its number is as in records. */
void window_span_begin(struct window_span *span, uint16_t window, uint64_t now_ns);

/* It is over since span->end_ns, which the caller has set; left: with CUPTI out of the process. Once: again is
 * nothing. */
void window_span_end(struct window_span *span, bool left);

/* It was over since span->end_ns, and goes on from now_ns with the same number. */
void window_span_resume(struct window_span *span, uint64_t now_ns);

/* The process ends, and the window was all of the run: it is no part of it. */
void window_span_whole(struct window_span *span);

#endif
