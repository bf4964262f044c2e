/* Definitions: what a guest says once, in the definition lane of its ring. Each has a fixed head, and some a text
 * behind it, without a NUL. The consumer bounds every length by the size of the definition that it got. Plain data. */
#ifndef DEFINITION_H
#define DEFINITION_H

#include <assert.h>
#include <stdint.h>

#include "device_limits.h"
#include "kernel_config.h"

#define DEFINITION_SIZE_MAX     (128u << 10) /* bytes of one definition, head and text */
#define DEFINITION_BUILD_ID_MAX 32u          /* bytes; a longer build id is cut */

enum definition_type {
	DEFINITION_NAME = 1,   /* struct definition_name, then the name */
	DEFINITION_MODULE = 2, /* struct definition_module, then the path */
	DEFINITION_DEVICE = 3, /* struct definition_device, then the name */
	DEFINITION_CLOCK = 4,  /* struct definition_clock */
	DEFINITION_NOTICE = 5, /* struct definition_notice, then one line of text */
	DEFINITION_WINDOW = 6, /* struct definition_window */
	/* struct definition_api_statistic, then the function's name */
	DEFINITION_API_STATISTIC = 7,
	DEFINITION_KERNEL_CONFIG = 8, /* struct definition_kernel_config */
	DEFINITION_STREAM = 9,        /* struct definition_stream, then its name */
	DEFINITION_COMMUNICATOR = 10, /* struct definition_communicator */
	DEFINITION_CONTEXT = 11,      /* struct definition_context */
	DEFINITION_STALL_REASON = 12, /* struct definition_stall_reason, then its name */
	/* struct definition_kernel_samples, then its entries, then the kernel's name */
	DEFINITION_KERNEL_SAMPLES = 13,
	DEFINITION_CUBIN = 14, /* struct definition_cubin, then a piece of the cubin */
	/* struct definition_exact_samples, then as with DEFINITION_KERNEL_SAMPLES */
	DEFINITION_EXACT_SAMPLES = 15,
	DEFINITION_METRIC = 16, /* struct definition_metric, then its name */
	/* struct definition_kernel_metrics, then its struct definition_metric_sum */
	DEFINITION_KERNEL_METRICS = 17,
	DEFINITION_UNLOAD = 18, /* struct definition_unload */
};

/* From here on name ids are of measured ranges (definition_kernel_metrics), not of kernels. */
#define DEFINITION_NAME_RANGES (1u << 17)

struct definition_name {
	uint32_t name_id;   /* from 1 */
	uint32_t truncated; /* 1: the name was longer than RECORD_NAME_MAX */
};

/* An executable segment of a loaded file. A later definition replaces those that it overlaps. */
struct definition_module {
	uint64_t start, end; /* addresses in the process, end exclusive */
	uint64_t bias;       /* address - bias = virtual address in the ELF file */
	uint32_t build_id_size;
	uint32_t flags; /* enum definition_module_flags */
	uint8_t build_id[DEFINITION_BUILD_ID_MAX];
	/* equal for the same file at another address, and for no other file of the process; 0: not known */
	uint64_t identity;
};

/* A segment that was defined is gone. Until another definition the addresses are in no file. */
struct definition_unload {
	uint64_t start, end; /* as in the segment's definition_module */
	uint32_t nr_stacks;  /* stacks with higher ids have no frame in the segment */
	uint32_t reserved;   /* 0 */
};

enum definition_module_flags {
	DEFINITION_MODULE_MAIN = 1u << 0, /* the program itself (its path may be a link) */
	DEFINITION_MODULE_CUDA = 1u << 1, /* the guest itself, libcuda, libcudart or libcupti */
	DEFINITION_MODULE_VDSO = 1u << 2,
	/* with MODULE_CUDA: libcudart, whose API the application calls */
	DEFINITION_MODULE_CUDART = 1u << 3,
};

struct definition_device {
	uint32_t device_id; /* CUDA ordinal */
	uint32_t pci_domain, pci_bus, pci_device;
	uint8_t uuid[16]; /* as cuDeviceGetUuid_v2: a MIG instance has its own */
	struct device_limits limits;
};

/* One sample of three clocks, read within error_ns of each other. */
struct definition_clock {
	uint64_t monotonic_ns, realtime_ns, cupti_ns;
	uint64_t error_ns;
};

enum definition_notice_code {
	NOTICE_NO_CUPTI = 1,         /* no libcupti: GPU times are off */
	NOTICE_SUBSCRIBER_TAKEN = 2, /* another profiler holds CUPTI */
	NOTICE_CUPTI_FAILED = 3,     /* a CUPTI call that is needed failed */
	NOTICE_CUPTI_FOUND = 4,      /* the libcupti that is used (not a fault) */
	/* the frames of this interpreter cannot be read: native stacks go on */
	NOTICE_PYTHON_REFUSED = 5,
	NOTICE_PYTHON_FOUND = 6,   /* the version of CPython (not a fault) */
	NOTICE_UNWIND_TABLES = 7,  /* the memory and time of unwind tables (not a fault) */
	NOTICE_UNWIND_STOPPED = 8, /* files in which walks ended before a root, and how often */
	/* a variable in the environment has a value that does not exist; the default is used */
	NOTICE_STACKS_OPTION = 9,
	NOTICE_WINDOW_LOADED = 10,  /* a window ended, but CUPTI could not be left */
	NOTICE_AGENT_LINK = 11,     /* the next agent on this node will not find this process */
	NOTICE_ATTACH_REFUSED = 14, /* CUPTI cannot be started safely in this dormant process */
	/* another user of CUPTI's activity API has, or had, the GPU records */
	NOTICE_ACTIVITY_TAKEN = 12,
	NOTICE_NOT_CAPTURED = 15,     /* no capture window opened, and why (not a fault) */
	NOTICE_AUTOGRAD_REFUSED = 16, /* the forward lines of backward work cannot be read */
	NOTICE_CONTEXTS = 17,         /* some of AOTInductor's lines cannot be read */
	NOTICE_COST_LIMIT = 18,       /* launches take less or more of their stacks (not a fault) */
	NOTICE_NO_KERNEL_SAMPLES = 19, /* running kernels are not sampled, and why */
	NOTICE_NO_KERNEL_METRICS = 21, /* kernels or ranges are not measured, and why */
	NOTICE_TIGHT_SIZES = 20, /* a limit makes the ring so small that launches may be lost */
	/* another user shares CUPTI's subscription (not a fault), or cannot share it */
	NOTICE_SUBSCRIPTION_SHARED = 13,
};

struct definition_notice {
	uint32_t code; /* enum definition_notice_code */
	int32_t value; /* CUptiResult, or errno */
};

struct definition_window {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end 0: open */
	uint32_t window; /* several spans may have the same number; 0: the whole process */
	uint32_t flags;  /* enum definition_window_flags; 0 while the window is open */
};

enum definition_window_flags {
	DEFINITION_WINDOW_LEFT = 1u << 0, /* CUPTI left the process: launches cost nothing again */
	DEFINITION_WINDOW_RESUMED = 1u << 2, /* the next window opened before CUPTI could be left */
	DEFINITION_WINDOW_LOADED = 1u << 1,  /* CUPTI could not be left, and launches still cost */
};

/* The calls of one function so far, over all threads of the process. A later definition with the same domain, cbid and
 * error replaces it. */
struct definition_api_statistic {
	uint32_t domain; /* 1: the driver's functions, 2: the runtime's */
	uint32_t cbid;   /* CUPTI's, or DEFINITION_STEP_CBID */
	/* 0: all calls; else the calls that returned this error, and only count has a meaning */
	uint32_t error;
	uint32_t reserved;
	uint64_t count;
	uint64_t total_ns, min_ns, max_ns; /* from entry to exit */
	uint64_t errors; /* calls that returned an error; CUDA_ERROR_NOT_READY is an answer */
};

/* Steps that the program marked while it was captured stand as calls of this domain and number, which CUPTI gives no
 * function. They have no times. */
#define DEFINITION_STEP_DOMAIN 2u
#define DEFINITION_STEP_CBID   UINT32_MAX

/* The launches of one kernel with one configuration so far. A later definition of the same configuration replaces
 * it. */
struct definition_kernel_config {
	struct kernel_config config; /* config.name_id is the guest's name id */
	uint64_t count, total_ns, min_ns, max_ns;
};

/* What the guest has learned of a stream. The flags say which fields are known; the others stay as they were. */
struct definition_stream {
	uint32_t context_id, stream_id; /* as in gpu_records */
	int32_t priority;
	uint32_t flags; /* enum definition_stream_flags */
};

enum definition_stream_flags {
	DEFINITION_STREAM_PRIORITY = 1u << 0,     /* priority is known: lower numbers go first */
	DEFINITION_STREAM_NON_BLOCKING = 1u << 1, /* does not wait for the default stream */
	DEFINITION_STREAM_DEFAULT = 1u << 2,      /* the default stream of its context */
	DEFINITION_STREAM_NAMED = 1u << 3,        /* the program has named it */
};

/* A green context: a part of a parent context. GPU records name the green context; launches and definitions of streams
 * name the parent. Other contexts are not defined. */
struct definition_context {
	uint32_t context_id, parent_id; /* CUPTI's, as in gpu_records */
	uint32_t device_id;             /* CUDA ordinal */
	uint32_t nr_multiprocessors;    /* of the device's, that are this context's; 0: not known */
	uint32_t flags;                 /* enum definition_context_flags */
};

enum definition_context_flags {
	DEFINITION_CONTEXT_GREEN = 1u << 0, /* of cuGreenCtxCreate() */
};

/* A communicator of a collective library. It is defined before the first recorded call on it. */
struct definition_communicator {
	uint64_t key;             /* as in collective.h */
	uint32_t communicator_id; /* the guest's, from 1, without gaps */
	uint32_t rank, nr_ranks;  /* COLLECTIVE_NOT_KNOWN: not known */
	uint32_t reserved;        /* 0 */
};

#define DEFINITION_STALL_REASONS_MAX 64u

/* A reason why warps stall, by a number of the guest's own: "long_scoreboard". */
struct definition_stall_reason {
	uint32_t index; /* below DEFINITION_STALL_REASONS_MAX */
};

/* Samples of one kernel's instructions since the last look. They add up: none replaces others. */
struct definition_kernel_samples {
	uint64_t time_ns;    /* CLOCK_MONOTONIC, of the look */
	uint64_t cubin_crc;  /* CUPTI's number for the cubin */
	uint32_t device_id;  /* CUDA ordinal */
	uint32_t nr_entries; /* struct definition_kernel_sample */
};

struct definition_kernel_sample {
	uint32_t offset; /* of the instruction in its function, in bytes */
	uint32_t reason; /* definition_stall_reason.index */
	uint32_t count;  /* samples */
};

/* Samples whose launch CUPTI has named: those of one kernel and one launch's stack in one exact window. */
struct definition_exact_samples {
	struct definition_kernel_samples samples;
	uint32_t stack_id; /* as in launch_record */
	uint32_t cbid;     /* the launch's; 0: the launch is not known, and stack_id is 0 */
};

/* A piece of a cubin that has source lines. Pieces may come in any order, and more than once. */
struct definition_cubin {
	uint64_t crc;    /* as in definition_kernel_samples */
	uint32_t size;   /* of the whole cubin, in bytes */
	uint32_t offset; /* of this piece */
};

#define DEFINITION_METRICS_MAX 64u /* of one process */

/* A metric that kernels or ranges are measured by: "dram__bytes_read.sum"; METRIC_OPTIONS_KERNELS has ranges alone. */
struct definition_metric {
	uint32_t index; /* below DEFINITION_METRICS_MAX */
};

/* All measured launches of a kernel, or measured ranges of a name, from one stack so far. A later definition of the
 * same name and stack on the same device replaces it. A range's stack is that of its first call. */
struct definition_kernel_metrics {
	uint32_t device_id; /* CUDA ordinal */
	uint32_t stack_id;  /* as in launch_record, never RECORD_STACK_PROBE */
	uint32_t name_id;   /* as in gpu_record; a range's is above DEFINITION_NAME_RANGES */
	uint32_t cbid;      /* of the launches, below 2^16 */
	/* launches, or ranges, that one measurement takes: each counts a part of what the GPU cannot count at once */
	uint32_t nr_passes;
	uint32_t nr_sums;  /* struct definition_metric_sum */
	uint64_t count;    /* measurements */
	uint64_t total_ns; /* of their launches, or of their ranges, by CUPTI's records */
};

struct definition_metric_sum {
	uint32_t index;       /* definition_metric.index */
	uint32_t missing;     /* measurements without a value of it, not all of them */
	double sum, min, max; /* over the others; finite, and not below 0 */
};

static_assert(sizeof(struct definition_kernel_metrics) == 40, "shared-memory format");
static_assert(sizeof(struct definition_metric_sum) == 32, "shared-memory format");
static_assert(sizeof(struct definition_kernel_samples) == 24, "shared-memory format");
static_assert(sizeof(struct definition_exact_samples) == 32, "shared-memory format");
static_assert(sizeof(struct definition_kernel_sample) == 12, "shared-memory format");
static_assert(sizeof(struct definition_cubin) == 16, "shared-memory format");
static_assert(sizeof(struct definition_communicator) == 24, "shared-memory format");
static_assert(sizeof(struct definition_unload) == 24, "shared-memory format");
static_assert(sizeof(struct definition_module) == 72, "shared-memory format");
static_assert(sizeof(struct definition_device) == 84, "shared-memory format");
static_assert(sizeof(struct definition_api_statistic) == 56, "shared-memory format");
static_assert(sizeof(struct definition_kernel_config) == 80, "shared-memory format");

#endif
