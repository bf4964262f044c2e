/* What each runtime API function is wrapped in: lazy initialization, callbacks, the thread's last
 * error. */
#ifndef RUNTIME_CALL_H
#define RUNTIME_CALL_H

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdbool.h>

#include "sim/sim_trace.h"

/* The result of expression, a cudaError_t, between the callbacks of `api`, whose cbid is named
 * `versioned`. Driver calls that it makes nest in it. */
#define RUNTIME_CALL(api, versioned, kernel_symbol, expression)                                    \
	({                                                                                         \
		struct sim_call call_ = {.domain = SIM_DOMAIN_RUNTIME,                             \
					 .cbid = CUPTI_RUNTIME_TRACE_CBID_##versioned,             \
					 .name = #api,                                             \
					 .symbol = (kernel_symbol)};                               \
		cudaError_t result_ = runtime_initialize();                                        \
		sim_trace_enter(&call_);                                                           \
		if (result_ == cudaSuccess)                                                        \
			result_ = (expression);                                                    \
		sim_trace_exit(&call_, &result_);                                                  \
		runtime_remember(result_);                                                         \
	})

/* The same of a function that neither initializes nor changes the thread's last error. */
#define RUNTIME_ANSWER(api, versioned, expression)                                                 \
	({                                                                                         \
		struct sim_call call_ = {.domain = SIM_DOMAIN_RUNTIME,                             \
					 .cbid = CUPTI_RUNTIME_TRACE_CBID_##versioned,             \
					 .name = #api};                                            \
		sim_trace_enter(&call_);                                                           \
		cudaError_t result_ = (expression);                                                \
		sim_trace_exit(&call_, &result_);                                                  \
		result_;                                                                           \
	})

/* The driver's answer, once the thread has a context. */
#define BOUND(call)                                                                                \
	({                                                                                         \
		cudaError_t bound_ = runtime_bind_context();                                       \
		bound_ == cudaSuccess ? runtime_error_of(call) : bound_;                           \
	})

/* cuInit, once. */
cudaError_t runtime_initialize(void);

/* Makes a context current if the thread has none: the primary one of the thread's device, retained
 * once a process. */
cudaError_t runtime_bind_context(void);

cudaError_t runtime_error_of(CUresult result);

/* Keeps an error for cudaGetLastError() and returns it. */
cudaError_t runtime_remember(cudaError_t error);

/* For programs compiled with per-thread default streams; cuda_runtime_api.h declares them only
 * there. */
cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim, void **args,
				  size_t sharedMem, cudaStream_t stream);
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
				     void **args);
cudaError_t cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
				 cudaStream_t stream);
cudaError_t cudaMallocAsync_ptsz(void **devPtr, size_t size, cudaStream_t stream);
cudaError_t cudaFreeAsync_ptsz(void *devPtr, cudaStream_t stream);
cudaError_t cudaMemsetAsync_ptsz(void *devPtr, int value, size_t count, cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t *pGraph);
cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream,
				       enum cudaStreamCaptureStatus *pCaptureStatus);
cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t graphExec, cudaStream_t stream);

#endif
