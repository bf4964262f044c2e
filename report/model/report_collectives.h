/* Calls of collective libraries with names of hosts and stacks, and their sums by communicator and function. Used by
 * one thread; immutable once made. */
#ifndef REPORT_COLLECTIVES_H
#define REPORT_COLLECTIVES_H

#include <stdint.h>

#include "report_build.h"

#include "aggregator/profile/collective_folds.h"
#include "report/names/communicator_names.h"
#include "report/profile/profile.h"

struct report_names;

struct report_collective {
	uint32_t host; /* index into strings */
	uint32_t pid;
	int32_t rank;                            /* of the job; MESSAGE_RANK_NONE */
	uint32_t node;                           /* index into nodes; REPORT_NODE_ROOT: no stack */
	const struct communicator *communicator; /* NULL: not known, or a group */
	const struct collective *call;
	const struct collective_gpu *gpu;
};

/* The calls of one function on one communicator in all processes. A communicator whose key is not known is not
 * merged with another. */
struct report_collective_sum {
	uint64_t key; /* 0: not known; process and communicator_id then identify the communicator */
	uint32_t process, communicator_id; /* of the first call seen */
	uint32_t host, pid;                /* also of the first call seen */
	uint32_t function;                 /* enum collective_function */
	uint32_t origin;                   /* enum communicator_origin */
	uint32_t nr_seen;                  /* its ranks with calls in this profile */
	uint32_t nr_ranks;             /* ranks that the communicator has; COLLECTIVE_NOT_KNOWN */
	uint64_t calls, failed, bytes; /* bytes: of calls that did not fail */
	uint64_t total_ns, max_ns;     /* of host time */
	uint64_t first, last;          /* sequence; 0: none */
	uint64_t gpu_calls, gpu_ns;    /* calls whose kernel is known, and the kernels' time */
};

struct report_collectives {
	/* those that have raw rows, in the order in which they were stored */
	const struct report_collective *calls;
	uint32_t nr_calls;
	const struct report_collective_sum *sums; /* by host time, the longest first */
	uint32_t nr_sums;
	const struct report_node *nodes;          /* of stacks */
	const char *const *strings;               /* the names of hosts and nodes */
	struct report_names *names;               /* owns */
	struct communicator_names *communicators; /* owns */
	struct collective_folds *folds;           /* owns */
};

/* Takes ownership of the folds, also on error, and borrows nothing. 0; -EPROTO: the folds name things that the profile
 * does not hold; -ENOMEM. On error *collectives is NULL. */
int report_collectives_create(const struct profile *profile, struct collective_folds *folds,
			      const struct report_options *options,
			      struct report_collectives **collectives);
void report_collectives_destroy(struct report_collectives *collectives); /* accepts NULL */

#endif
