/* Keeps time between capture windows out of the idle time of streams, processes and devices: nobody knows what they did
 * then. GPU work that runs on into such a time is busy time. What a device did is not known while one of its processes
 * was not captured. Pauses and work may come in any order; sums are exact as far as open intervals reach
 * (stream_timeline.h), and of a pause that comes later, the part before a timeline's horizon stays idle time. Pure;
 * used by the table's thread. */
#ifndef TIMELINE_PAUSES_H
#define TIMELINE_PAUSES_H

#include "timeline_table.h"

/* Takes a pause of the key's process (TIMELINE_PAUSES), or of a process that has the key's device
 * (TIMELINE_DEVICE_PAUSES). begin_ns < end_ns, asserted. 0 or -ENOMEM. */
int timeline_pauses_add(struct timeline_table *table, const struct timeline_key *key,
			uint64_t begin_ns, uint64_t end_ns);

/* As timeline_table_add(), for work: if that makes the key's span longer by pauses, these are not captured. */
int timeline_pauses_work(struct timeline_table *table, const struct timeline_key *key,
			 uint64_t start_ns, uint64_t end_ns);

#endif
