/* Names the driver function of a launch. Any thread. */
#ifndef CUDA_API_H
#define CUDA_API_H

#include <stdint.h>

#define CUDA_API_UNKNOWN "CUDA call"

/* Returns the name of the driver function with this CUpti_driver_api_trace_cbid, as an application's source spells it.
 * The name lacks the marks of its versions ("_v2", "_ptsz", "_ptds", and "64" after "cu"). CUDA_API_UNKNOWN: the
 * function asks for no GPU work, or is newer than this table. Static storage. */
const char *cuda_api_name(uint32_t cbid);

#endif
