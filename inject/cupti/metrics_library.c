#include "metrics_library.h"

#include <dlfcn.h>
#include <string.h>

static const char *const names[METRICS_FUNCTIONS] = {
	[METRICS_HOST_INITIALIZE] = "cuptiProfilerHostInitialize",
	[METRICS_HOST_DEINITIALIZE] = "cuptiProfilerHostDeinitialize",
	[METRICS_HOST_CHIPS] = "cuptiProfilerHostGetSupportedChips",
	[METRICS_HOST_BASE_METRICS] = "cuptiProfilerHostGetBaseMetrics",
	[METRICS_HOST_PROPERTIES] = "cuptiProfilerHostGetMetricProperties",
	[METRICS_HOST_ADD] = "cuptiProfilerHostConfigAddMetrics",
	[METRICS_HOST_CONFIG_SIZE] = "cuptiProfilerHostGetConfigImageSize",
	[METRICS_HOST_CONFIG] = "cuptiProfilerHostGetConfigImage",
	[METRICS_HOST_PASSES] = "cuptiProfilerHostGetNumOfPasses",
	[METRICS_HOST_EVALUATE] = "cuptiProfilerHostEvaluateToGpuValues",
	[METRICS_INITIALIZE] = "cuptiProfilerInitialize",
	[METRICS_CHIP] = "cuptiDeviceGetChipName",
	[METRICS_AVAILABILITY] = "cuptiProfilerGetCounterAvailability",
	[METRICS_ENABLE] = "cuptiRangeProfilerEnable",
	[METRICS_DISABLE] = "cuptiRangeProfilerDisable",
	[METRICS_COUNTERS_SIZE] = "cuptiRangeProfilerGetCounterDataSize",
	[METRICS_COUNTERS] = "cuptiRangeProfilerCounterDataImageInitialize",
	[METRICS_COUNTED] = "cuptiRangeProfilerGetCounterDataInfo",
	[METRICS_SET] = "cuptiRangeProfilerSetConfig",
	[METRICS_START] = "cuptiRangeProfilerStart",
	[METRICS_STOP] = "cuptiRangeProfilerStop",
	[METRICS_PUSH] = "cuptiRangeProfilerPushRange",
	[METRICS_POP] = "cuptiRangeProfilerPopRange",
	[METRICS_DECODE] = "cuptiRangeProfilerDecodeData",
};

void metrics_library_resolve(void *handle, struct metrics_library *library)
{
	library->is_whole = true;
	for (int i = 0; i < METRICS_FUNCTIONS; i++) {
		void *address = dlsym(handle, names[i]);

		memcpy(&library->call[i], &address, sizeof(address));
		library->is_whole = library->is_whole && address;
	}
}
