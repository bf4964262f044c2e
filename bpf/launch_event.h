/* Defines the event of the program on the guest's probe: one launch's stack. It has a ring buffer of its own, so that
 * launches and samples of host threads do not take each other's room. Plain C for both compilers. */
#ifndef LAUNCH_EVENT_H
#define LAUNCH_EVENT_H

#include <linux/types.h>

#define LAUNCH_EVENT_DEPTH 127u /* frames: default of kernel.perf_event_max_stack */

struct launch_event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 pid;     /* the process's pid, as the agent sees it */
	__u32 tid;     /* as the process sees it */
	__u32 correlation_id, cbid;
	__u32 code_pages; /* differs from the last event's if files were mapped or unmapped */
	__u32 depth;      /* frames: the probe's place, then return addresses */
	__u64 addresses[LAUNCH_EVENT_DEPTH];
};

_Static_assert(sizeof(struct launch_event) == 32 + 8 * 127, "launch_event");

#endif
