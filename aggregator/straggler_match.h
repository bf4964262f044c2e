/* Puts the calls of a communicator's ranks together: the n-th all_reduce of one is that of the others, whatever clocks
 * say. Part of report_straggler; one thread. */
#ifndef STRAGGLER_MATCH_H
#define STRAGGLER_MATCH_H

#include "report_straggler.h"

/* A call, in its place among those of its rank. */
struct straggler_match_entry {
	uint64_t key, sequence;
	uint32_t process, communicator_id;
	uint32_t call; /* of the log's calls */
};

struct straggler_match {
	struct report_straggler_communicator communicator; /* but for what is found */
	uint64_t *times_ns;                                /* owns; as straggler_input has them */
	uint32_t *rows;                                    /* owns; likewise: of entries */
	struct straggler_match_entry *entries; /* owns; rank by rank, each in its own order */
	uint32_t nr_entries;
};

/* Hands each communicator with a key to take, until it returns nonzero; returns that. take takes what is in the match.
 * *unknown: calls on communicators without a key. Processes above nr_processes are left out: they are younger than the
 * profile. 0, -ENOMEM or what take returned. */
typedef int straggler_match_take(void *context, struct straggler_match *match);
int straggler_match_each(const struct collective_log *log, uint32_t nr_processes,
			 straggler_match_take *take, void *context, uint64_t *unknown);
void straggler_match_fini(struct straggler_match *match);

/* How late a member was behind the median of the others where it was last, the mean; in so many collectives. */
uint64_t straggler_match_lateness(const struct straggler_match *match, uint32_t late,
				  uint64_t *count);

/* Of a member, before each collective in which the late one was last: from the end of its previous call on the
 * communicator to the start of this one; by kernels where both are known and so is the clock, else by host calls. The
 * caller owns *windows (free()). 0 or -ENOMEM. */
int straggler_match_windows(const struct straggler_match *match, const struct collective_log *log,
			    uint32_t late, uint32_t member, struct straggler_window **windows,
			    uint32_t *nr_windows);

#endif
