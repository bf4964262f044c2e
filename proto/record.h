/* The records that flow from a CUDA launch to a folded line. Shared memory, batches and the correlator use the same two
 * structs. Only the scope of stack_id and name_id changes on the way (guest, agent, store); each stage says which one
 * it holds.
 * Plain data; no function here. Sizes are part of the shared-memory format (record_ring.h) and are asserted below. */
#ifndef RECORD_H
#define RECORD_H

#include <assert.h>
#include <stdint.h>

#define RECORD_STACK_NONE 0u          /* no stack was captured */
#define RECORD_NAME_NONE  0u          /* no name, or it was lost */
#define RECORD_STACK_FULL 0xffffffffu /* in a ring: there was no room for another stack */
/* in a ring: a BPF program walked the stack at the guest's probe, and the agent has it from there (launch_probe.h) */
#define RECORD_STACK_PROBE 0xfffffffeu
#define RECORD_STACK_DEPTH 255u       /* words (stack_word.h) of one stack at most */
#define RECORD_CODES_MAX   (1u << 16) /* Python functions of one process */
/* bytes of a file's name, and of a function's; a longer one loses its front */
#define RECORD_CODE_TEXT_MAX 4096u
#define RECORD_STACKS_MAX    (1u << 18) /* stacks of one process */
#define RECORD_NAME_MAX      65535u     /* bytes of a name; a longer one is cut */
/* the record belongs to no single GPU, or its GPU is not known; never of GPU work */
#define RECORD_DEVICE_NONE 0xffffffffu
/* CUDA ordinals of one process; a higher one is counted under the last */
#define RECORD_DEVICES_MAX 64u

enum record_launch_flags {
	/* written at the call's exit: the launch with this correlation_id failed and has no GPU record */
	RECORD_LAUNCH_FAILED = 1u << 0,
	/* one call, any number of GPU records (graph launch, batched copies) */
	RECORD_LAUNCH_MANY = 1u << 1,
	/* not a launch, but a call without GPU work (a wait, an allocation), recorded for its stack */
	RECORD_LAUNCH_HOST = 1u << 2,
	/* with RECORD_LAUNCH_HOST: no call, but a mark of the program (enum record_mark, in place of cbid), whose
	 * stack_id has the thread's open ranges alone */
	RECORD_LAUNCH_MARK = 1u << 3,
};

enum record_mark {
	RECORD_MARK_RANGES = 0,   /* a range was opened or closed */
	RECORD_MARK_STEP = 1,     /* a step begins: correlation_id is its number, from 1 */
	RECORD_MARK_STEP_END = 2, /* the thread's step ends: its number, or 0 */
	/* An agent makes these two of a process's capture windows (DEFINITION_WINDOW), once another one has begun:
	 * between them nothing was captured. tid and stack_id are 0. */
	RECORD_MARK_WINDOW_END = 3,
	RECORD_MARK_WINDOW = 4,
};

/* One driver call that asks the GPU for work. Written by the launching thread, before the call does anything. */
struct launch_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC, at the call's entry */
	/* CUPTI's; it wraps, and may start again in a new capture window */
	uint32_t correlation_id;
	uint32_t stack_id; /* RECORD_STACK_NONE: none; in a ring also RECORD_STACK_FULL, _PROBE */
	uint32_t tid;      /* of the calling thread, in its own pid namespace */
	uint16_t cbid;     /* CUpti_driver_api_trace_cbid */
	uint16_t window;   /* capture window, from 1 */
	uint32_t flags;    /* enum record_launch_flags */
	uint32_t reserved; /* 0 */
};

enum record_gpu_kind {
	RECORD_GPU_KERNEL = 0,
	RECORD_GPU_MEMCPY = 1,
	RECORD_GPU_MEMSET = 2,
	RECORD_GPU_GRAPH = 3, /* a whole graph, in place of its nodes */
	/* The kinds below are recorded on request (record_options.h). None is GPU work, and no total of GPU time
	 * includes them. */
	RECORD_GPU_SYNC = 4,     /* the host waited */
	RECORD_GPU_OVERHEAD = 5, /* CUPTI's or the driver's own work: flushes, JIT, lazy loading */
	RECORD_GPU_UNIFIED = 6,  /* unified memory: faults and migrations */
	RECORD_GPU_MODULE = 7,   /* the host loaded GPU code */
	RECORD_GPU_ALLOC = 8,    /* device memory was allocated; start_ns == end_ns */
	RECORD_GPU_FREE = 9,     /* device memory was freed; start_ns == end_ns */
	RECORD_GPU_KINDS,        /* number of kinds */
};

#define RECORD_OVERHEAD_CUPTI 16u

/* One piece of work that a GPU finished, or another activity that CUPTI reports. start_ns <= end_ns, and both are
 * nonzero. Records with other times are counted (ledger.h) and never become a gpu_record. */
struct gpu_record {
	/* CUPTI's clock. That is CLOCK_REALTIME, unless the application has given CUPTI a clock of its own in ns. */
	uint64_t start_ns, end_ns;
	uint64_t bytes; /* memcpy, memset, unified memory, allocations; else 0 */
	union {
		uint64_t graph_node_id; /* kernel, memcpy, memset; 0: not from a graph */
		uint64_t address;       /* unified memory, allocations */
	};
	uint32_t correlation_id;
	/* CUDA ordinal in its process; RECORD_DEVICE_NONE only where the record is no GPU work */
	uint32_t device_id;
	uint32_t context_id; /* unique within a process */
	uint32_t stream_id;  /* unique within a context */
	/* the kernel's name, or that of the function that loaded a module; else RECORD_NAME_NONE */
	uint32_t name_id;
	uint32_t graph_id;
	uint8_t kind; /* enum record_gpu_kind */
	/* CUPTI's number for the kind of memcpy, sync and so on:
	 *   - memcpy: CUpti_ActivityMemcpyKind;
	 *   - sync: CUpti_ActivitySynchronizationType;
	 *   - overhead: CUpti_ActivityOverheadKind; CUPTI's own kinds, n << 16, are RECORD_OVERHEAD_CUPTI + n;
	 *   - unified memory: CUpti_ActivityUnifiedMemoryCounterKind;
	 *   - allocations: memory_kind.h. */
	uint8_t copy_kind;
	uint16_t window;
	/* the stack that created the graph's node; RECORD_STACK_NONE: no node, or not known */
	uint32_t capture_stack_id;
};

static_assert(sizeof(struct launch_record) == 32, "shared-memory format");
static_assert(sizeof(struct gpu_record) == 64, "shared-memory format");

#endif
