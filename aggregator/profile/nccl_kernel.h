/* Recognises NCCL's kernels by their name. Pure; any thread. */
#ifndef NCCL_KERNEL_H
#define NCCL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* name: size bytes, as CUPTI gives it (mangled: "_Z40ncclDevKernel_…") or as C++ spells it. */
bool nccl_kernel_is(const char *name, uint32_t size);

#endif
