/* Puts the calls of a communicator's ranks together: the n-th all_reduce of one is that of the others, whatever clocks
 * say. One thread. */
#ifndef COLLECTIVE_MATCH_H
#define COLLECTIVE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

struct collective_log;

/* A call, in its place among those of its rank. */
struct collective_match_entry {
	uint64_t key, sequence;
	uint32_t process, communicator_id;
	uint32_t call; /* of the log's calls */
};

/* A rank of a communicator. */
struct collective_match_member {
	uint32_t process; /* the roster's id */
	uint32_t rank;    /* in the communicator; COLLECTIVE_NOT_KNOWN */
	uint32_t missing; /* collectives that others of it have, and it has not */
	uint64_t span_ns; /* from its first collective's start to its last one's end */
};

/* The calls of one communicator. */
struct collective_match {
	uint64_t key;
	uint32_t origin;                         /* enum communicator_origin */
	uint32_t nr_ranks;                       /* COLLECTIVE_NOT_KNOWN */
	struct collective_match_member *members; /* owns; by rank, process */
	uint32_t nr_members;
	uint64_t collectives; /* different ones, of whichever rank, that hold all ranks up */
	uint64_t complete;    /* of these, with all ranks of the communicator */
	uint64_t used;        /* with all members, and a time */
	uint64_t by_gpu;      /* of these, by kernels */
	uint64_t joint;       /* carried by the kernel of one before */
	uint64_t grouped;     /* by the host, in a group */
	uint64_t others;      /* calls that hold nobody up: p2p, and with a root */
	uint64_t duplicates;  /* calls of a rank and number that was there already */
	uint64_t span_ns;     /* the median of its members' */
	uint64_t *times_ns; /* owns; in used collective i, member j was for [i * nr_members + j] */
	uint32_t *rows;     /* owns; in the same order: of entries */
	struct collective_match_entry *entries; /* owns; rank by rank, each in its own order */
	uint32_t nr_entries;
};

/* Hands each communicator with a key to take, until it returns nonzero; returns that. take takes what is in the match.
 * *unknown: calls on communicators without a key. Processes above nr_processes are left out: they are younger than the
 * profile. 0, -ENOMEM or what take returned. */
typedef int collective_match_take(void *context, struct collective_match *match);
int collective_match_each(const struct collective_log *log, uint32_t nr_processes,
			  collective_match_take *take, void *context, uint64_t *unknown);
void collective_match_fini(struct collective_match *match);

/* Whether two calls are of one rank on one communicator. */
static inline bool collective_match_same_end(const struct collective_match_entry *a,
					     const struct collective_match_entry *b)
{
	return a->process == b->process && a->communicator_id == b->communicator_id;
}

#endif
