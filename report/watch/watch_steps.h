/* Finds how many collectives of a communicator are a step of the job. Pure; any thread. */
#ifndef WATCH_STEPS_H
#define WATCH_STEPS_H

#include <stdint.h>

#include "watch_recent.h"

#define WATCH_STEPS_APART 2 /* times as long as the others the long times at least are */
#define WATCH_STEPS_PART  3 /* a third of all time is in them at least */

/* *collectives: of a step, of the communicator that has the meetings from first to end. It is the least number at which
 * functions and sizes come again. Several such patterns are a step if the times between them are short and long ones,
 * which come again, too: equal collectives that follow one another closely. Those at equal distances count as steps. 0:
 * there is none. 0 or -ENOMEM. */
int watch_steps_find(const struct watch_recent *recent, uint32_t first, uint32_t end,
		     uint32_t *collectives);

/* Returns how many of the times, which follow one another, are a step; 1: they show none. sorted: room for as many, and
 * distances for one more. */
uint32_t watch_steps_of_times(const double *times_ns, uint32_t count, double *sorted,
			      uint32_t *distances);

#endif
