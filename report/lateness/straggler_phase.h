/* Finds the phase of a run in which a subject was late, if it was not late all along. Pure; any thread. */
#ifndef STRAGGLER_PHASE_H
#define STRAGGLER_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "straggler_lateness.h"

struct straggler_phase_question {
	double equal; /* the chance of one of equal subjects of this size */
	double p_max; /* below it, chance does not explain a phase */
	double shift; /* above it, noise that lasts does not explain one (level_shift_z()) */
	/* A part of the run is judged as well, however likely it is by chance, if the others waited longest for the
	 * subject in STRAGGLER_PHASE_WORST of it, and so long. */
	double least_ns;
	/* Of fewer than 8 stretches, and if chance explains how often: what it must cost. */
	double least_short_ns, least_lasting_ns;
};

struct straggler_phase {
	uint32_t first, nr_stretches; /* 0 stretches: there is none */
	bool is_sure;                 /* neither chance nor noise that lasts explains it */
	uint64_t kept_ns; /* what the others waited for the subject in these stretches */
	double p;     /* probability that one of equal subjects is worst as often in such a phase */
	double z;     /* of its usual lateness there among the others', as straggler_lateness_z() */
	double shift; /* of its lateness against that outside (level_shift_z()) */
	double worst; /* the part of the stretches in which the others waited longest for it */
	double times; /* its usual lateness there, as a multiple of that outside, without signs */
};

/* Looks at halves, quarters, eighths and sixteenths of the run, each beginning in the middle of another one, of at
 * least 4 stretches. Of the phases that are sure, and else of all, it finds that in which the others waited longest.
 * A phase is sure if z > STRAGGLER_Z_MIN, and one of these holds:
 *   - p is below p_max, it has 8 stretches, there are three subjects, and its shift is above STRAGGLER_SHIFT_OFTEN;
 *   - its shift is above what is asked, and worst and times are above STRAGGLER_PHASE_WORST and STRAGGLER_PHASE_TIMES.
 *     Of two subjects a drift of one is a phase of the other, so the other level must be much less.
 * p counts all that are looked at as tests. Neighbouring stretches of the others count as fewer where they are alike
 * (straggler_lateness_independence()). There each subject's usual lateness is that of the phase within it, and that of
 * the rest outside: the lateness of one moves the median by which others are measured. */
void straggler_phase_find(struct straggler_lateness *lateness, uint32_t subject,
			  const struct straggler_phase_question *question,
			  struct straggler_phase *phase);

/* Takes back the names of subjects by a PHASE if others have such phases: a slow spot may wander among equal ranks, and
 * each of its visits is a phase. A phase counts by the lateness in it above a level: half of what is usual in that of
 * the subject, for the others, too. Those that are late all along do not count. The next one's must be less by the
 * factor STRAGGLER_PHASE_OVER. One of five or more may have such a phase beside the subject, if that holds of the next
 * one. */
void straggler_phase_take_back(struct straggler_lateness *lateness,
			       struct straggler_subject *subjects);

#endif
