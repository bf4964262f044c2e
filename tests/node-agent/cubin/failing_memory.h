/* Allocations that fail on request, in a test that is linked with --wrap=malloc, --wrap=calloc and --wrap=realloc.
 * Single-threaded. */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

#include <stdint.h>

/* The allocation with this number from now on fails, and no other one; 0: none. */
void failing_memory_set(uint32_t number);

/* Returns whether it has failed. */
_Bool failing_memory_failed(void);

#endif
