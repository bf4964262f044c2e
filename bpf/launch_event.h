/* What the program on the guest's probe tells the agent: one launch's stack, in a ring buffer of its own, so that
 * neither launches nor samples of host threads take the other's room. Plain C for both compilers. */
#ifndef LAUNCH_EVENT_H
#define LAUNCH_EVENT_H

#include <linux/types.h>

#define LAUNCH_EVENT_DEPTH 127u /* frames: default of kernel.perf_event_max_stack */

struct launch_event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 pid;     /* of the process, as the agent sees it */
	__u32 tid;     /* as the process sees it */
	__u32 correlation_id, cbid;
	__u32 code_pages; /* another number: files were mapped or unmapped */
	__u32 depth;      /* frames: where the probe is, then return addresses */
	__u64 addresses[LAUNCH_EVENT_DEPTH];
};

_Static_assert(sizeof(struct launch_event) == 32 + 8 * 127, "launch_event");

#endif
