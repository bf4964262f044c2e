/* What NVML tells of a GPU over time, in sums: clocks, what holds them down, power, energy, temperature, memory errors,
 * and what its counters say of work and traffic (GPM). One row is of one GPU and a stretch of an agent's life. The
 * agent reads it a few times a second; the time since the reading before counts as what the newer one says. A row only
 * grows, so a later one replaces an earlier one. Plain data. */
#ifndef DEVICE_TELEMETRY_H
#define DEVICE_TELEMETRY_H

#include <assert.h>
#include <stdint.h>

/* What holds the clocks. If several hold at once, the first in this order has the time, so the times add up. */
enum telemetry_reason {
	TELEMETRY_IDLE,           /* the GPU has no work */
	TELEMETRY_HW_THERMAL,     /* hardware slowdown: too hot */
	TELEMETRY_HW_POWER_BRAKE, /* hardware slowdown: the power supply asks for it */
	TELEMETRY_HW_SLOWDOWN,    /* hardware slowdown, for another reason */
	TELEMETRY_SW_THERMAL,     /* the driver holds a temperature */
	TELEMETRY_SW_POWER_CAP,   /* the driver holds the power limit */
	TELEMETRY_SYNC_BOOST,     /* the GPU follows a slower one of its group */
	TELEMETRY_SET_CLOCKS,     /* somebody has set the clocks: of applications or displays */
	TELEMETRY_OTHER,
	TELEMETRY_FREE, /* nothing */
	TELEMETRY_REASONS,
};

/* Why some of it is not known. */
enum telemetry_refusal {
	TELEMETRY_ANSWERS,       /* all is known */
	TELEMETRY_NO_LIBRARY,    /* libnvidia-ml is missing, or too old */
	TELEMETRY_NO_DRIVER,     /* NVML does not start */
	TELEMETRY_NO_DEVICE,     /* NVML does not see the GPU */
	TELEMETRY_DIVIDED,       /* MIG: parts share all of this */
	TELEMETRY_NOT_SUPPORTED, /* the GPU lacks clocks, reasons, power or energy */
	TELEMETRY_NO_PERMISSION,
	TELEMETRY_HANGS, /* a call has not returned for seconds */
	TELEMETRY_FAILED,
	TELEMETRY_REFUSALS,
};

/* What GPM measures as a part of the time, or of what was possible. */
enum telemetry_use {
	TELEMETRY_COMPUTING, /* a kernel ran */
	TELEMETRY_SM,        /* a multiprocessor had a warp, mean of all */
	TELEMETRY_OCCUPANCY, /* warps on multiprocessors, of as many as there can be */
	TELEMETRY_TENSOR,    /* any pipe of tensor cores worked, mean of all */
	TELEMETRY_DRAM,      /* traffic of the GPU's memory, of its peak */
	TELEMETRY_USES,
};

/* What counters measure in bytes, by direction as the GPU sees it. In place of the last one GPM tells a part of the
 * memory's peak. */
enum telemetry_traffic {
	TELEMETRY_PCIE_SENT,
	TELEMETRY_PCIE_RECEIVED,
	TELEMETRY_NVLINK_SENT,
	TELEMETRY_NVLINK_RECEIVED,
	TELEMETRY_DRAM_BYTES, /* of the memory, read and written together */
	TELEMETRY_TRAFFICS,
};

/* Each kind of value has the time for which it is known; 0: it is not known at all. */
struct device_telemetry {
	uint32_t device_id; /* on the wire: CUDA ordinal; in a store: the device's id */
	uint32_t refusal;   /* enum telemetry_refusal, or one that a newer agent knows */
	uint64_t begin_ns;  /* CLOCK_REALTIME at the first try; with device_id, the row's key */
	uint64_t last_ns;   /* the newest reading or try, as begin_ns */
	uint64_t readings;
	/* Time between readings in which a process used the GPU. Longer gaps than TELEMETRY_GAP_NS are in no time but
	 * those of energy and of GPM. */
	uint64_t observed_ns;
	uint64_t clock_ns;                 /* time with clocks and without TELEMETRY_IDLE */
	uint64_t sm_cycles, memory_cycles; /* in clock_ns: clock by time */
	uint32_t sm_min_mhz, sm_max_mhz;   /* in clock_ns */
	uint64_t reason_ns[TELEMETRY_REASONS];
	/* Time with power, and power by time. NVML tells a mean of about a second. */
	uint64_t power_ns, power_nj;
	/* Time between readings of the board's counter of energy, and its difference. */
	uint64_t energy_ns, energy_mj;
	uint32_t max_celsius; /* 0: not known */
	uint32_t gpm_refusal; /* as refusal: why one of the last four is missing */
	/* The same for the counters of memory errors since the driver was loaded. */
	uint64_t ecc_ns;
	uint64_t ecc_corrected, ecc_uncorrected;
	/* Time between samples of GPM, gaps included, and the part of it that was used: use by time. */
	uint64_t use_known_ns[TELEMETRY_USES], use_ns[TELEMETRY_USES];
	uint64_t traffic_known_ns[TELEMETRY_TRAFFICS], traffic_bytes[TELEMETRY_TRAFFICS];
};

static_assert(sizeof(struct device_telemetry) ==
		      (17 + TELEMETRY_REASONS + 2 * (TELEMETRY_USES + TELEMETRY_TRAFFICS)) * 8,
	      "no hole");

#define TELEMETRY_GAP_NS 2000000000ull

#endif
