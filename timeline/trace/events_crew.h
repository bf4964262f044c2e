/* Reads the events of a time by several threads, each those of other processes. */
#ifndef EVENTS_CREW_H
#define EVENTS_CREW_H

#include "timeline_events.h"

/* As timeline_events_read() without `reaches`, with the same events. range->events_max is 0. But counts.log says less of
 * blocks: several threads may have read one. */
int events_crew_read(struct timeline_source *source, const struct timeline_request *range,
		     struct timeline_events *events);

#endif
