/* Asserts metrics_abi.h against the toolkit's headers while it is compiled. The header of the host part is for C++: an
 * empty header stands for <string>, which it includes and does not use. */
#include "inject/cupti/metrics_abi.h"

#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#define SAME(own, theirs)                static_assert((own) == (theirs), #theirs)
#define SIZE(type, last, theirs)         SAME(METRICS_ABI_SIZE(struct type, last), theirs##_STRUCT_SIZE)
#define FIELD(type, field, theirs, name) SAME(offsetof(struct type, field), offsetof(theirs, name))

SAME(METRICS_ABI_TYPE_RANGE, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
SAME(METRICS_ABI_USER_RANGE, CUPTI_UserRange);
SAME(METRICS_ABI_USER_REPLAY, CUPTI_UserReplay);
SIZE(metrics_call, object, CUpti_RangeProfiler_Disable_Params);
SIZE(metrics_call, object, CUpti_RangeProfiler_Start_Params);
SIZE(metrics_call, object, CUpti_RangeProfiler_PopRange_Params);
SIZE(metrics_call, object, CUpti_Profiler_Host_Deinitialize_Params);
SIZE(metrics_initialize, reserved, CUpti_Profiler_Initialize_Params);
SIZE(metrics_chip, name, CUpti_Device_GetChipName_Params);
FIELD(metrics_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
SIZE(metrics_availability, image, CUpti_Profiler_GetCounterAvailability_Params);
FIELD(metrics_availability, image_size, CUpti_Profiler_GetCounterAvailability_Params,
      counterAvailabilityImageSize);
SIZE(metrics_host, object, CUpti_Profiler_Host_Initialize_Params);
FIELD(metrics_host, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
FIELD(metrics_host, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
SIZE(metrics_chips, names, CUpti_Profiler_Host_GetSupportedChips_Params);
SIZE(metrics_base, count, CUpti_Profiler_Host_GetBaseMetrics_Params);
FIELD(metrics_base, names, CUpti_Profiler_Host_GetBaseMetrics_Params, ppMetricNames);
SIZE(metrics_properties, type, CUpti_Profiler_Host_GetMetricProperties_Params);
FIELD(metrics_properties, description, CUpti_Profiler_Host_GetMetricProperties_Params,
      pDescription);
SIZE(metrics_add, count, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SIZE(metrics_config_size, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params);
SIZE(metrics_image, image, CUpti_Profiler_Host_GetConfigImage_Params);
SIZE(metrics_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params);
FIELD(metrics_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SIZE(metrics_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
FIELD(metrics_evaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
FIELD(metrics_evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SIZE(metrics_enable, object, CUpti_RangeProfiler_Enable_Params);
FIELD(metrics_enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
SIZE(metrics_counters_size, counters_size, CUpti_RangeProfiler_GetCounterDataSize_Params);
FIELD(metrics_counters_size, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
FIELD(metrics_counters_size, nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
      maxNumRangeTreeNodes);
SIZE(metrics_counters, counters, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
SIZE(metrics_counted, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params);
SIZE(metrics_set, target_level, CUpti_RangeProfiler_SetConfig_Params);
FIELD(metrics_set, counters, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
FIELD(metrics_set, range, CUpti_RangeProfiler_SetConfig_Params, range);
FIELD(metrics_set, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
FIELD(metrics_set, ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
FIELD(metrics_set, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
FIELD(metrics_set, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
SIZE(metrics_push, name, CUpti_RangeProfiler_PushRange_Params);
SIZE(metrics_stop, is_whole, CUpti_RangeProfiler_Stop_Params);
FIELD(metrics_stop, next_pass, CUpti_RangeProfiler_Stop_Params, passIndex);
SIZE(metrics_decode, dropped, CUpti_RangeProfiler_DecodeData_Params);

int main(void)
{
	return 0;
}
