/* What each driver API function is wrapped in, and the checks that they share. */
#ifndef DRIVER_CALL_H
#define DRIVER_CALL_H

#include <cupti.h>
#include <stdbool.h>

#include "driver_versions.h"
#include "sim/sim_context.h"
#include "sim/sim_device.h"
#include "sim/sim_stream.h"
#include "sim/sim_trace.h"

/* The result of expression, evaluated between the callbacks of `api`. Before cuInit: an error and
 * no callback. params: the function's arguments as generated_cuda_meta.h lays them out, or NULL;
 * symbol: the kernel's name or NULL. */
#define DRIVER_CALL(api, parameters, kernel_symbol, expression)                                    \
	({                                                                                         \
		CUresult result_ = driver_check_ready();                                           \
		if (result_ == CUDA_SUCCESS) {                                                     \
			struct sim_call call_ = {.domain = SIM_DOMAIN_DRIVER,                      \
						 .cbid = CUPTI_DRIVER_TRACE_CBID_##api,            \
						 .name = #api,                                     \
						 .params = (parameters),                           \
						 .symbol = (kernel_symbol)};                       \
			sim_trace_enter(&call_);                                                   \
			result_ = (expression);                                                    \
			sim_trace_exit(&call_, &result_);                                          \
		}                                                                                  \
		result_;                                                                           \
	})

/* CUDA_ERROR_NOT_INITIALIZED until cuInit has finished, so also inside InitializeInjection(). */
CUresult driver_check_ready(void);

/* The stream that handle names in the current context, or an error. */
CUresult driver_find_stream(CUstream handle, bool per_thread, struct sim_stream **stream);

/* A live context, or an error. NULL handle: the current one. */
CUresult driver_find_context(CUcontext handle, struct sim_context **context);

#endif
