#include "window_span.h"

#include <stddef.h>

#include "inject/base/definition_writer.h"
#include "proto/ring/record_ring.h"

static void tell(const struct window_span *span, uint64_t end_ns, uint32_t flags)
{
	const struct definition_window window = {
		.begin_ns = span->begin_ns,
		.end_ns = end_ns,
		.window = span->window,
		.flags = flags,
	};

	definition_writer_put(span->definitions, DEFINITION_WINDOW, &window, sizeof(window), NULL,
			      0);
}

/* Counts the window, so that every report says that the capture is not the whole run. */
static void count(const struct window_span *span)
{
	record_ring_count(span->ring, LEDGER_DEVICE_NONE, LEDGER_CAPTURE_WINDOW, 1,
			  span->end_ns - span->begin_ns);
}

void window_span_init(struct window_span *span, struct record_ring *ring,
		      struct definition_writer *definitions)
{
	*span = (struct window_span){.ring = ring, .definitions = definitions};
}

void window_span_begin(struct window_span *span, uint16_t window, uint64_t now_ns)
{
	span->window = window;
	span->begin_ns = now_ns;
	span->open = true;
	tell(span, 0, 0);
}

void window_span_end(struct window_span *span, bool left)
{
	if (!span->open)
		return;
	span->open = false;
	count(span);
	tell(span, span->end_ns, left ? DEFINITION_WINDOW_LEFT : DEFINITION_WINDOW_LOADED);
}

void window_span_resume(struct window_span *span, uint64_t now_ns)
{
	count(span);
	tell(span, span->end_ns, DEFINITION_WINDOW_RESUMED);
	span->begin_ns = now_ns;
	tell(span, 0, 0);
}

void window_span_whole(struct window_span *span)
{
	if (!span->open)
		return;
	span->open = false;
	tell(span, span->end_ns, DEFINITION_WINDOW_LEFT);
}
