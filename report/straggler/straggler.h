/* Which of the ranks of a communicator the others wait for, by how long each was in each collective: those that come
 * early wait within it, so the last one is in it for the shortest time. No clock is compared with another. Pure; any
 * thread.
 *
 * A rank is named if all of these hold; with equal ranks none does, but for chance:
 *   - It is last more often than one of equal ranks: of n ranks each is last with probability 1/n, so the number of
 *     times is binomial; p < STRAGGLER_P_MAX / tests. A collective in which two were last together counts for nobody.
 *   - Likewise in stretches of the run, STRAGGLER_STRETCHES of equal numbers of collectives (or each by itself): in
 *     more of them than by chance it has kept the others waiting longer than any other rank has. One hiccup, however
 *     long, is one stretch. Where neighbouring stretches of the others are alike, fewer are counted.
 *   - The mean of the others has waited for it for more than STRAGGLER_SHARE_MIN of the span.
 *   - Its lateness lies beyond the noise of the others: modified z > STRAGGLER_Z_MIN. Both are without the best and
 *     the worst eighth of each rank's stretches: hiccups of any rank neither name one nor hide one. */
#ifndef STRAGGLER_H
#define STRAGGLER_H

#include <stdbool.h>
#include <stdint.h>

#define STRAGGLER_P_MAX     1e-4
#define STRAGGLER_SHARE_MIN 0.02
#define STRAGGLER_Z_MIN     3.5
#define STRAGGLER_STRETCHES 64u

struct straggler_rank {
	uint32_t last;      /* collectives in which it was the last, alone */
	uint32_t stretches; /* in which the others waited for it the longest */
	uint64_t others_ns; /* what the others waited for it, added up over them */
	uint64_t waited_ns; /* what it has waited itself, for whomever */
	uint64_t behind_ns; /* where it was last: behind the one before it, the median */
	int64_t late_ns; /* behind the median of the others, the mean over all; below 0: before it */
	double p, p_stretches; /* of equal ranks to be last so often */
	double z; /* of how late it is as a rule; 0, and p_stretches 1: of many ranks, one that cannot be late */
	double share; /* others_ns by others and span */
	bool named;
};

struct straggler_input {
	const uint64_t *times_ns; /* in collective i, rank j was for [i * nr_ranks + j] */
	uint32_t nr_collectives, nr_ranks;
	uint64_t span_ns;  /* of all of them */
	uint32_t nr_tests; /* ranks that are tested, of all communicators together */
};

/* ranks[0..nr_ranks), at least 2. 0 or -ENOMEM. */
int straggler_find(const struct straggler_input *input, struct straggler_rank *ranks);

/* The probability of count or more of total, each with probability p (above 0 and below 1). */
double straggler_tail(uint32_t count, uint32_t total, double p);

#endif
