/* What the kernel saw of a host thread, where the agent may ask it (docs/bpf.md): it ran, it waited, or it called a
 * CUDA function in a process that has no guest. Host time lies beside GPU time, never in it (report_plane.h). Plain
 * data; no function here. The numbers are part of the wire and of the store: append only. */
#ifndef HOST_SAMPLE_H
#define HOST_SAMPLE_H

#include <stdint.h>

enum host_sample_kind {
	HOST_SAMPLE_CPU = 0,     /* the thread ran: one period of the sampling clock */
	HOST_SAMPLE_OFF_CPU = 1, /* it did not: from leaving the CPU until it came back */
	HOST_SAMPLE_CALL = 2,    /* it was in a CUDA call, entry to return */
	HOST_SAMPLE_KINDS,       /* number of kinds */
};

struct host_sample {
	uint64_t time_ns;     /* CLOCK_MONOTONIC, of the end of what it stands for */
	uint64_t duration_ns; /* what it stands for; above 0 */
	uint32_t tid;         /* in the process's own pid namespace, as in launch_record */
	uint32_t stack_id;    /* stack node id, STACK_NODE_NONE: none */
	/* string id: why it waited ("futex"), or which function it called; 0: not known */
	uint32_t name_id;
	uint32_t cpu; /* on which it ran, which it left to wait, or where it called */
	/* string id: the process's name in the kernel then ("python3"); 0: not known */
	uint32_t command_id;
	uint8_t kind;        /* enum host_sample_kind */
	uint8_t reserved[7]; /* 0 */
};

#endif
