/* The step that runs when a part of the time begins: its mark lies before the part. */
#ifndef STEP_BEFORE_H
#define STEP_BEFORE_H

#include "step_ticks.h"

#include "timeline/trace/timeline_events.h"

/* Adds it to ticks, if there is one. events: of the part; origin_ns, from_ns: when the timeline and the part begin, on
 * the one clock. Steps that are shorter than what was read are among the events; for longer ones the source is asked.
 * 0; errors of timeline_source_read(). */
int step_before_add(struct timeline_source *source, const struct timeline_events *events,
		    uint64_t origin_ns, uint64_t from_ns, struct step_ticks *ticks);

#endif
