/* When the GPUs of a process worked, from its work: idle time between pieces of work, with its reason, and the share of
 * time that they were busy. Both are of this process alone. Pure; used by one thread. */
#ifndef TIMELINE_BUSY_H
#define TIMELINE_BUSY_H

#include "capture_pauses.h"
#include "timeline_source.h"

#define TIMELINE_BUSY_IDLE_NS 10000u /* shorter gaps are not shown */
#define TIMELINE_BUSY_STEPS   1000u  /* of a GPU at most */
/* Below this the host's part of a gap is the price of launches; from here on the host did something else. */
#define TIMELINE_BUSY_HOST_NS 1000000u

/* A gap ends with the begin of work. The host was late with it until its launch, and then it was to start. */
enum timeline_idle_reason {
	TIMELINE_IDLE_UNKNOWN,  /* the launch is not here */
	TIMELINE_IDLE_LAUNCHES, /* the host was late by less than TIMELINE_BUSY_HOST_NS */
	TIMELINE_IDLE_HOST,     /* the host was late by more */
	TIMELINE_IDLE_START,    /* since the launch: latency, or it waited for other work */
	TIMELINE_IDLE_PAUSE,    /* nobody knows: the process was not captured */
};

struct timeline_idle { /* a gap, or a part of one that has one reason */
	uint64_t begin_ns, end_ns;
	uint32_t device_id;
	uint32_t launch; /* at the end of the gap; TIMELINE_SOURCE_NONE: it is not here */
	enum timeline_idle_reason reason;
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

/* work is of one process, by start; launches has those that it names. Waits of the host are ignored. pauses NULL: there
 * are none. 0 or -ENOMEM. Call timeline_busy_fini() in any case. */
int timeline_busy_init(struct timeline_busy *busy, const struct timeline_launch *launches,
		       const struct timeline_work *work, uint32_t nr_work,
		       const struct capture_pauses *pauses);
void timeline_busy_fini(struct timeline_busy *busy);

#endif
