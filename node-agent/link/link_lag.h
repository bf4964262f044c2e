/* Watches how long the job's aggregator is behind with a node's own profile: how long a round waits for its
 * acknowledgement, or how long there is no connection. A log line says so, and another one says when it has caught up.
 * The node keeps the profile, so nothing is lost by it. Pure but for the lines; only the link's loop calls it. */
#ifndef LINK_LAG_H
#define LINK_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slow_spell.h"

/* As from one round to the next: a round that takes longer delays the next one. */
#define LINK_LAG_LIMIT_NS 10000000000ull

struct link_lag { /* zeroed: never behind */
	struct slow_spell spell;
	uint64_t told_count, told_ns; /* of link_lag_take() */
};

/* Takes since when the aggregator owes an answer, by the clock of now_ns; 0: it owes none. */
enum slow_spell_news link_lag_look(struct link_lag *lag, uint64_t since_ns, uint64_t now_ns);

/* Writes the line about news. */
void link_lag_say(const struct link_lag *lag, enum slow_spell_news news, const char *endpoint,
		  bool is_connected);

/* Returns whether reports are to be told anew how often the aggregator was behind (*count), and for how long at most:
 * when that begins, while it lasts each time that the time has doubled, and at its end. */
bool link_lag_take(struct link_lag *lag, uint64_t *count, uint64_t *most_ns);

#endif
