/* Matches the calls of a communicator's ranks: the n-th all_reduce of one rank is that of the others, whatever the
 * clocks say. One thread. */
#ifndef COLLECTIVE_MATCH_H
#define COLLECTIVE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

struct collective_log;

/* A call in its place among the calls of its rank. */
struct collective_match_entry {
	uint64_t key, sequence;
	uint32_t process, communicator_id;
	uint32_t call; /* index into the log's calls */
};

/* A rank of a communicator. */
struct collective_match_member {
	uint32_t process; /* the roster's id */
	uint32_t rank;    /* in the communicator; COLLECTIVE_NOT_KNOWN */
	/* collectives that other ranks of the communicator have and this one lacks */
	uint32_t missing;
	uint64_t span_ns; /* from its first collective's start to its last one's end */
};

/* The calls of one communicator. */
struct collective_match {
	uint64_t key;
	uint32_t origin;                         /* enum communicator_origin */
	uint32_t nr_ranks;                       /* COLLECTIVE_NOT_KNOWN */
	struct collective_match_member *members; /* owns; by rank, process */
	uint32_t nr_members;
	uint64_t collectives; /* different collectives that hold all ranks up, of any rank */
	uint64_t complete;    /* of these, collectives with all ranks of the communicator */
	uint64_t used;        /* collectives with all members and a time */
	uint64_t by_gpu;      /* of the used ones, those timed by kernels */
	uint64_t joint;       /* collectives that the kernel of an earlier one carried */
	uint64_t grouped;     /* collectives timed by the host, in a group */
	uint64_t others;      /* calls that hold no rank up: p2p, and collectives with a root */
	uint64_t duplicates;  /* calls with a rank and number that were there already */
	uint64_t span_ns;     /* the median of its members' spans */
	/* owns; in used collective i, member j was for times_ns[i * nr_members + j] */
	uint64_t *times_ns;
	uint32_t *rows; /* owns; in the same order: indexes of entries */
	/* owns; rank by rank, the entries of each in their own order */
	struct collective_match_entry *entries;
	uint32_t nr_entries;
};

/* Hands each communicator with a key to take until take returns nonzero, and returns that value. take takes
 * ownership of what is in the match. *unknown counts the calls on communicators without a key. Processes above
 * nr_processes are left out, because they are younger than the profile. 0, -ENOMEM or the value of take. */
typedef int collective_match_take(void *context, struct collective_match *match);
int collective_match_each(const struct collective_log *log, uint32_t nr_processes,
			  collective_match_take *take, void *context, uint64_t *unknown);
void collective_match_fini(struct collective_match *match);

/* Tells whether two calls are of one rank on one communicator. */
static inline bool collective_match_same_end(const struct collective_match_entry *a,
					     const struct collective_match_entry *b)
{
	return a->process == b->process && a->communicator_id == b->communicator_id;
}

#endif
