/* Steps that programs mark by flamegrid_step(), from the marks in an event log. A step belongs to a thread: it ends
 * where the thread's next one begins, or at flamegrid_step_end(). Where marks between are missing, its end is not
 * known (mark_runs.h). Pure; used by one thread. */
#ifndef TIMELINE_STEPS_H
#define TIMELINE_STEPS_H

#include "capture_pauses.h"
#include "timeline_source.h"

struct timeline_step {
	uint64_t begin_ns, end_ns;
	uint32_t process_id, tid;
	uint32_t number; /* in its process, from 1 */
	bool is_first;   /* of its process, also of those that were not kept */
};

struct timeline_steps {
	struct timeline_launch *marks; /* owns, as they came */
	uint32_t nr_marks, room_marks;
	struct timeline_step *steps; /* owns; by process, thread and time; those that ended */
	uint32_t nr_steps, room_steps;
	uint32_t nr_open; /* steps whose end was not kept */
	uint32_t nr_cut;  /* of these, by the end of a capture window before another one */
};

/* Takes a launch; those that are no marks of steps are ignored. 0 or -ENOMEM. */
int timeline_steps_add(struct timeline_steps *steps, const struct timeline_launch *launch);

/* Makes the steps, after the last mark. Those with a time in which their process was not captured are as if their ends
 * had not been kept; pauses NULL: there is none. 0 or -ENOMEM. */
int timeline_steps_finish(struct timeline_steps *steps, const struct capture_pauses *pauses);

void timeline_steps_fini(struct timeline_steps *steps);

/* Finds the steps of this number, in order of their processes. The caller owns *found (free()). 0 or -ENOMEM. */
int timeline_steps_find(const struct timeline_steps *steps, uint32_t number,
			struct timeline_step **found, uint32_t *nr);

/* Returns the process's step, of those that were found; NULL: it has none. */
const struct timeline_step *timeline_steps_of(const struct timeline_step *steps, uint32_t nr,
					      uint32_t process_id);

/* Returns the step of the launch's process that it lies in, of those that were found; NULL: there is none. */
const struct timeline_step *timeline_steps_at(const struct timeline_step *steps, uint32_t nr,
					      const struct timeline_launch *launch);

/* Finds the longest step; step 1 of a process counts only if it has no other. *slowest NULL: there is none.
 * *median_ns: of all that count, which are *nr. 0 or -ENOMEM. */
int timeline_steps_slowest(const struct timeline_steps *steps, const struct timeline_step **slowest,
			   uint64_t *median_ns, uint32_t *nr);

#endif
