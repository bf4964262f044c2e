/* Is NCCL's profiler plugin when NCCL_PROFILER_PLUGIN names the guest. It exports a plugin of each version of the
 * interface (nccl_profiler_abi.h); all of them lead to nccl_profiler.h. NCCL loads the library again, and gets the copy
 * that is already loaded. In a process where CUDA has not loaded the library, it asks NCCL for nothing. NCCL's contexts
 * are communicators. Its handles are the results of nccl_profiler_called(), or a mark. No function fails. */
#ifndef NCCL_PLUGIN_H
#define NCCL_PLUGIN_H

#include "nccl_profiler_abi.h"

#define NCCL_PLUGIN_EXPORTED extern __attribute__((visibility("default")))

NCCL_PLUGIN_EXPORTED const struct nccl_profiler_v1 ncclProfiler_v1, ncclProfiler_v2,
	ncclProfiler_v3;
NCCL_PLUGIN_EXPORTED const struct nccl_profiler_v4 ncclProfiler_v4;
NCCL_PLUGIN_EXPORTED const struct nccl_profiler_v5 ncclProfiler_v5, ncclProfiler_v6,
	ncclProfiler_v7;

#endif
