/* Declares the part of CUPTI's PM sampling that Flamegrid uses (cupti_pmsampling.h; CUPTI 12.6 and later), beside the
 * host part of metrics_abi.h. tests/node-agent/counters/pm_abi_test.c asserts all of it against the real headers, if
 * they are installed.
 *
 * Parameters begin with their size, and a word that is 0. The size ends with the last field, without padding. Plain
 * data. */
#ifndef PM_ABI_H
#define PM_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cupti/metrics_abi.h"

#define PM_ABI_TYPE            1 /* CUpti_ProfilerType */
#define PM_ABI_BY_SYSTEM_CLOCK 0 /* CUpti_PmSampling_TriggerMode: the interval is in cycles */
#define PM_ABI_BY_TIME         1 /* the interval is in ns; Turing and GA100 lack it */
#define PM_ABI_KEEP_OLDEST     0 /* CUpti_PmSampling_HardwareBuffer_AppendMode */
#define PM_ABI_IMAGE_FULL      1 /* CUpti_PmSampling_DecodeStopReason */

/* Calls with an object alone (start, stop, disable) take a struct metrics_call. */

struct pm_availability { /* CUpti_PmSampling_GetCounterAvailability_Params */
	size_t size;
	void *reserved;
	size_t device;
	size_t image_size; /* out if image is NULL */
	uint8_t *image;
};

struct pm_enable { /* CUpti_PmSampling_Enable_Params */
	size_t size;
	void *reserved;
	size_t device;
	void *object; /* out */
};

struct pm_set { /* CUpti_PmSampling_SetConfig_Params */
	size_t size;
	void *reserved, *object;
	size_t config_size;
	const uint8_t *config; /* CUPTI reads it until the session is disabled (kineto#1512) */
	size_t buffer_size;
	uint64_t interval;
	int trigger, append;
};

struct pm_counters_size { /* CUpti_PmSampling_GetCounterDataSize_Params */
	size_t size;
	void *reserved, *object;
	const char **names;
	size_t count;
	uint32_t samples;
	size_t counters_size; /* out */
};

struct pm_counters { /* CUpti_PmSampling_CounterDataImage_Initialize_Params */
	size_t size;
	void *reserved, *object;
	size_t counters_size;
	uint8_t *counters;
};

struct pm_decode { /* CUpti_PmSampling_DecodeData_Params */
	size_t size;
	void *reserved, *object;
	uint8_t *counters;
	size_t counters_size;
	int reason;       /* out */
	uint8_t overflow; /* out */
};

struct pm_counted { /* CUpti_PmSampling_GetCounterDataInfo_Params */
	size_t size;
	void *reserved;
	const uint8_t *counters;
	size_t counters_size;
	size_t total, populated, completed; /* out */
};

struct pm_sample { /* CUpti_PmSampling_CounterData_GetSampleInfo_Params */
	size_t size;
	void *reserved, *object;
	const uint8_t *counters;
	size_t counters_size;
	size_t number;
	uint64_t begin_ns, end_ns; /* out */
};

static_assert(METRICS_ABI_SIZE(struct pm_set, append) == 64, "CUPTI's ABI");
static_assert(METRICS_ABI_SIZE(struct pm_decode, overflow) == 45, "CUPTI's ABI");
static_assert(METRICS_ABI_SIZE(struct pm_sample, end_ns) == 64, "CUPTI's ABI");

#endif
