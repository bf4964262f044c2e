/* Watches how long the publisher's oldest frame waits for its acknowledgement. If that is long, the aggregator, its
 * disk or the link is behind. A log line says so, and another one says when it has caught up. The agent's ledger
 * (LEDGER_BEHIND) tells every report. Single-threaded: only the agent loop calls it. */
#ifndef PUBLISHER_LAG_H
#define PUBLISHER_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slow_spell.h"

struct publisher;

/* The aggregator acknowledges what it has committed: after a second at most, and after another one if that commit
 * failed. The third second is for a machine with other work. */
#define PUBLISHER_LAG_LIMIT_NS 3000000000ull

struct publisher_lag { /* zeroed: never behind */
	struct slow_spell spell;
	uint64_t welcomed_ns;         /* the first look after a WELCOME; 0: none came yet */
	uint64_t link_count, link_ns; /* the caller's: of the node's link to the job's aggregator, as spell's */
	uint64_t told_count, told_ns; /* the ledger that was sent last */
	uint64_t told_run_ns;         /* and its cost->run_ns */
	bool is_over;                 /* the last ledger was sent */
};

/* Looks at the publisher after its step. Frames that were kept before the first WELCOME wait from then on. */
enum slow_spell_news publisher_lag_look(struct publisher_lag *lag,
					const struct publisher *publisher, uint64_t now_ns);

/* Returns whether an endpoint is that of an aggregator in this process. */
bool publisher_lag_is_own(const char *endpoint);

/* Writes the line about news. nr_lost: what this node's ledgers count as lost by now. */
void publisher_lag_say(const struct publisher_lag *lag, const struct publisher *publisher,
		       enum slow_spell_news news, const char *endpoint, uint64_t nr_lost);

#define PUBLISHER_COST_NS                                                                          \
	10000000000ull /* between two ledgers in which the cost alone has changed */

/* What the agent's program has cost so far. */
struct publisher_cost {
	uint64_t cpu_ns, peak_bytes;
	uint64_t run_ns; /* since the agent began */
};

/* Sends the ledger to the aggregator if it has changed, as soon as no frame is late. cost NULL: it is not told.
 * is_last: the ledger does not wait, and no later call sends one, since nothing may follow a goodbye. 0 or -errno of
 * publisher_send(). */
int publisher_lag_tell(struct publisher_lag *lag, struct publisher *publisher,
		       const struct publisher_cost *cost, bool is_last);

/* Returns when to look again though nothing happens, by CLOCK_MONOTONIC. */
uint64_t publisher_lag_deadline_ns(const struct publisher_lag *lag,
				   const struct publisher *publisher);

#endif
