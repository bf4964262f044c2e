/* The functions of a collective library (NCCL) that are looked at from the kernel's side, in processes without a guest.
 * Any thread. */
#ifndef COLLECTIVE_FUNCTION_H
#define COLLECTIVE_FUNCTION_H

#include <stdint.h>

/* The number of an exported function, by its symbol: enum collective_site; COLLECTIVE_SITE_NONE: it is not one of
 * these. */
uint32_t collective_function_find(const char *symbol);

#endif
