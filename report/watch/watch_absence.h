/* What one look at a running job finds of ranks that have not come to a collective in which others wait
 * (straggler_absences.h). */
#ifndef WATCH_ABSENCE_H
#define WATCH_ABSENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "watch_finding.h"

#include "report/profile/profile_recent.h"

#define WATCH_ABSENCE_MAX 16u /* of a look: those for which most ranks wait */

struct watch_absence {
	/* owns; only name, text, communicator, ranks, nr_ranks and is_group have a meaning */
	struct watch_finding finding;
	uint32_t nr_waiting;
	uint64_t sequence; /* the collective's number on the communicator */
	uint64_t progress; /* differs if a rank that waits has made a call since */
	uint64_t usual_ns; /* no longer wait is unusual */
	bool has_ended;    /* their processes have, by themselves */
	bool is_over;      /* those that waited have ended */
};

/* The caller owns *list: watch_absence_free(). 0 or -ENOMEM. */
int watch_absence_find(const struct profile_recent *recent, struct watch_absence **list,
		       uint32_t *count);
void watch_absence_free(struct watch_absence *list, uint32_t count);

/* Copies; 0 or -ENOMEM: *to is empty. */
int watch_absence_copy(const struct watch_absence *from, struct watch_absence *to);

#endif
