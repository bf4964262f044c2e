/* When the steps of a job began, from the marks in an event log: of each number the first begin of all processes. Only
 * so many are kept; of more steps each second one, each fourth and so on. Pure; used by one thread. */
#ifndef STEP_TICKS_H
#define STEP_TICKS_H

#include "timeline/trace/timeline_source.h"

#define STEP_TICKS_MOST 2048u

struct step_ticks {
	uint32_t apart; /* steps from one tick to the next, a power of two; 0: no mark came */
	uint64_t first; /* the step of index 0, a multiple of apart */
	uint64_t begins_ns[STEP_TICKS_MOST]; /* of step first + index * apart; 0: it is not known */
};

/* Takes a launch; those that are no begins of steps are ignored. Numbers come in any order. *ticks is zeroed at first.
 */
void step_ticks_add(struct step_ticks *ticks, const struct timeline_launch *launch);

/* Takes a step that began at this time. */
void step_ticks_note(struct step_ticks *ticks, uint32_t number, uint64_t begin_ns);

#endif
