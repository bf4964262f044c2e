/* Takes a program's ranges of one name (NVTX, flamegrid_range_push()) as its steps, from the marks in an event log.
 * Marks of a thread come in order of time. Used by one thread. */
#ifndef STEP_RANGES_H
#define STEP_RANGES_H

#include "timeline/trace/timeline_steps.h"

struct step_ranges;

/* Both are borrowed until destroy. NULL: out of memory. destroy() accepts NULL. */
struct step_ranges *step_ranges_create(const struct profile *profile, const char *name);
void step_ranges_destroy(struct step_ranges *ranges);

/* Adds to steps what a mark begins or ends; other launches are ignored. Steps are numbered in each process, from 1.
 * A range that is open at the thread's first mark of a later capture window began before that, and is no step. 0;
 * -EPROTO: the profile is damaged; -ENOMEM. */
int step_ranges_add(struct step_ranges *ranges, const struct timeline_launch *launch,
		    struct timeline_steps *steps);

#endif
