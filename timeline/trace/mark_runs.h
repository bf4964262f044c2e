/* Tells where marks of programs are missing from an event log: outside of capture windows none is made, old and damaged
 * blocks are gone. Pure; any thread. */
#ifndef MARK_RUNS_H
#define MARK_RUNS_H

#include "timeline_source.h"

/* Sets the run of each mark that begins a step. Steps of one run are of one process and have adjacent numbers, so none
 * between them is missing, on whichever threads they are. The marks keep their order. 0 or -ENOMEM. */
int mark_runs_set(struct timeline_launch *marks, uint32_t nr_marks);

/* Returns whether a later mark of the thread ends the step that `begin` begins: whether no mark of a step between them
 * is known to be missing, and the process was captured all the time. */
bool mark_runs_end(const struct timeline_launch *begin, const struct timeline_launch *mark);

#endif
