/* Finds the ranks of a communicator for which the others wait, by how long each rank was in each collective. Ranks
 * that come early wait within the collective, so the last one is in it for the shortest time. No clock is compared
 * with another. Pure; any thread.
 *
 * A rank is named if all of these hold. If all ranks are equal, none is named but by chance.
 *   - It is last more often than one of equal ranks would be. Of n equal ranks each is last with probability 1/n, so
 *     the number of times is binomial; p < STRAGGLER_P_MAX / tests. A collective in which two ranks were last
 *     together counts for neither.
 *   - The same holds for stretches of the run: the buckets of the fold, of equal numbers of collectives, or each
 *     collective by itself. In more stretches than by chance it has kept the others waiting longer than any other
 *     rank has. One hiccup, however long, is one stretch. Where neighbouring stretches of the others are alike,
 *     fewer are counted.
 *   - The mean of the others has waited for it for more than STRAGGLER_SHARE_MIN of the span.
 *   - Its lateness lies beyond the noise of the others: modified z > STRAGGLER_Z_MIN. Both leave out the best and
 *     the worst eighth of each rank's stretches, so that hiccups of a rank neither name a rank nor hide one. */
#ifndef STRAGGLER_H
#define STRAGGLER_H

#include <stdbool.h>
#include <stdint.h>

#define STRAGGLER_P_MAX     1e-4
#define STRAGGLER_SHARE_MIN 0.02
#define STRAGGLER_Z_MIN     3.5

struct collective_fold;

struct straggler_rank {
	/* The caller sets these. */
	uint64_t last;      /* collectives in which this rank alone was the last */
	uint64_t others_ns; /* the others' waits for it, added up */
	uint64_t waited_ns; /* its own waits for others */
	uint64_t behind_ns; /* median time behind the previous rank, where it was last */
	uint32_t stretches; /* stretches in which the others waited longest for this rank */
	/* mean time behind the median of the others; negative: before it */
	int64_t late_ns;
	double p, p_stretches; /* probability that one of equal ranks is last as often */
	/* of its usual lateness; 0, with p_stretches 1, for a rank among many that cannot be late */
	double z;
	double share; /* others_ns, divided by the number of others and the span */
	bool named;
};

struct straggler_input {
	const struct collective_fold *fold; /* with at least 2 members, which are the ranks */
	uint64_t span_ns;  /* of all collectives together */
	uint32_t nr_tests; /* ranks that are tested in all communicators together */
};

/* Fills the rest of ranks, one for each member of the fold. 0 or -ENOMEM. */
int straggler_find(const struct straggler_input *input, struct straggler_rank *ranks);

/* Returns the probability that count or more of total events happen, each with probability p (above 0 and below 1). */
double straggler_tail(uint64_t count, uint64_t total, double p);

#endif
