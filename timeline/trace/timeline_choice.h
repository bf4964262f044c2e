/* Chooses the part of a timeline that is shown where the user names no time: a step by its number, or the worst moment.
 * Used by one thread. */
#ifndef TIMELINE_CHOICE_H
#define TIMELINE_CHOICE_H

#include "timeline_source.h"
#include "timeline_steps.h"

#define TIMELINE_CHOICE_TEXT 512u

#define TIMELINE_CHOICE_NO_STEPS                                                                   \
	"no step was kept: programs mark steps by flamegrid_step(), and --timeline notes the "     \
	"marks"

/* Why there is no whole step, and what helps, if windows have cut some. */
#define TIMELINE_CHOICE_CUT                                                                        \
	": capture windows cut the steps; run --every-steps N --step-range step captures whole "   \
	"ones of flamegrid_step(), and other windows have to be longer"

struct timeline_choice {
	uint64_t from_ns, to_ns; /* on the common clock */
	bool is_step;            /* the time of host work: GPU work of it may end later */
	struct timeline_step
		*steps;    /* owns; of a step, the same step of each process that has it */
	uint32_t nr_steps; /* of timeline_steps_find() */
	char text[TIMELINE_CHOICE_TEXT]; /* which, and why */
	struct timeline_counts counts;   /* of what was looked through: damage may hide a step */
};

/* Both take ranks from *request, and ignore its times. 0; -ENODATA: there is none, and text says why; errors of
 * timeline_source_read(). Call timeline_choice_fini() in any case. */
int timeline_choice_step(struct timeline_source *source, const struct timeline_request *request,
			 uint32_t number, struct timeline_choice *choice);

/* The slowest step, where steps are marked. Else the longest wait of the host or gap of a GPU, whichever is longer,
 * with as much time before and behind it. */
int timeline_choice_worst(struct timeline_source *source, const struct timeline_request *request,
			  struct timeline_choice *choice);
void timeline_choice_fini(struct timeline_choice *choice);

#endif
