/* Names of CUDA's errors: CUresult of the driver's functions and cudaError_t of the runtime's, up to CUDA 13.0. The
 * numbers are a part of CUDA's binary interface, which only appends to them. Pure; any thread. */
#ifndef CUDA_ERROR_H
#define CUDA_ERROR_H

#include <stdint.h>

/* Returns a name such as "CUDA_ERROR_INVALID_VALUE" or "cudaErrorInvalidValue" in static storage, or NULL if the
 * number is not known. domain is an enum statistics_domain. */
const char *cuda_error_name(uint32_t domain, uint32_t error);

#endif
