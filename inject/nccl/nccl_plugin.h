/* What NCCL finds in the guest when NCCL_PROFILER_PLUGIN names it: a plugin of each version of its interface
 * (nccl_profiler_abi.h), all of which lead to nccl_profiler.h. NCCL loads the library a second time, which is the same
 * one; should it be in a process where CUDA has not loaded it, it asks NCCL for nothing. Contexts are communicators,
 * handles what nccl_profiler_called() gives, or a mark. No function fails. */
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
