/* Maps libnvperf_host, in which CUPTI has the host part of metrics. CUPTI opens it by its name alone, so the loader
 * finds it only in its cache, in LD_LIBRARY_PATH, or if it is mapped already. Wheels of Python are in none of them, and
 * the loader of a tarball uses no cache. Then cuptiProfilerInitialize() and cuptiProfilerHostInitialize() return
 * CUPTI_ERROR_NOT_INITIALIZED (seen with CUDA 13.0 and driver 580). Any thread. */
#ifndef CUPTI_HOST_PART_H
#define CUPTI_HOST_PART_H

/* Maps the one beside the libcupti that holds the function, for good. Does nothing where there is none. */
void cupti_host_part_map(const void *function);

#endif
