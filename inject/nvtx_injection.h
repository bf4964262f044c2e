/* The guest's entry point for NVTX, called at the first NVTX call of each library that brings NVTX, for
 * the library that NVTX_INJECTION64_PATH names: before or after CUDA starts, or without CUDA. */
#ifndef NVTX_INJECTION_H
#define NVTX_INJECTION_H

#include "inject/nvtx/nvtx_abi.h"

/* Takes over the functions that open and close ranges, create domains, register strings and name streams, if NVTX
 * ranges are asked for, as frames or as capture windows, and there may be an agent; all others (marks, categories,
 * other names) stay without effect. Returns 1; 0: NVTX makes all functions do nothing, and calls no more. */
__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table);

/* The same for NVTX's extensions: takes over the registration of payloads' schemas, if the function above has taken
 * ranges over before. */
__attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(const struct nvtx_extension *extension);

#endif
