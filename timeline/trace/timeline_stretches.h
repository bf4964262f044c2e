/* Walks over the time of a log in stretches, so that a log of any length passes through bounded memory. Used by one
 * thread. */
#ifndef TIMELINE_STRETCHES_H
#define TIMELINE_STRETCHES_H

#include "timeline_source.h"

#define TIMELINE_STRETCHES_EVENTS (1u << 20) /* of a stretch at most, by default */

/* Takes what is in [from_ns, to_ns). 0; -EFBIG: it is too much, and a part of it will be asked for; other errors
 * end the walk. */
typedef int timeline_stretches_take(void *context, uint64_t from_ns, uint64_t to_ns);

/* The stretches cover [from_ns, end_ns), each behind the one before. 0; -EFBIG: a microsecond is too much; or what take
 * returned. */
int timeline_stretches_walk(uint64_t from_ns, uint64_t end_ns, timeline_stretches_take *take,
			    void *context);

/* Keeps in *sum what readings of stretches have counted. Of each count it is the most that one of them has, so what is
 * damaged may be more. */
void timeline_stretches_count(struct timeline_counts *sum, const struct timeline_counts *counts);

#endif
