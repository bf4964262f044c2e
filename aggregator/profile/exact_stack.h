/* Stacks of exact samples: a launch's stack, the kernel's frame within it, and within that the place in the kernel
 * (proto/host_sample.h). Pure. */
#ifndef EXACT_STACK_H
#define EXACT_STACK_H

#include <stdint.h>

#include "catalog.h"

/* Returns the node of the kernel's frame of a sample's stack: the one that says so, or else the outermost, as of
 * samples that are not exact. 0 for the stack without frames. */
uint32_t exact_stack_kernel(const struct catalog *catalog, uint32_t stack_id);

#endif
