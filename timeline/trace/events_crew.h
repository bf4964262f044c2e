/* Reads the events of a time by several threads, each those of other processes. */
#ifndef EVENTS_CREW_H
#define EVENTS_CREW_H

#include "timeline_events.h"

/* As timeline_events_read() without `reaches`, with the same events. range->events_max is 0. In counts.log the numbers
 * of blocks and bytes are those of one thread. That one reads all where memory or descriptors do not suffice for
 * several. */
int events_crew_read(struct timeline_source *source, const struct timeline_request *range,
		     struct timeline_events *events);

#endif
