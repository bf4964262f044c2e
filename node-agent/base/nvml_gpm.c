#include "nvml_gpm.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The interface, after nvml.h of CUDA 12 and 13. It is declared here, so that the build needs no CUDA. */
#define SUCCESS         0
#define NOT_SUPPORTED   3 /* nvmlReturn_t */
#define NO_PERMISSION   4
#define SUPPORT_VERSION 1u
#define METRICS_VERSION 1u
#define METRICS_MAX     333u /* NVML_GPM_METRIC_MAX of CUDA 13; it grows */

struct support {
	unsigned int version, is_supported;
};
_Static_assert(sizeof(struct support) == 8, "nvmlGpmSupport_t");

struct metric {
	unsigned int id;
	int result;
	double value;
	const char *names[3]; /* short, long, unit: NVML's */
};
_Static_assert(sizeof(struct metric) == 40, "nvmlGpmMetric_t");

struct sample; /* what nvmlGpmSample_t points to */

struct metrics {
	unsigned int version, count;
	struct sample *before, *now;
	struct metric list[METRICS_MAX];
};
_Static_assert(offsetof(struct metrics, list) == 24, "nvmlGpmMetricsGet_t");

/* nvmlGpmMetricId_t: in percent, and in MiB a second. */
static const unsigned int use_ids[TELEMETRY_USES] = {
	[TELEMETRY_COMPUTING] = 1, /* GRAPHICS_UTIL: any app of graphics or computing is active */
	[TELEMETRY_SM] = 2,        /* SM_UTIL */
	[TELEMETRY_OCCUPANCY] = 3, /* SM_OCCUPANCY */
	[TELEMETRY_TENSOR] = 5,    /* ANY_TENSOR_UTIL */
	[TELEMETRY_DRAM] = 10,     /* DRAM_BW_UTIL */
};
static const unsigned int traffic_ids[TELEMETRY_DRAM_BYTES] = {
	[TELEMETRY_PCIE_SENT] = 20,       /* PCIE_TX_PER_SEC */
	[TELEMETRY_PCIE_RECEIVED] = 21,   /* PCIE_RX_PER_SEC */
	[TELEMETRY_NVLINK_SENT] = 61,     /* NVLINK_TOTAL_TX_PER_SEC */
	[TELEMETRY_NVLINK_RECEIVED] = 60, /* NVLINK_TOTAL_RX_PER_SEC */
};

#define METRICS       (TELEMETRY_USES + TELEMETRY_DRAM_BYTES)
#define PERCENT       100.0
#define PERCENT_MAX   1000.0 /* a little above 100 is rounding; far above it is nonsense */
#define BYTES_PER_MIB 1048576.0
#define MIB_MAX       10000000.0 /* a second */

struct nvml_gpm {
	struct nvml_device *device; /* borrowed from the library */
	int (*supported)(struct nvml_device *device, struct support *support);
	int (*allocate)(struct sample **sample);
	int (*release)(struct sample *sample);
	int (*take)(struct nvml_device *device, struct sample *sample);
	int (*compare)(struct metrics *metrics);
	struct sample *samples[2]; /* own */
	uint32_t newest;           /* of them */
	bool has_newest;
	uint64_t memory_peak; /* bytes a second; 0: not known */
	struct metrics metrics;
};

static const struct {
	const char *name;
	size_t place;
} functions[] = {
	{"nvmlGpmQueryDeviceSupport", offsetof(struct nvml_gpm, supported)},
	{"nvmlGpmSampleAlloc", offsetof(struct nvml_gpm, allocate)},
	{"nvmlGpmSampleFree", offsetof(struct nvml_gpm, release)},
	{"nvmlGpmSampleGet", offsetof(struct nvml_gpm, take)},
	{"nvmlGpmMetricsGet", offsetof(struct nvml_gpm, compare)},
};

static uint32_t refusal_of(int result)
{
	return result == SUCCESS         ? TELEMETRY_ANSWERS
	       : result == NOT_SUPPORTED ? TELEMETRY_NOT_SUPPORTED
	       : result == NO_PERMISSION ? TELEMETRY_NO_PERMISSION
					 : TELEMETRY_FAILED;
}

static int prepare(const struct nvml_library *library, struct nvml_gpm *gpm)
{
	struct support support = {.version = SUPPORT_VERSION};
	int result = SUCCESS;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = nvml_library_function(library, functions[i].name);

		if (!function)
			return NOT_SUPPORTED;
		memcpy((char *)gpm + functions[i].place, &function, sizeof(function));
	}
	result = gpm->supported(gpm->device, &support);
	if (result == SUCCESS && !support.is_supported)
		result = NOT_SUPPORTED;
	for (uint32_t i = 0; i < 2 && result == SUCCESS; i++)
		result = gpm->allocate(&gpm->samples[i]);
	return result;
}

uint32_t nvml_gpm_create(const struct nvml_library *library, struct nvml_device *device,
			 struct nvml_gpm **gpm)
{
	struct nvml_gpm *made = calloc(1, sizeof(*made));

	*gpm = NULL;
	if (!made)
		return TELEMETRY_FAILED;
	made->device = device;
	made->memory_peak = nvml_library_memory_peak(library, device);
	const uint32_t refusal = refusal_of(prepare(library, made));
	if (refusal) {
		nvml_gpm_destroy(made);
		return refusal;
	}
	*gpm = made;
	return TELEMETRY_ANSWERS;
}

void nvml_gpm_destroy(struct nvml_gpm *gpm)
{
	if (!gpm)
		return;
	for (uint32_t i = 0; i < 2; i++)
		if (gpm->samples[i])
			gpm->release(gpm->samples[i]);
	free(gpm);
}

/* ---- readings */

static void ask(struct nvml_gpm *gpm)
{
	struct metrics *metrics = &gpm->metrics;

	memset(metrics, 0, offsetof(struct metrics, list) + METRICS * sizeof(*metrics->list));
	metrics->version = METRICS_VERSION;
	metrics->count = METRICS;
	metrics->before = gpm->samples[!gpm->newest];
	metrics->now = gpm->samples[gpm->newest];
	for (uint32_t i = 0; i < TELEMETRY_USES; i++)
		metrics->list[i].id = use_ids[i];
	for (uint32_t i = 0; i < TELEMETRY_DRAM_BYTES; i++)
		metrics->list[TELEMETRY_USES + i].id = traffic_ids[i];
}

/* Returns whether a metric has a value from 0 to limit, and tells why not. A comparison with no number is false. */
static bool take_metric(const struct metric *metric, double limit, struct nvml_gpm_reading *reading)
{
	uint32_t refusal = refusal_of(metric->result);

	if (!refusal && !(metric->value >= 0 && metric->value <= limit))
		refusal = TELEMETRY_FAILED;
	if (refusal && !reading->refusal)
		reading->refusal = refusal;
	return !refusal;
}

/* Rounded to the nearest. */
static uint64_t whole(double number)
{
	return (uint64_t)(number + 0.5);
}

/* GPM tells the memory's traffic as a part of its peak. */
static void take_memory(const struct nvml_gpm *gpm, struct nvml_gpm_reading *reading)
{
	if (!(reading->known_uses & 1u << TELEMETRY_DRAM) || gpm->memory_peak == 0)
		return;
	reading->known_traffics |= 1u << TELEMETRY_DRAM_BYTES;
	reading->bytes_per_second[TELEMETRY_DRAM_BYTES] =
		gpm->memory_peak / NVML_GPM_WHOLE * reading->use[TELEMETRY_DRAM];
}

static void take_metrics(const struct metric *list, struct nvml_gpm_reading *reading)
{
	for (uint32_t i = 0; i < TELEMETRY_USES; i++) {
		const double part = list[i].value / PERCENT;

		if (!take_metric(&list[i], PERCENT_MAX, reading))
			continue;
		reading->known_uses |= 1u << i;
		reading->use[i] =
			part < 1 ? (uint32_t)whole(part * NVML_GPM_WHOLE) : NVML_GPM_WHOLE;
	}
	for (uint32_t i = 0; i < TELEMETRY_DRAM_BYTES; i++) {
		const struct metric *metric = &list[TELEMETRY_USES + i];

		if (!take_metric(metric, MIB_MAX, reading))
			continue;
		reading->known_traffics |= 1u << i;
		reading->bytes_per_second[i] = whole(metric->value * BYTES_PER_MIB);
	}
}

void nvml_gpm_read(struct nvml_gpm *gpm, struct nvml_gpm_reading *reading)
{
	const uint32_t next = gpm->has_newest ? !gpm->newest : 0;
	const bool has_before = gpm->has_newest;

	*reading = (struct nvml_gpm_reading){
		.refusal = refusal_of(gpm->take(gpm->device, gpm->samples[next])),
	};
	if (reading->refusal)
		return;
	reading->has_sample = gpm->has_newest = true;
	gpm->newest = next;
	if (!has_before)
		return;
	ask(gpm);
	reading->refusal = refusal_of(gpm->compare(&gpm->metrics));
	if (!reading->refusal) {
		take_metrics(gpm->metrics.list, reading);
		take_memory(gpm, reading);
	}
}
