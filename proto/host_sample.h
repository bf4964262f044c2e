/* What the agent's BPF programs saw of a host thread (docs/bpf.md): it ran, it waited, or it called a CUDA function in
 * a process without a guest. Reports keep host time beside GPU time, never in it (report_plane.h). Samples of running
 * kernels go the same way, and use the fields as said below. Plain data; no function here. The numbers are part of the
 * wire and of the store: append only. */
#ifndef HOST_SAMPLE_H
#define HOST_SAMPLE_H

#include <stdint.h>

enum host_sample_kind {
	HOST_SAMPLE_CPU = 0,     /* the thread ran: one period of the sampling clock */
	HOST_SAMPLE_OFF_CPU = 1, /* the thread waited: from leaving a CPU until it ran again */
	HOST_SAMPLE_CALL = 2,    /* the thread was in a CUDA call, from entry to return */
	HOST_SAMPLE_KERNEL = 3,  /* not of a host thread: instructions of a running kernel */
	/* the same with the stack of the launch, which CUPTI has named */
	HOST_SAMPLE_EXACT = 4,
	HOST_SAMPLE_KINDS, /* number of kinds */
};

/* Two reasons of waits: the thread could run, and had no CPU. */
#define HOST_SAMPLE_RUN_QUEUE "run queue" /* after it was woken */
#define HOST_SAMPLE_PREEMPTED "preempted"

/* With HOST_SAMPLE_KERNEL one struct stands for all samples of one place in a kernel and one stall reason since the
 * last look:
 *   - duration_ns is their number, not a time;
 *   - tid is the CUDA ordinal of the GPU in its process;
 *   - stack_id has the kernel's name as the outermost frame, as GPU records have it: a code without a file. Within it
 *     are source lines, inlined functions inwards: codes with a file, whose name is the kernel's for its own lines.
 *     Where lines are not known, one code without a file names the offset: "+0x1a0";
 *   - name_id is the stall reason ("long scoreboard"); cpu and command_id are 0.
 * With HOST_SAMPLE_EXACT the same, but the kernel's frame is within the stack of its launch, as GPU records have it.
 * That frame has the line HOST_SAMPLE_EXACT_LINE, so that it can be told from the others. It is the outermost frame
 * where the launch is not known. */
#define HOST_SAMPLE_EXACT_LINE 1u

struct host_sample {
	uint64_t time_ns;     /* CLOCK_MONOTONIC; the end of the time that the sample stands for */
	uint64_t duration_ns; /* that time; above 0 */
	uint32_t tid;         /* in the process's own pid namespace, as in launch_record */
	uint32_t stack_id;    /* stack node id, STACK_NODE_NONE: none */
	/* string id: the reason of the wait ("futex"), or the called function; 0: not known */
	uint32_t name_id;
	uint32_t cpu; /* where the thread ran, where it ran before the wait, or where it called */
	/* string id: the process's name in the kernel then ("python3"); 0: not known */
	uint32_t command_id;
	uint8_t kind;        /* enum host_sample_kind */
	uint8_t reserved[7]; /* 0 */
};

#endif
