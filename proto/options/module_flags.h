/* What a mapped file is, by its path: the same for whoever meets it first, the guest that announces it or the agent
 * that finds it in /proc. Pure; any thread. */
#ifndef MODULE_FLAGS_H
#define MODULE_FLAGS_H

#include <stddef.h>
#include <stdint.h>

/* DEFINITION_MODULE_CUDA, _CUDART and _VDSO (definition.h). path: size bytes, without a NUL. */
uint32_t module_flags_of_path(const char *path, size_t size);

#endif
