/* What a GPU's counters say of short times, as CUPTI samples them (PM sampling), and what became of the sampling. Plain
 * data. */
#ifndef COUNTER_SAMPLING_H
#define COUNTER_SAMPLING_H

#include <assert.h>
#include <stdint.h>

/* Parts of what was possible, as enum telemetry_use has them. */
enum counter_use {
	COUNTER_SM,
	COUNTER_OCCUPANCY,
	COUNTER_TENSOR,
	COUNTER_DRAM, /* traffic of the GPU's memory, of its peak */
	COUNTER_USES,
};

/* Bytes of both directions together. */
enum counter_traffic {
	COUNTER_DRAM_BYTES,
	COUNTER_NVLINK_BYTES,
	COUNTER_PCIE_BYTES,
	COUNTER_TRAFFICS,
};

#define COUNTER_WHOLE 1000000u /* a use of all the time */

/* Bits of counter_sample.known. */
#define COUNTER_KNOWS_USE(number)     (1u << (number))
#define COUNTER_KNOWS_TRAFFIC(number) (1u << (COUNTER_USES + (number)))
#define COUNTER_KNOWN_MAX             ((1u << (COUNTER_USES + COUNTER_TRAFFICS)) - 1)

struct counter_sample {
	uint32_t device_id;         /* on the wire: CUDA ordinal; in a store: the device's id */
	uint32_t known;             /* without its bit a value is 0 */
	uint64_t begin_ns, end_ns;  /* CUPTI's, which is CLOCK_REALTIME; end_ns is above begin_ns */
	uint32_t use[COUNTER_USES]; /* COUNTER_WHOLE at most */
	uint64_t bytes[COUNTER_TRAFFICS];
};

static_assert(sizeof(struct counter_sample) == 64, "no hole");

/* Why a GPU is not sampled. */
enum counter_refusal {
	COUNTER_SAMPLED,
	COUNTER_NO_LIBRARY,    /* no libcupti was found, or it is too old */
	COUNTER_NO_DRIVER,     /* CUDA does not start */
	COUNTER_NO_DEVICE,     /* CUDA does not see the GPU */
	COUNTER_NO_RIGHT,      /* RmProfilingAdminOnly, and no capability */
	COUNTER_TAKEN,         /* another profiler has the counters */
	COUNTER_VIRTUAL,       /* a vGPU, or a part of a GPU (MIG) */
	COUNTER_NOT_SUPPORTED, /* the GPU or the driver has no such sampling */
	COUNTER_FAILED,        /* a call failed for another reason */
	COUNTER_DIED,          /* the process that samples has ended */
	COUNTER_HANGS,         /* it has said nothing for long, and was ended */
	COUNTER_REFUSALS,
};

/* A life of an agent's sampling of one GPU. A row only grows, so a later one replaces an earlier one. */
struct counter_state {
	uint32_t device_id; /* as of a sample */
	uint32_t refusal;   /* enum counter_refusal, or one that a newer agent knows */
	uint64_t begin_ns;  /* CLOCK_REALTIME; with device_id, the row's key */
	uint64_t last_ns;   /* the end of the newest sample, or the time of the refusal */
	uint64_t interval_ns;
	uint64_t samples; /* that came, and could be */
	uint64_t kept;    /* of them: those of windows that are kept */
	uint64_t unsent;  /* of those: the agent had no room for them */
	uint64_t
		dropped; /* first ones, and others of an impossible or an earlier time; in no other number */
	uint64_t
		overflows; /* CUPTI's buffer was full: the sampling began anew, and samples are missing */
	uint64_t asked_ns; /* time in which samples were wanted; 0: not known, of an older agent */
	uint64_t covered_ns; /* of it: time that samples cover, kept or not */
	uint64_t invalid; /* of samples: those with an impossible value, which is not known */
};

static_assert(sizeof(struct counter_state) == 96, "no hole");

#endif
