/* The demo's functions of the CUDA driver. They are found in libcuda.so.1 at run time, so the build needs no CUDA
 * Toolkit. */
#ifndef DEMO_DRIVER_H
#define DEMO_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t device_address;

#define DEMO_DRIVER_FUNCTIONS(F)                                                                   \
	F(cuInit, (unsigned int flags))                                                            \
	F(cuDeviceGetCount, (int *count))                                                          \
	F(cuDevicePrimaryCtxRetain, (void **context, int device))                                  \
	F(cuCtxSetCurrent, (void *context))                                                        \
	F(cuCtxSynchronize, (void))                                                                \
	F(cuModuleLoadData, (void **module, const void *image))                                    \
	F(cuModuleGetFunction, (void **function, void *module, const char *name))                  \
	F(cuLaunchKernel,                                                                          \
	  (void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,          \
	   unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,  \
	   void *stream, void **params, void **extra))                                             \
	F(cuMemAlloc_v2, (device_address * address, size_t size))                                  \
	F(cuMemAllocHost_v2, (void **memory, size_t size))                                         \
	F(cuMemcpyHtoDAsync_v2, (device_address to, const void *from, size_t size, void *stream))  \
	F(cuMemcpyDtoHAsync_v2, (void *to, device_address from, size_t size, void *stream))        \
	F(cuMemcpyDtoDAsync_v2,                                                                    \
	  (device_address to, device_address from, size_t size, void *stream))                     \
	F(cuMemsetD32Async, (device_address to, unsigned int value, size_t count, void *stream))   \
	F(cuStreamCreate, (void **stream, unsigned int flags))                                     \
	F(cuStreamSynchronize, (void *stream))                                                     \
	F(cuStreamWaitEvent, (void *stream, void *event, unsigned int flags))                      \
	F(cuEventCreate, (void **event, unsigned int flags))                                       \
	F(cuEventRecord, (void *event, void *stream))

#define DEMO_DRIVER_DECLARE(name, arguments) extern int(*name) arguments;
DEMO_DRIVER_FUNCTIONS(DEMO_DRIVER_DECLARE)

/* Loads libcuda.so.1. 0; -ENOENT, after a line on stderr: the library or a function is missing. */
int demo_driver_load(void);

/* Ends the program with status 1 and a line on stderr, unless result is 0. */
void demo_driver_require(int result, const char *what);

#define REQUIRE(function, ...) demo_driver_require(function(__VA_ARGS__), #function)

#endif
