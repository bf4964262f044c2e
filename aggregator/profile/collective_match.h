/* Matches the calls of a communicator's ranks: the n-th all_reduce of one rank belongs to the n-th of all others.
 * Clocks play no part. Pure; one thread. */
#ifndef COLLECTIVE_MATCH_H
#define COLLECTIVE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

struct collective;
struct collective_log;
struct collective_log_call;

#define COLLECTIVE_MATCH_ABSENT UINT32_MAX

/* A call in its place among the calls of its rank. */
struct collective_match_entry {
	uint64_t key, sequence;
	uint32_t process, communicator_id;
	uint32_t call; /* index into the log's calls */
	bool in_row;   /* otherwise it holds no rank up, or its rank and number came before */
	bool twice;    /* its rank and number came before */
};

/* A rank of a communicator. */
struct collective_match_member {
	uint32_t process, communicator_id; /* the roster's id; the process's */
	uint32_t rank;                     /* in the communicator; COLLECTIVE_NOT_KNOWN */
	uint32_t begin;                    /* its first entry */
};

/* A collective that holds all ranks up. */
struct collective_match_row {
	/* the first member's; without it that of the function's collective before */
	uint64_t sequence;
	uint64_t number;   /* of its function on the communicator */
	uint32_t function;
	uint32_t present; /* members that are in it */
	uint32_t entries; /* index into the match's places, which has one for each member */
};

/* The calls of one communicator. */
struct collective_match {
	uint64_t key;
	uint32_t origin;                         /* enum communicator_origin */
	uint32_t nr_ranks;                       /* COLLECTIVE_NOT_KNOWN: not known */
	struct collective_match_member *members; /* owns; by rank, process */
	uint32_t nr_members;
	struct collective_match_row *rows; /* owns; in the first members' order */
	uint32_t nr_rows;
	uint32_t *places; /* owns; indexes of entries, or COLLECTIVE_MATCH_ABSENT */
	/* owns; sorted by process, then in the rank's order */
	struct collective_match_entry *entries;
	uint32_t nr_entries;
};

/* Returns whether a row is the first collective of its function. Ranks start before it, and come to it at different
 * times, which is no lateness. */
static inline bool collective_match_is_first(const struct collective_match_row *row)
{
	return row->number == 1;
}

/* Calls take for each communicator with a key, until take returns nonzero, and returns that value. take takes ownership
 * of the match's contents. Without all, calls that are folded already are left out. Processes above nr_processes are
 * younger than the profile, and are left out. 0, -ENOMEM or the value of take. */
typedef int collective_match_take(void *context, struct collective_match *match);
int collective_match_each(const struct collective_log *log, uint32_t nr_processes, bool all,
			  collective_match_take *take, void *context);
void collective_match_fini(struct collective_match *match);

/* The launch of the kernel that did a collective's work, by its first member. */
struct collective_match_launch {
	uint64_t start_ns;
	uint32_t correlation_id;
	bool known;
};

enum collective_match_time {
	COLLECTIVE_MATCH_BY_GPU,
	COLLECTIVE_MATCH_BY_HOST,
	COLLECTIVE_MATCH_JOINT,   /* the kernel of the collective before carries it */
	COLLECTIVE_MATCH_GROUPED, /* in a group, and not timed by kernels */
};

/* Times a collective that has all members, by kernels or else by the host: times[j] is what member j spent in it.
 * launch is that of the last collective that was timed, and becomes that of this one if it is timed. */
enum collective_match_time collective_match_time(const struct collective_match *match,
						 const struct collective_log_call *calls,
						 const struct collective_match_row *row,
						 struct collective_match_launch *launch,
						 uint64_t *times);

/* Leaves in the match only collectives that have all members and a time: (*times)[i * nr_members + j] is what member j
 * spent in row i. The caller owns *times: free(). 0 or -ENOMEM. */
int collective_match_compare(struct collective_match *match, const struct collective_log *log,
			     uint64_t **times);

/* Returns whether two calls are of one rank on one communicator. */
static inline bool collective_match_same_end(const struct collective_match_entry *a,
					     const struct collective_match_entry *b)
{
	return a->process == b->process && a->communicator_id == b->communicator_id;
}

/* Returns whether a function holds each rank up until the last one has come, and the number of such a call. */
bool collective_match_holds_up(uint32_t function);
uint64_t collective_match_number(const struct collective *call);

#endif
