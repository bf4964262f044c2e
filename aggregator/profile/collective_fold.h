/* The collectives of one communicator, folded: counts, and for each rank how late it was, in buckets along the run.
 * Counts and waits are exact for every collective that was compared. Plain data and pure functions; one thread. */
#ifndef COLLECTIVE_FOLD_H
#define COLLECTIVE_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "collective_match.h"

#include "proto/collective.h"

#define COLLECTIVE_FOLD_BUCKETS 128u
#define COLLECTIVE_FOLD_NONE    UINT32_MAX

/* Sums over 2^shift collectives that follow one another. */
struct collective_fold_bucket {
	/* twice the time that the rank was behind the median of the others: twice, so that it is a whole number */
	int64_t late_twice_ns;
	uint64_t kept_ns; /* what the others waited for the rank */
};

/* A rank of a communicator. */
struct collective_fold_member {
	uint32_t process, communicator_id; /* the roster's id; the process's */
	uint32_t rank;                     /* in the communicator; COLLECTIVE_NOT_KNOWN */
	/* collectives of other ranks on the communicator that this rank lacks */
	uint32_t missing;
	uint64_t start_ns, end_ns; /* of the first and the last compared collective, by the host */
	uint64_t gpu_start_ns, gpu_end_ns;      /* the same by kernels */
	struct collective_fold_bucket *buckets; /* owns; COLLECTIVE_FOLD_BUCKETS */
};

struct collective_fold {
	uint32_t writer; /* 0: its ranks were recorded by several */
	uint32_t origin; /* enum communicator_origin */
	uint64_t key;
	uint32_t nr_ranks;                      /* COLLECTIVE_NOT_KNOWN: not known */
	struct collective_fold_member *members; /* owns; by rank, process */
	uint32_t nr_members;
	uint32_t shift;       /* of the buckets */
	uint32_t spread;      /* calls with a number divisible by 2^spread are kept */
	/* different collectives that hold all ranks up, of any rank; exchanges of all ranks count as such */
	uint64_t collectives;
	uint64_t complete;    /* of these, collectives with all ranks of the communicator */
	/* collectives in which all members have a time, without the first of each function
	 * (collective_match_is_first()): who was late is known by these */
	uint64_t used;
	uint64_t by_gpu;      /* of the used ones, those timed by kernels */
	uint64_t joint;       /* collectives carried by the kernel of an earlier one */
	uint64_t grouped;     /* collectives timed by the host, in a group */
	uint64_t others;      /* calls that hold no rank up: other p2p, and collectives with a root */
	uint64_t duplicates;  /* calls whose rank and number came before */
	uint64_t unmatched;   /* calls that came after their collective had been folded */
	struct collective_match_launch launch; /* of the last collective that was timed */
	/* for each function: all of its collectives up to this number are folded */
	uint64_t to[COLLECTIVE_FUNCTIONS];
};

/* Frees what it owns. */
void collective_fold_fini(struct collective_fold *fold);

/* Returns the index of a member, or COLLECTIVE_FOLD_NONE. */
uint32_t collective_fold_find(const struct collective_fold *fold, uint32_t process,
			      uint32_t communicator_id);

/* Adds a member that is not there. The indexes of the others may change. 0 or -ENOMEM. */
int collective_fold_add(struct collective_fold *fold, uint32_t process,
			const struct communicator *end);

/* What a collective says of its ranks. */
struct collective_fold_waits {
	uint32_t last;      /* the member that was last alone; COLLECTIVE_FOLD_NONE: two were */
	uint64_t least_ns;  /* the time of the last one */
	uint64_t behind_ns; /* how far it was behind the one before it; 0: two were last */
	uint64_t waited_ns; /* what all waited together */
};

/* Adds a collective to the buckets: member j spent times[j] in it. At least two members. order has room for as many
 * numbers as there are members. */
void collective_fold_compare(struct collective_fold *fold, const uint64_t *times, uint32_t *order,
			     struct collective_fold_waits *waits);

/* Returns how many buckets have collectives in them, and how many the i-th has. */
uint32_t collective_fold_buckets(const struct collective_fold *fold);
uint32_t collective_fold_in_bucket(const struct collective_fold *fold, uint32_t bucket);

#endif
