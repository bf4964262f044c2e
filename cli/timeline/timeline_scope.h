/* Whether what a timeline is asked for can be there at all. Single-threaded. */
#ifndef TIMELINE_SCOPE_H
#define TIMELINE_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

struct timeline_scope {
	const char *name;     /* of the profile, for messages */
	uint64_t from_ns;     /* since the first event */
	const uint8_t *ranks; /* [rank]: nonzero: wanted; NULL: all */
	uint32_t nr_ranks;
	uint64_t first_ns, last_ns; /* of all events; last_ns 0: there is none */
};

/* Returns whether one of the ranks is in the profile. If not, a message names those that are. */
bool timeline_scope_has_ranks(const struct timeline_scope *scope, const struct profile *profile);

/* Returns whether the time begins before the last event ends. If not, a message says how long the timeline is. */
bool timeline_scope_has_time(const struct timeline_scope *scope);

#endif
