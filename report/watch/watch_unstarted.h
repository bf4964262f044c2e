/* What one look at a running job finds of ranks that have not started: the job's size is known, and they have no
 * process that used CUDA. Used by one thread. */
#ifndef WATCH_UNSTARTED_H
#define WATCH_UNSTARTED_H

#include <stdint.h>

#include "watch_absence.h"

#define WATCH_UNSTARTED_NS    60000000000ull /* ranks may start so much later than others */
#define WATCH_UNSTARTED_RANKS 1024u          /* that are listed; of more the number alone is told */

/* Appends an absence for each job that lacks ranks. Its sequence is 0, and it keeps its name while ranks come. *list is
 * the caller's, as of watch_absence_find(). 0 or -ENOMEM. */
int watch_unstarted_add(const struct profile_recent *recent, struct watch_absence **list,
			uint32_t *count);

#endif
