/* The subjects of a communicator that are tested for lateness (straggler.h), and what is found of each. Plain data. */
#ifndef STRAGGLER_SUBJECT_H
#define STRAGGLER_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/collective_fold.h"

/* From how much on a subject is named (straggler.h). Probabilities are of a job: they are divided by the number of its
 * tests. Factors without a source are as low as modelled jobs without a late rank allow (tests/bench/late). */
#define STRAGGLER_P_MAX 1e-4 /* one of 10,000 jobs by chance */
/* Of the span. What costs less is not worth the reader's time; what is less late all along is of the machine. */
#define STRAGGLER_SHARE_MIN  0.02
#define STRAGGLER_STEADY_MIN 0.01
#define STRAGGLER_Z_MIN      3.5 /* as Iglewicz and Hoaglin (1993) advise for the modified z score */
/* A stall is a part of the run that its reader has noticed, and no worse case of what comes again and again. */
#define STRAGGLER_STALL_MIN   0.1
#define STRAGGLER_STALL_TIMES 10
/* A stall hides none that is longer. */
#define STRAGGLER_STALLS 2u
/* Heavy tails make one such pause in some runs. */
#define STRAGGLER_STALL_P_MAX 1e-2
/* That stops cost so much is a fact, and only whose they are is in question. */
#define STRAGGLER_STOPS_P_MAX 1e-3
/* Lumps, or stretches of a phase or of the rest of a run. Of two ranks one has all of seven in one of 64 jobs. */
#define STRAGGLER_FEWEST    8u
#define STRAGGLER_SHORT     STRAGGLER_FEWEST
#define STRAGGLER_SHORT_MIN 0.05 /* of the span: any rank may be late for a while by chance */
/* A phase's level against the rest, in units of its error. The error is estimated from few stretches, so that chance
 * reaches farther than by a normal law. OFTEN: where the subject is also last more often than by chance. */
#define STRAGGLER_SHIFT_Z     9
#define STRAGGLER_SHIFT_OFTEN 5
/* Of two subjects a drift of one is a phase of the other. Then both are last at times, and none is much later. */
#define STRAGGLER_PHASE_WORST 0.9
#define STRAGGLER_PHASE_TIMES 2.5
/* How much more of a phase its subject has than another one has of its own. */
#define STRAGGLER_PHASE_OVER 8
/* Twice STRAGGLER_SHARE_MIN: it costs nothing while the one that hides it is late, so it has to be plain. */
#define STRAGGLER_HIDDEN_MIN 0.04
/* Of equal ranks that pause, the one that has most by chance has less. */
#define STRAGGLER_PAUSES_OVER 1.25
#define STRAGGLER_APART       10 /* spreads that no noise reaches */

enum straggler_ground {
	STRAGGLER_NOT_NAMED = 0,
	STRAGGLER_FREQUENCY,
	STRAGGLER_COST,
	STRAGGLER_LUMPS,
	STRAGGLER_STALL,
	STRAGGLER_PHASE,
	STRAGGLER_HIDDEN,
};

/* Why a subject that looks late is not named: the first of these that holds. */
enum straggler_doubt {
	STRAGGLER_NO_DOUBT = 0,
	STRAGGLER_TOO_FEW, /* even if it was last each time, that could be chance */
	STRAGGLER_LASTS,   /* the ranks' noise lasts, so that its stretches tell too little */
	STRAGGLER_SPREAD,  /* its usual lateness is within the spread of the others */
	STRAGGLER_SMALL,   /* its usual lateness is a small part of the time */
	STRAGGLER_UNEVEN,  /* it is late in a part of the run, and others are in such parts */
};

struct straggler_subject {
	/* The caller sets these. */
	uint64_t last;      /* collectives in which this subject alone was the last */
	uint64_t others_ns; /* the others' waits for it, added up */
	uint64_t waited_ns; /* its own waits for others */
	/* Of others_ns, what its own ranks waited for one another, about (straggler_groups.h). 0 of one rank. */
	uint64_t inside_ns;
	uint64_t behind_ns; /* median time behind the previous rank, where it was last */
	uint32_t size;      /* its ranks; 0: nothing was compared */
	uint32_t late_size; /* of these, ranks that are late by at least half of its lateness */
	uint32_t stretches; /* stretches in which the others waited longest for this subject */
	/* mean time behind the median of the others; negative: before it */
	int64_t late_ns;
	double p, p_stretches; /* probability that one of equal subjects is last as often */
	double p_lumps;        /* that as many of the costliest lumps are its own */
	double p_phase;        /* of one named by a phase: that there is such a phase of it */
	/* of its usual lateness; 0, with p_stretches 1, for one among many that cannot be late */
	double z;
	double steady; /* its usual lateness behind the others, of all collectives, as a part of the span */
	double share;     /* others_ns, divided by straggler_subject_waiters() and the span */
	uint64_t lump_ns; /* the others' waits in its costliest lump; of a phase, in that */
	uint64_t lump_from, lump_to; /* its collectives: numbers among those compared, from 0 */
	enum straggler_ground ground;
	/* Of one that is not named, and looks late: it was last more often than independent ones would be, for all of
	 * the run or a part. Or there are too few collectives to tell. */
	enum straggler_doubt doubt;
	/* Of one named by lumps or a phase: the stretches of its costly lumps, or of the phase, and what the others
	 * waited for it there. Only there can be seen why it was late. */
	bool in_part[COLLECTIVE_FOLD_BUCKETS];
	uint64_t part_ns;
	int64_t part_late_ns; /* late_ns there */
};

/* Returns whether a subject is named for what happened from lump_from to lump_to: of lumps, that is the costliest. */
static inline bool straggler_subject_has_part(const struct straggler_subject *subject)
{
	return subject->ground == STRAGGLER_LUMPS || subject->ground == STRAGGLER_STALL ||
	       subject->ground == STRAGGLER_PHASE;
}

/* Returns by what the others' waits for a subject are divided, so that they are those of each rank outside of it. Of a
 * group that is more than the number of these ranks if its own ranks wait for one another, too. In a stall they hardly
 * do. */
static inline double straggler_subject_waiters(const struct straggler_subject *subject,
					       uint32_t nr_members)
{
	const double others = nr_members - (subject->size ? subject->size : 1);
	const uint64_t outside_ns = subject->others_ns - subject->inside_ns;

	return outside_ns && subject->ground != STRAGGLER_STALL
		       ? others * (double)subject->others_ns / (double)outside_ns
		       : others;
}

/* What the ranks are divided into. */
struct straggler_division {
	const uint32_t *of; /* of each member of the fold, the subject to which it belongs */
	uint32_t nr_subjects;
};

struct straggler_input {
	const struct collective_fold *fold; /* with at least 2 members, which are the ranks */
	/* how often a subject could be last: in the collectives that are used, or of a pipeline in the stretches of
	 * its steps */
	uint64_t trials;
	uint64_t span_ns; /* of all collectives together */
	/* of the ranks' whole run, with their other communicators and before a restart: span_ns or more. Of a look, at
	 * least the time that looks have */
	uint64_t run_ns;
	bool is_window; /* a look at the newest part of a run, in which every machine has short phases */
	uint32_t nr_tests; /* subjects that are tested in all communicators together */
	struct straggler_division division; /* at least 2 subjects, each with a member */
};

#endif
