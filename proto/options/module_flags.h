/* Recognises CUDA's libraries and the vDSO by their path. Guest and agent use the same rule: the guest announces files,
 * and the agent finds them in /proc. Pure; any thread. */
#ifndef MODULE_FLAGS_H
#define MODULE_FLAGS_H

#include <stddef.h>
#include <stdint.h>

/* DEFINITION_MODULE_CUDA, _CUDART and _VDSO (definition.h). path: size bytes, without a NUL. */
uint32_t module_flags_of_path(const char *path, size_t size);

#endif
