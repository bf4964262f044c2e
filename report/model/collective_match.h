/* Matches the calls of a communicator's ranks: the n-th all_reduce of one rank belongs to the n-th of all others.
 * Clocks play no part. One thread. */
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
	/* collectives of other ranks on the communicator that this rank lacks */
	uint32_t missing;
	uint64_t span_ns; /* from its first collective's start to its last one's end */
};

/* The calls of one communicator. */
struct collective_match {
	uint64_t key;
	uint32_t origin;                         /* enum communicator_origin */
	uint32_t nr_ranks;                       /* COLLECTIVE_NOT_KNOWN: not known */
	struct collective_match_member *members; /* owns; by rank, process */
	uint32_t nr_members;
	uint64_t collectives; /* different collectives that hold all ranks up, of any rank */
	uint64_t complete;    /* of these, collectives with all ranks of the communicator */
	uint64_t used;        /* collectives in which all members have a time */
	uint64_t by_gpu;      /* of the used ones, those timed by kernels */
	uint64_t joint;       /* collectives carried by the kernel of an earlier one */
	uint64_t grouped;     /* collectives timed by the host, in a group */
	uint64_t others;      /* calls that hold no rank up: p2p, and collectives with a root */
	uint64_t duplicates;  /* calls whose rank and number came before */
	uint64_t span_ns;     /* the median of its members' spans */
	/* owns; member j spent times_ns[i * nr_members + j] in used collective i */
	uint64_t *times_ns;
	uint32_t *rows; /* owns; in the same order: indexes of entries */
	/* owns; sorted by rank, then in the rank's order */
	struct collective_match_entry *entries;
	uint32_t nr_entries;
};

/* Calls take for each communicator with a key, until take returns nonzero, and returns that value. take takes ownership
 * of the match's contents. *unknown counts the calls on communicators without a key. Processes above nr_processes are
 * younger than the profile, and are left out. 0, -ENOMEM or the value of take. */
typedef int collective_match_take(void *context, struct collective_match *match);
int collective_match_each(const struct collective_log *log, uint32_t nr_processes,
			  collective_match_take *take, void *context, uint64_t *unknown);
void collective_match_fini(struct collective_match *match);

/* Returns whether two calls are of one rank on one communicator. */
static inline bool collective_match_same_end(const struct collective_match_entry *a,
					     const struct collective_match_entry *b)
{
	return a->process == b->process && a->communicator_id == b->communicator_id;
}

#endif
