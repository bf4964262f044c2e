/* Tells the functions of CUDA in which a thread waits for its GPU: such a wait follows from the GPU's work, whether the
 * thread sleeps or polls. Pure; any thread. */
#ifndef GPU_WAIT_H
#define GPU_WAIT_H

#include <stdbool.h>

/* name: of a frame in a report, "cudaStreamSynchronize". */
bool gpu_wait_is(const char *name);

#endif
