/* Compares the two ways in which a profile's kernels were sampled: continuously, where samples have no launch, and in
 * exact windows. Each way gives each place and reason a share of its samples; what both give is how far they agree.
 * Used by one thread. */
#ifndef STALL_AGREEMENT_H
#define STALL_AGREEMENT_H

#include <stdint.h>

#include "report/profile/profile.h"

/* A kernel of all processes, GPUs and launches; or all of them. Shares are from 0 to 1. */
struct stall_agreement_row {
	uint32_t name;    /* string of the catalog; of all: 0 */
	uint64_t samples; /* taken continuously */
	uint64_t exact;   /* taken in exact windows */
	/* of these, those whose launch is known and has GPU time; 0: no process with continuous samples has any */
	uint64_t matched;
	double places; /* the sum, over lines and reasons, of the smaller of both shares */
	/* the same over the stacks of launches; continuous samples go by the GPU time of processes that have some */
	double launches;
};

struct stall_agreement {
	/* Its shares are the rows' means, weighed by their continuous samples. exact 0: there is nothing to compare. */
	struct stall_agreement_row total;
	uint32_t nr_rows;                  /* kernels that both ways have seen */
	struct stall_agreement_row rows[]; /* by exact samples, the most first, then by name */
};

/* The caller owns *agreement: free(). 0; -EPROTO: a sample or GPU work names what the profile does not hold; -ENOMEM.
 * On error *agreement is NULL. */
int stall_agreement_make(const struct profile *profile, struct stall_agreement **agreement);

#endif
