/* Declares the part of CUPTI's Range Profiler and Profiler Host APIs that Flamegrid uses (cupti_range_profiler.h,
 * cupti_profiler_host.h, cupti_target.h and cupti_profiler_target.h; CUPTI 12.6 and later). The header of the host part
 * cannot be included from C. tests/inject/metrics/metrics_abi_test.cpp asserts all of it against the real headers, if
 * they are installed.
 *
 * Parameters begin with their size, and a word that is 0. The size ends with the last field, without padding. Plain
 * data. */
#ifndef METRICS_ABI_H
#define METRICS_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define METRICS_ABI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

#define METRICS_ABI_TYPE_RANGE 0 /* CUpti_ProfilerType */
#define METRICS_ABI_USER_RANGE 2 /* CUpti_ProfilerRange: ranges that the profiler pushes and pops */
#define METRICS_ABI_USER_REPLAY                                                                    \
	3 /* CUpti_ProfilerReplayMode: passes are repeated by the profiler */

/* Calls with an object alone: range profiler disable, start, pop; host deinitialize. */
struct metrics_call {
	size_t size;
	void *reserved, *object;
};

struct metrics_initialize { /* CUpti_Profiler_Initialize_Params */
	size_t size;
	void *reserved;
};

struct metrics_chip { /* CUpti_Device_GetChipName_Params */
	size_t size;
	void *reserved;
	size_t device;
	const char *name; /* out; CUPTI's */
};

struct metrics_availability { /* CUpti_Profiler_GetCounterAvailability_Params */
	size_t size;
	void *reserved, *context;
	size_t image_size; /* out if image is NULL */
	uint8_t *image;
};

struct metrics_host { /* CUpti_Profiler_Host_Initialize_Params */
	size_t size;
	void *reserved;
	int type;
	const char *chip;
	const uint8_t *availability; /* NULL: all that the chip has */
	void *object;                /* out */
};

struct metrics_chips { /* CUpti_Profiler_Host_GetSupportedChips_Params */
	size_t size;
	void *reserved;
	size_t count;             /* out */
	const char *const *names; /* out; CUPTI's */
};

struct metrics_base { /* CUpti_Profiler_Host_GetBaseMetrics_Params */
	size_t size;
	void *reserved, *object;
	int type;           /* 0: counters, 1: ratios, 2: throughputs */
	const char **names; /* out; CUPTI's */
	size_t count;       /* out */
};

struct metrics_properties { /* CUpti_Profiler_Host_GetMetricProperties_Params */
	size_t size;
	void *reserved, *object;
	const char *name;
	const char *description, *unit, *dimension; /* out */
	int type;                                   /* out */
};

struct metrics_add { /* CUpti_Profiler_Host_ConfigAddMetrics_Params */
	size_t size;
	void *reserved, *object;
	const char **names;
	size_t count;
};

struct metrics_config_size { /* CUpti_Profiler_Host_GetConfigImageSize_Params */
	size_t size;
	void *reserved, *object;
	size_t image_size; /* out */
};

struct metrics_image { /* CUpti_Profiler_Host_GetConfigImage_Params */
	size_t size;
	void *reserved, *object;
	size_t image_size;
	uint8_t *image;
};

struct metrics_passes { /* CUpti_Profiler_Host_GetNumOfPasses_Params */
	size_t size;
	void *reserved;
	size_t image_size;
	uint8_t *image;
	size_t passes; /* out */
};

struct metrics_evaluate { /* CUpti_Profiler_Host_EvaluateToGpuValues_Params */
	size_t size;
	void *reserved, *object;
	const uint8_t *counters;
	size_t counters_size;
	size_t range; /* from 0, in the order in which they were pushed */
	const char **names;
	size_t count;
	double *values; /* out */
};

struct metrics_enable { /* CUpti_RangeProfiler_Enable_Params */
	size_t size;
	void *reserved, *context, *object; /* object: out */
};

struct metrics_counters_size { /* CUpti_RangeProfiler_GetCounterDataSize_Params */
	size_t size;
	void *reserved, *object;
	const char **names;
	size_t count;
	size_t ranges;
	uint32_t nodes;       /* not below ranges */
	size_t counters_size; /* out */
};

struct metrics_counters { /* CUpti_RangeProfiler_CounterDataImage_Initialize_Params */
	size_t size;
	void *reserved, *object;
	size_t counters_size;
	uint8_t *counters;
};

struct metrics_counted { /* CUpti_RangeProfiler_GetCounterDataInfo_Params */
	size_t size;
	void *reserved;
	const uint8_t *counters;
	size_t counters_size;
	size_t ranges; /* out */
};

struct metrics_set { /* CUpti_RangeProfiler_SetConfig_Params */
	size_t size;
	void *reserved, *object;
	size_t config_size;
	const uint8_t *config;
	size_t counters_size;
	uint8_t *counters;
	int range, replay;
	size_t ranges; /* at most, in a pass; more crash (seen with CUPTI 13.0) */
	uint16_t levels, lowest_level;
	size_t pass;
	uint16_t target_level;
};

struct metrics_push { /* CUpti_RangeProfiler_PushRange_Params */
	size_t size;
	void *reserved, *object;
	const char *name;
};

struct metrics_stop { /* CUpti_RangeProfiler_Stop_Params */
	size_t size;
	void *reserved, *object;
	size_t next_pass;  /* out */
	size_t next_level; /* out */
	uint8_t is_whole;  /* out: all passes have been counted */
};

struct metrics_decode { /* CUpti_RangeProfiler_DecodeData_Params */
	size_t size;
	void *reserved, *object;
	size_t dropped; /* out: ranges */
};

static_assert(METRICS_ABI_SIZE(struct metrics_set, target_level) == 90, "CUPTI's ABI");
static_assert(METRICS_ABI_SIZE(struct metrics_stop, is_whole) == 41, "CUPTI's ABI");
static_assert(METRICS_ABI_SIZE(struct metrics_counters_size, counters_size) == 64, "CUPTI's ABI");
static_assert(METRICS_ABI_SIZE(struct metrics_evaluate, values) == 72, "CUPTI's ABI");

#endif
