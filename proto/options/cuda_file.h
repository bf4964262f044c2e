/* Decides by their paths which files are CUDA's: libcuda, libcudart, libcupti and the guest. It also knows the vDSO.
 * Guest and agent use the same rule: the guest announces files, and the agent finds them in /proc. Pure; any thread. */
#ifndef CUDA_FILE_H
#define CUDA_FILE_H

#include <stddef.h>
#include <stdint.h>

/* DEFINITION_MODULE_CUDA, _CUDART and _VDSO (definition.h). path: size bytes, without a NUL. */
uint32_t cuda_file_flags(const char *path, size_t size);

#endif
