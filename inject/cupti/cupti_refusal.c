#include "cupti_refusal.h"

#include "proto/counter_sampling.h"

/* CUptiResult, after cupti_result.h of CUDA 13. */
enum result {
	RESULT_SUCCESS = 0,
	RESULT_INVALID_OPERATION = 7,
	RESULT_OUT_OF_MEMORY = 8,
	RESULT_HARDWARE_BUSY = 26,
	RESULT_NOT_SUPPORTED = 27,
	RESULT_VIRTUALIZED = 33,
	RESULT_NO_PRIVILEGES = 35,
	RESULT_VIRTUALIZED_NO_PRIVILEGES = 40,
	RESULT_CONFIDENTIAL = 41,
	RESULT_CMP = 42,
	RESULT_MIG = 43,
	RESULT_WSL = 45,
	RESULT_CHIP = 46,
};

uint32_t cupti_refusal(int result)
{
	switch (result) {
	case RESULT_SUCCESS:
		return COUNTER_SAMPLED;
	case RESULT_NO_PRIVILEGES:
	case RESULT_VIRTUALIZED_NO_PRIVILEGES:
		return COUNTER_NO_RIGHT;
	case RESULT_INVALID_OPERATION:
	case RESULT_HARDWARE_BUSY:
		return COUNTER_TAKEN;
	case RESULT_VIRTUALIZED:
	case RESULT_MIG:
		return COUNTER_VIRTUAL;
	case RESULT_NOT_SUPPORTED:
	case RESULT_CONFIDENTIAL:
	case RESULT_CMP:
	case RESULT_WSL:
	case RESULT_CHIP:
		return COUNTER_NOT_SUPPORTED;
	default:
		return COUNTER_FAILED;
	}
}

const char *cupti_refusal_text(int result)
{
	if (result == RESULT_OUT_OF_MEMORY)
		return "not enough memory";
	switch (cupti_refusal(result)) {
	case COUNTER_NO_RIGHT:
		return "it needs CAP_SYS_ADMIN (CAP_PERFMON from driver 565 on), or the driver's "
		       "option NVreg_RestrictProfilingToAdminUsers=0";
	case COUNTER_VIRTUAL:
		return "a vGPU, or a part of a GPU (MIG), does not allow it";
	case COUNTER_NOT_SUPPORTED:
		return "this CUPTI or this GPU does not support it";
	default:
		return "another process or profiler may hold its counters, such as DCGM (dcgmi "
		       "profile --pause)";
	}
}
