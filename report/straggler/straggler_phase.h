/* Finds the phase of a run in which a subject was late, if it was not late all along. Pure; any thread. */
#ifndef STRAGGLER_PHASE_H
#define STRAGGLER_PHASE_H

#include <stdint.h>

#include "straggler_lateness.h"

struct straggler_phase_question {
	double equal; /* the chance of one of equal subjects of this size */
	double p_max; /* below it, chance does not explain a phase */
	/* A part of the run is judged as well, however likely it is by chance, if the others waited longest for the
	 * subject in so much of it (worst), and so long (least_ns). */
	double worst, least_ns;
};

struct straggler_phase {
	uint32_t first, nr_stretches; /* 0 stretches: there is none */
	uint64_t kept_ns; /* what the others waited for the subject in these stretches */
	double p;     /* probability that one of equal subjects is worst as often in such a phase */
	double z;     /* of its usual lateness there among the others', as straggler_lateness_z() */
	double worst; /* the part of the stretches in which the others waited longest for it */
	double times; /* so many times as much as outside is waited for it (straggler_lateness_times()) */
};

/* Looks at halves, quarters, eighths and sixteenths of the run, each beginning in the middle of another one, of at
 * least 8 stretches. It judges those that chance does not explain, and those that cost much: of few stretches and two
 * subjects, chance explains any. Of the phases that chance does not explain, and else of all, it finds that in which
 * the others waited longest. p counts all that are looked at as tests. Neighbouring stretches of the others count as
 * fewer where they are alike (straggler_lateness_independent()). There each subject's usual lateness is that of the
 * phase within it, and that of the rest outside: the lateness of one moves the median by which others are measured. */
void straggler_phase_find(struct straggler_lateness *lateness, uint32_t subject,
			  const struct straggler_phase_question *question,
			  struct straggler_phase *phase);

#endif
