/* A sentence about a whole trace, as a slice that lasts as long as what is shown, so that every viewer shows it. Used
 * by one thread. */
#ifndef TRACE_NOTICE_H
#define TRACE_NOTICE_H

#include "timeline_events.h"
#include "trace_stream.h"

/* Writes it as a sequence of its own, before all others or behind them. last_track: the last track of the trace so far.
 * name: the sentence's id (trace_stream.h). Returns the new last track. Writes nothing if there is no event. */
uint32_t trace_notice_write(struct trace_stream *stream, uint32_t last_track,
			    const struct timeline_events *events, uint32_t name,
			    const char *sentence);

#endif
