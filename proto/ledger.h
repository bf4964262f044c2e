/* The ledger: counts, for each process and device, what was produced and where it went. All counts are cumulative. So a
 * later entry replaces an earlier one, and a repeated message changes nothing.
 *
 * At every stage, for each (process, device):
 *	LEDGER_RECORDS = folded + LEDGER_RECORD_RING_FULL + LEDGER_INVALID_TIME + LEDGER_STILL_RUNNING + in flight
 * and for each process:
 *	LEDGER_LAUNCHES = received + LEDGER_LAUNCH_RING_FULL + LEDGER_LAUNCH_NO_LANE + in flight
 *	LEDGER_SAMPLES = received + LEDGER_SAMPLE_RING_FULL
 *	LEDGER_KERNEL_SAMPLES = received + LEDGER_KERNEL_SAMPLE_OTHER + LEDGER_KERNEL_SAMPLE_LOST
 *	LEDGER_EXACT_SAMPLES = received + LEDGER_EXACT_SAMPLE_OTHER + LEDGER_EXACT_SAMPLE_LOST
 *	LEDGER_METRIC_LAUNCHES = received + LEDGER_METRIC_SHARED + LEDGER_METRIC_LOST
 *	LEDGER_COLLECTIVES = received + LEDGER_COLLECTIVE_LOST
 * The numbers are part of the wire and of the store's schema: append only. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdint.h>

#define LEDGER_DEVICE_NONE 0xffffffffu /* the entry is the whole process's */
#define LEDGER_UNUSED      14u         /* no reason has this number */

enum ledger_reason {
	LEDGER_LAUNCHES = 0,         /* launch calls seen in the guest */
	LEDGER_LAUNCH_RING_FULL = 1, /* launches not recorded: the lane was full */
	LEDGER_LAUNCH_NO_LANE = 2,   /* launches not recorded: more launching threads than lanes */
	LEDGER_LAUNCH_FAILED = 3,    /* launches whose API call returned an error */
	LEDGER_STACK_TABLE_FULL = 4, /* launches recorded without their stack */
	LEDGER_RECORDS = 5, /* GPU records that CUPTI delivered (ns: of those with valid times) */
	LEDGER_RECORD_RING_FULL = 6, /* GPU records not passed on: the activity lane was full */
	LEDGER_INVALID_TIME = 7,     /* GPU records whose times are zero or reversed */
	/* GPU records without an end: still running when the process ended */
	LEDGER_STILL_RUNNING = 8,
	LEDGER_CUPTI_DROPPED = 9,   /* GPU records that CUPTI says it dropped */
	LEDGER_UNKNOWN_RECORD = 10, /* records of a kind that was not asked for */
	/* requests of CUPTI for a buffer that were answered with a discard buffer */
	LEDGER_BUFFER_EXHAUSTED = 11,
	LEDGER_NAME_LOST = 12, /* GPU records whose kernel name could not be passed on */
	/* records given up: the process's ring held what no guest writes */
	LEDGER_UNTRUSTED_RING = 13,
	LEDGER_UNCLEAN_END = 15,      /* processes that ended without a goodbye */
	LEDGER_LAUNCH_EXPIRED = 16,   /* launches for which no GPU record came */
	LEDGER_UNMATCHED_RECORD = 17, /* GPU records folded under [unknown stack] */
	/* loaded files that could not be announced: frames without a name */
	LEDGER_MODULE_LOST = 18,
	/* launches whose native frames end early: a file's unwind table was not ready */
	LEDGER_STACK_PARTIAL = 19,
	/* launches whose native frames end in code without usable unwind rules */
	LEDGER_STACK_NO_ROOT = 20,
	/* launches and host samples whose stack is deeper than the depth cap */
	LEDGER_STACK_TRUNCATED = 21,
	/* launches and host samples whose native and Python frames could not be interleaved */
	LEDGER_STACK_MISMATCH = 22,
	/* launches and host samples with Python frames that cannot be read */
	LEDGER_PYTHON_OFF = 23,
	LEDGER_CODE_TABLE_FULL = 24, /* stacks with a Python frame whose name found no room */
	/* GPU records of a graph's nodes without the stack that captured them */
	LEDGER_CAPTURE_UNKNOWN = 25,
	LEDGER_OUTSIDE_WINDOW = 26, /* GPU records of launches between a window's end and CUPTI's */
	LEDGER_NO_DEVICE = 27,      /* records, not of GPU work, whose context's GPU is not known */
	/* CUDA calls and kernels that found no room in the statistics of calls and launch configurations */
	LEDGER_STATISTIC_LOST = 28,
	/* capture windows that ended (ns: what they lasted), where not all of the run was captured */
	LEDGER_CAPTURE_WINDOW = 29,
	LEDGER_FREE_UNKNOWN = 30, /* frees of memory whose allocation was not seen */
	/* memory records that the account of live memory could not take at their time */
	LEDGER_MEMORY_INEXACT = 31,
	LEDGER_NVTX_NAME_LOST = 32, /* launches under an NVTX range whose name found no room */
	/* launches while another user of CUPTI's activity API had its records */
	LEDGER_ACTIVITY_TAKEN = 33,
	LEDGER_SAMPLES = 34,          /* host samples (ns: the time that they stand for) */
	LEDGER_SAMPLE_RING_FULL = 35, /* host samples lost: no room between kernel and agent */
	LEDGER_SAMPLE_NO_STACK = 36,  /* host samples whose stack could not be read */
	LEDGER_WAIT_SHORT = 37,  /* waits below the minimum, not sampled (ns: what they lasted) */
	LEDGER_PROBE_LOST = 38,  /* launches whose stack the kernel had no room to pass on */
	LEDGER_COLLECTIVES = 39, /* calls of a collective library, and its groups */
	/* calls of a collective library lost: no room on their way to the agent, or for their communicator */
	LEDGER_COLLECTIVE_LOST = 40,
	/* launches whose GPU records CUPTI had not delivered when the process had to end */
	LEDGER_LAUNCH_UNDELIVERED = 41,
	/* processes that recorded no more, since no agent had answered them */
	LEDGER_GUEST_GAVE_UP = 42,
	/* host samples shown by their innermost function alone: the agent had no time for more */
	LEDGER_STACK_HURRIED = 43,
	/* processes that ended by SIGINT, when the user stopped the job */
	LEDGER_INTERRUPTED_END = 44,
	/* processes that ended by SIGTERM or SIGHUP: a cancel, a time limit, kill, a closed terminal */
	LEDGER_TERMINATED_END = 45,
	/* GPU records without stack, name and stream: their process has too many different ones */
	LEDGER_ROWS_MERGED = 46,
	/* processes that ran on after their recording ended too early or not as planned */
	LEDGER_CUT_OFF = 47,
	/* GPU records under [a name too many]: their user has too many different names */
	LEDGER_NAME_LIMIT = 48,
	/* kernels of collective libraries that no longer wait for their call: too many came after them */
	LEDGER_KERNEL_UNJOINED = 49,
	/* times that an agent's frames were acknowledged late (ns: the longest wait); in agents' ledgers alone */
	LEDGER_BEHIND = 50,
	/* launches of a backward pass whose forward stack is not known */
	LEDGER_ORIGIN_UNKNOWN = 51,
	/* calls that the metered ones stand for (inject/launch/launch_meter.h). ns: the guest's time in them, which
	 * is the sum of the five parts that follow */
	LEDGER_METER = 52,
	/* calls metered (ns: this part, times the calls that each stands for) */
	LEDGER_METER_ENTRY = 53,
	LEDGER_METER_NATIVE = 54, /* the same for native frames */
	LEDGER_METER_PYTHON = 55,
	LEDGER_METER_INTERN = 56,
	LEDGER_METER_EXIT = 57,
	/* calls metered that took too long to be the guest's work alone */
	LEDGER_METER_OUTLIER = 58,
	LEDGER_METER_STACKS = 59, /* stacks added; all of them are metered */
	/* launching threads (ns: from their first call to their end, or to their last complete block of 64) */
	LEDGER_METER_THREADS = 60,
	/* bytes of unwind tables that processes built (ns: of CPU time to build them) */
	LEDGER_METER_TABLES = 61,
	/* flushes of CUPTI's records (ns: of CPU time, CUPTI's too) */
	LEDGER_METER_FLUSHES = 62,
	LEDGER_METER_BUFFERS = 63, /* buffers of records converted (ns: of CPU time) */
	/* attempts to end a capture window (ns: that they took, CUPTI's work included) */
	LEDGER_METER_WINDOWS = 64,
	/* bytes: the most memory that an agent's program had (ns: its CPU time). This reason and the next are in
	 * agents' ledgers alone */
	LEDGER_METER_AGENT = 65,
	LEDGER_METER_AGENT_RUN = 66, /* agents (ns: how long they ran) */
	/* launches with Python frames alone, with one frame and without a stack, because the guest cost more than
	 * --max-cost (inject/launch/cost_limit.h) */
	LEDGER_LESS_PYTHON = 67,
	LEDGER_LESS_LEAF = 68,
	LEDGER_LESS_NONE = 69,
	LEDGER_KERNEL_SAMPLES = 70, /* samples of running kernels that CUPTI counted */
	/* of these, samples of kernels that are not the program's */
	LEDGER_KERNEL_SAMPLE_OTHER = 71,
	/* of these, samples lost: by the GPU, by CUPTI, or without room on their way to the agent */
	LEDGER_KERNEL_SAMPLE_LOST = 72,
	/* modules of GPU code without their source lines: no room or time, or damaged */
	LEDGER_GPU_CODE_LOST = 73,
	/* samples of running kernels whose code was loaded before the guest was attached, or has not come whole */
	LEDGER_KERNEL_SAMPLE_NO_CODE = 74,
	/* the same as the four above, for samples of exact windows */
	LEDGER_EXACT_SAMPLES = 75,
	LEDGER_EXACT_SAMPLE_OTHER = 76,
	LEDGER_EXACT_SAMPLE_LOST = 77,
	LEDGER_EXACT_SAMPLE_NO_LAUNCH =
		78, /* of those passed on, samples whose launch is not known */
	/* exact windows (ns: from their begin to their end, while kernels ran one by one) */
	LEDGER_EXACT_WINDOWS = 79,
	LEDGER_METRIC_LAUNCHES = 80, /* launches or ranges that were measured (--metrics) */
	/* of these, those whose counts hold other threads' work, and are dropped */
	LEDGER_METRIC_SHARED = 81,
	/* of these, those whose counts are lost: CUPTI has none, no record came, or no room */
	LEDGER_METRIC_LOST = 82,
	/* launches that may have the names of a file whose place another one had taken, before the guest noticed */
	LEDGER_STACK_STALE = 83,
	/* calls of the lane in which the guest took most, as of LEDGER_METER (ns: the guest's time in them and in new
	 * stacks) */
	LEDGER_METER_BUSIEST = 84,
	LEDGER_METER_BUSIEST_THREAD =
		85, /* new stacks of that lane (ns: the time of its threads) */
	/* processes that launched (ns: of wall time from their first launch on) */
	LEDGER_METER_WALL = 86,
	/* launches whose measurement was given up, and ranges that were to be measured and could not be */
	LEDGER_METRIC_REFUSED = 87,
	/* samples of running kernels, also of exact windows, at an offset in place of lines, whose names found no room
	 */
	LEDGER_KERNEL_SAMPLE_NO_LINES = 88,
	/* the same without a place: the kernel's name, or the place in it, found no room */
	LEDGER_KERNEL_SAMPLE_NO_PLACE = 89,
	/* GPU records that came after their launch was given up, because too many launches waited */
	LEDGER_LAUNCH_GIVEN_UP = 90,
	LEDGER_REASONS,
};

/* What an entry means to the reader of a report. */
enum ledger_class {
	LEDGER_PRODUCED, /* the left side of the invariant */
	LEDGER_LOST,     /* missing from the totals */
	LEDGER_NOTED,    /* in the totals, or never meant to be, but worth a line */
	LEDGER_ENDS,     /* counts processes, not records; the report's verdict says it */
	LEDGER_COST,     /* what profiling cost; the report's last line says it */
};

/* Limits that no process can reach. */
#define LEDGER_COUNT_MAX (1ull << 48) /* 9 years of a million a second */
#define LEDGER_NS_MAX    (1ull << 60) /* 36 years */

struct ledger_entry {
	uint32_t device_id; /* CUDA ordinal, or LEDGER_DEVICE_NONE */
	uint32_t reason;    /* enum ledger_reason */
	uint64_t count;
	uint64_t ns; /* GPU time where it is known, else 0 */
};

/* Stable lower-case name ("ring_full"-like, a C identifier); an unknown reason: "unknown". Static storage. */
const char *ledger_reason_name(uint32_t reason);

/* One English phrase for people that names what is counted: "GPU records lost: activity lane full". Static storage. */
const char *ledger_reason_text(uint32_t reason);

/* An unknown reason is LEDGER_NOTED. */
enum ledger_class ledger_reason_class(uint32_t reason);

/* a + b, or UINT64_MAX where the sum does not fit. All sums of counts that processes report use it: a sum that wraps
 * would turn a large loss into a small one. */
static inline uint64_t ledger_add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
