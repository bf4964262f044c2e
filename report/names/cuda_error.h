/* What CUDA calls its errors: CUresult of the driver's functions, cudaError_t of the runtime's, up to CUDA 13.0. The
 * numbers are part of CUDA's binary interface, and only appended to. Pure; any thread. */
#ifndef CUDA_ERROR_H
#define CUDA_ERROR_H

#include <stdint.h>

/* domain: enum statistics_domain. "CUDA_ERROR_INVALID_VALUE", "cudaErrorInvalidValue"; NULL: not known. Static
 * storage. */
const char *cuda_error_name(uint32_t domain, uint32_t error);

#endif
