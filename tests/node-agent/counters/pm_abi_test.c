/* Asserts pm_abi.h against the toolkit's header while it is compiled. */
#include "node-agent/counters/pm_abi.h"

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>

#define SAME(own, theirs)                static_assert((own) == (theirs), #theirs)
#define SIZE(type, last, theirs)         SAME(METRICS_ABI_SIZE(struct type, last), theirs##_STRUCT_SIZE)
#define FIELD(type, field, theirs, name) SAME(offsetof(struct type, field), offsetof(theirs, name))

SAME(PM_ABI_TYPE, CUPTI_PROFILER_TYPE_PM_SAMPLING);
SAME(PM_ABI_BY_SYSTEM_CLOCK, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
SAME(PM_ABI_BY_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
SAME(PM_ABI_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
SAME(PM_ABI_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
SIZE(metrics_call, object, CUpti_PmSampling_Start_Params);
SIZE(metrics_call, object, CUpti_PmSampling_Stop_Params);
SIZE(metrics_call, object, CUpti_PmSampling_Disable_Params);
SIZE(pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params);
FIELD(pm_availability, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
SIZE(pm_enable, object, CUpti_PmSampling_Enable_Params);
FIELD(pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
SIZE(pm_set, append, CUpti_PmSampling_SetConfig_Params);
FIELD(pm_set, object, CUpti_PmSampling_SetConfig_Params, pPmSamplingObject);
FIELD(pm_set, config_size, CUpti_PmSampling_SetConfig_Params, configSize);
FIELD(pm_set, config, CUpti_PmSampling_SetConfig_Params, pConfig);
FIELD(pm_set, buffer_size, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
FIELD(pm_set, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
FIELD(pm_set, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
SIZE(pm_counters_size, counters_size, CUpti_PmSampling_GetCounterDataSize_Params);
FIELD(pm_counters_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
FIELD(pm_counters_size, samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SIZE(pm_counters, counters, CUpti_PmSampling_CounterDataImage_Initialize_Params);
FIELD(pm_counters, counters_size, CUpti_PmSampling_CounterDataImage_Initialize_Params,
      counterDataSize);
SIZE(pm_decode, overflow, CUpti_PmSampling_DecodeData_Params);
FIELD(pm_decode, counters, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
FIELD(pm_decode, reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SIZE(pm_counted, completed, CUpti_PmSampling_GetCounterDataInfo_Params);
FIELD(pm_counted, total, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
SIZE(pm_sample, end_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
FIELD(pm_sample, number, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
FIELD(pm_sample, begin_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);

int main(void)
{
	return 0;
}
