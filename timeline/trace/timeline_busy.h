/* When the GPUs of a process worked, from its work: idle time between pieces of work, and the share of time that they
 * were busy. Both are of this process alone. Pure; used by one thread. */
#ifndef TIMELINE_BUSY_H
#define TIMELINE_BUSY_H

#include "timeline_source.h"

#define TIMELINE_BUSY_IDLE_NS 10000u /* shorter gaps are not shown */
#define TIMELINE_BUSY_STEPS   1000u  /* of a GPU at most */

struct timeline_idle {
	uint64_t begin_ns, end_ns;
	uint32_t device_id;
};

struct timeline_load {
	uint64_t time_ns;
	uint64_t busy_ns;   /* in [time_ns, time_ns + step_ns) */
	uint32_t device_id; /* CUDA ordinal */
};

struct timeline_busy {
	struct timeline_idle *idle;  /* owns; by device, then time */
	struct timeline_load *loads; /* owns; the same; where nothing changes, none */
	uint32_t nr_idle, room_idle, nr_loads, room_loads;
	uint64_t
		step_ns; /* 1, 2 or 5 times a power of 10, 1000 ns or more; times are multiples of it */
};

/* work is of one process, by start. Waits of the host are ignored. 0 or -ENOMEM. Call timeline_busy_fini() in any
 * case. */
int timeline_busy_init(struct timeline_busy *busy, const struct timeline_work *work,
		       uint32_t nr_work);
void timeline_busy_fini(struct timeline_busy *busy);

#endif
