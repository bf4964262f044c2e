/* The part of CUPTI's PC Sampling API that fake CUDA has; see cuda.h beside it. */
#ifndef FAKE_CUDA_MINIMAL_CUPTI_PCSAMPLING_H
#define FAKE_CUDA_MINIMAL_CUPTI_PCSAMPLING_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
	CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS = 1,
	CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED = 2
} CUpti_PCSamplingCollectionMode;

typedef enum {
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD = 1,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON = 2,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE = 3,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE = 4,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE = 5,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL = 6,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER = 8
} CUpti_PCSamplingConfigurationAttributeType;

typedef struct {
	uint32_t pcSamplingStallReasonIndex;
	uint32_t samples;
} CUpti_PCSamplingStallReason;

typedef struct {
	size_t size;
	uint64_t cubinCrc, pcOffset;
	uint32_t functionIndex, pad;
	char *functionName;
	size_t stallReasonCount;
	CUpti_PCSamplingStallReason *stallReason;
	uint32_t correlationId;
} CUpti_PCSamplingPCData;

typedef struct {
	size_t size, collectNumPcs;
	uint64_t totalSamples, droppedSamples;
	size_t totalNumPcs, remainingNumPcs;
	uint64_t rangeId;
	CUpti_PCSamplingPCData *pPcData;
	uint64_t nonUsrKernelsTotalSamples;
	uint8_t hardwareBufferFull;
} CUpti_PCSamplingData;

typedef struct {
	CUpti_PCSamplingConfigurationAttributeType attributeType;
	int attributeStatus;
	union {
		struct {
			uint64_t data[3];
		} invalidData;
		struct {
			uint32_t samplingPeriod;
		} samplingPeriodData;
		struct {
			size_t stallReasonCount;
			uint32_t *pStallReasonIndex;
		} stallReasonData;
		struct {
			CUpti_PCSamplingCollectionMode collectionMode;
		} collectionModeData;
		struct {
			size_t hardwareBufferSize;
		} hardwareBufferSizeData;
		struct {
			uint32_t enableStartStopControl;
		} enableStartStopControlData;
		struct {
			void *samplingDataBuffer;
		} samplingDataBufferData;
	} attributeData;
} CUpti_PCSamplingConfigurationInfo;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
	size_t numAttributes;
	CUpti_PCSamplingConfigurationInfo *pPCSamplingConfigurationInfo;
} CUpti_PCSamplingConfigurationInfoParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
} CUpti_PCSamplingEnableParams, CUpti_PCSamplingDisableParams, CUpti_PCSamplingStartParams,
	CUpti_PCSamplingStopParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
	void *pcSamplingData;
} CUpti_PCSamplingGetDataParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
	size_t *numStallReasons;
} CUpti_PCSamplingGetNumStallReasonsParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
	size_t numStallReasons;
	uint32_t *stallReasonIndex;
	char **stallReasons;
} CUpti_PCSamplingGetStallReasonsParams;

typedef struct {
	size_t size, cubinSize;
	const void *cubin;
	uint64_t cubinCrc;
} CUpti_GetCubinCrcParams;

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *params);
CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *params);
CUptiResult cuptiPCSamplingStart(CUpti_PCSamplingStartParams *params);
CUptiResult cuptiPCSamplingStop(CUpti_PCSamplingStopParams *params);
CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *params);
CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *params);
CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *params);
CUptiResult
cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *params);
CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *params);

#endif
