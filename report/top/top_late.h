/* Which ranks a watch calls late (report/watch/watch_events.h). Pure; any thread. */
#ifndef TOP_LATE_H
#define TOP_LATE_H

#include <stdint.h>

#include "report/watch/watch_events.h"

/* Returns the event of the list that calls this rank of the job late or missing, by itself or in a group; NULL: none
 * does. */
const struct watch_event *top_late_of(const struct watch_event *list, uint32_t count, int32_t rank);

#endif
