/* What the driver function of a launch is called. Any thread. */
#ifndef CUDA_API_H
#define CUDA_API_H

#include <stdint.h>

#define CUDA_API_UNKNOWN "CUDA call"

/* By CUpti_driver_api_trace_cbid, as it stands in the application's source: without what tells its
 * versions apart ("_v2", "_ptsz", "_ptds", and "64" after "cu"). One that asks for no GPU work, or
 * that is newer than this table: CUDA_API_UNKNOWN. Static storage. */
const char *cuda_api_name(uint32_t cbid);

#endif
