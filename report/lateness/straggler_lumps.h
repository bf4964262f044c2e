/* Finds the lumps of a communicator's waits. A lump is a number of stretches in a row for which the same subject kept
 * the others waiting longest (straggler.h). A stretch that cost less than a tenth of what came before and comes after
 * it ends a lump. Pure; any thread. */
#ifndef STRAGGLER_LUMPS_H
#define STRAGGLER_LUMPS_H

#include <stdbool.h>
#include <stdint.h>

#include "straggler_lateness.h"

/* Lumps that cost a fourth of the costliest one count with it; others are noise. */
#define STRAGGLER_LUMPS_COSTLY 4

struct straggler_lump {
	uint32_t subject;
	uint32_t first, nr_stretches;
	uint64_t kept_ns; /* what the others waited for the subject in these stretches */
	uint64_t most_ns; /* the same in the costliest of them */
};

/* The lumps, those that cost most first. *lumps has `count` entries; the caller owns it. 0 or -ENOMEM. */
int straggler_lumps_find(const struct straggler_lateness *lateness, struct straggler_lump **lumps,
			 uint32_t *count);

/* Returns whether a lump is one of up to STRAGGLER_STALLS costliest ones that are stalls together. It costs
 * STRAGGLER_STALL_TIMES as much a stretch as all that is outside of these. The tail of that lets so many of at least
 * their costs expect with a probability below STRAGGLER_STALL_P_MAX, divided by their number: one test for each. It
 * needs lateness->values. */
bool straggler_lumps_is_stall(const struct straggler_lateness *lateness,
			      const struct straggler_lump *lumps, uint32_t count, uint32_t index);

/* Returns the probability that as many of the costliest lumps belong to one of equal subjects of this size, or that
 * all of its lumps cost as much: twice the less of the two. The former is the least of several: of the 8, 16, 32 …
 * costliest lumps, of those apart, and of those before the costs drop most, times their number. independent: the share
 * of the lumps that are. The first `apart` lumps are, because noise that lasts cannot make them
 * (straggler_lumps_apart()). 1: there are fewer than STRAGGLER_FEWEST lumps. */
double straggler_lumps_p(const struct straggler_lump *lumps, uint32_t count, uint32_t subject,
			 double equal, double independent, uint32_t apart);

/* Returns how many of the costliest lumps have a stretch of more than ten times the spread of stretches around what is
 * usual. */
uint32_t straggler_lumps_apart(const struct straggler_lateness *lateness,
			       const struct straggler_lump *lumps, uint32_t count);

/* Returns the probability that as many stops belong to one of equal subjects. Stops are those of the first `apart`
 * lumps that cost a fourth of the costliest one, and half of which is in one stretch. *kept_ns: what the others waited
 * for the subject in its own. */
double straggler_lumps_stops_p(const struct straggler_lump *lumps, uint32_t apart, uint32_t subject,
			       double equal, uint64_t *kept_ns);

#endif
