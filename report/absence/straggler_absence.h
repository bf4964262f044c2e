/* Finds the ranks that have not come to a collective in which the others of a communicator wait. Ranks that have come
 * have a call of it; its kernel has not ended on any of them. No clock is compared with another. Pure; any thread.
 *   - Of each function, collectives behind the last one that is over are looked at. One is over if all ranks have come,
 *     or if its kernel ended on one of them in less than STRAGGLER_ABSENCE_NS.
 *   - The first of these is the one in which ranks wait. A rank is absent if it has come to none of them.
 *   - If a rank has come to a later one only, calls were lost, and nothing is said. Nor is it if calls of a member are
 *     recorded in windows alone, because ranks leave a window at different collectives.
 *   - A rank that has made no call on the communicator is absent if the job has as many ranks as the communicator.
 *   - Half of the ranks are absent at most. */
#ifndef STRAGGLER_ABSENCE_H
#define STRAGGLER_ABSENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/collective_match.h"
#include "aggregator/profile/roster.h"

#define STRAGGLER_ABSENCE_NS                                                                       \
	10000000000ull              /* a shorter wait is none for a rank that does not come */
#define STRAGGLER_ABSENCE_CALLS 32u /* of a rank that waits, before: how far they are apart */

struct straggler_absent {
	uint32_t process; /* the roster's id; 0: the rank is not in the profile */
	int32_t rank;     /* of the job; MESSAGE_RANK_NONE */
};

struct straggler_waiting {
	uint32_t process;
	uint64_t
		since_ns; /* when it made its newest call on any communicator: CLOCK_MONOTONIC of its host */
};

struct straggler_absence {
	uint64_t key;      /* of the communicator */
	uint64_t sequence; /* the collective's number on it, as a rank that waits has it */
	uint32_t function; /* enum collective_function */
	struct straggler_absent *absent;   /* owns; by rank, process */
	struct straggler_waiting *waiting; /* owns */
	uint32_t nr_absent, nr_waiting;
	uint32_t *members; /* owns; processes of the communicator, absent or not */
	uint32_t nr_members;
	uint64_t usual_ns; /* the longest time between two calls of the first waiting rank before */
	/* The roster's id of a host, all of whose ranks are absent, if these are several; 0: there is none */
	uint32_t host;
	/* key of a communicator in whose collective all of the absent ranks wait themselves; 0: they do not */
	uint64_t waits_on;
	uint64_t
		waited_ns; /* the shortest time that a rank has waited; 0: not known (straggler_absences.h) */
	bool has_fallen; /* some absent ranks had come, and died there (straggler_deaths.h) */
	bool is_over;    /* all ranks that waited have ended */
	bool has_ended; /* all absent ranks have ended by themselves, not by a signal from outside */
};

/* newest_ns: of each process of the roster, when it made its newest call. Sets *absence up to usual_ns, and zeroes what
 * follows, which straggler_absences.h and straggler_deaths.h set. nr_absent is 0 if nobody waits so. 0 or -ENOMEM; call
 * straggler_absence_fini() in either case. */
int straggler_absence_find(const struct collective_match *match,
			   const struct collective_log_call *calls, const struct roster *roster,
			   const uint64_t *newest_ns, struct straggler_absence *absence);
void straggler_absence_fini(struct straggler_absence *absence);

/* Returns whether a process has ended; whether by a signal with which a user or a scheduler ends jobs. */
bool straggler_absence_ended(const struct roster_process *process);
bool straggler_absence_stopped(const struct roster_process *process);

#endif
