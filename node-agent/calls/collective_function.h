/* Lists the functions of a collective library (NCCL) that are observed from the kernel's side, in processes without a
 * guest. Any thread. */
#ifndef COLLECTIVE_FUNCTION_H
#define COLLECTIVE_FUNCTION_H

#include <stdint.h>

/* Returns the number (enum collective_site) of an exported function, by its symbol. COLLECTIVE_SITE_NONE: the function
 * is not in the list. */
uint32_t collective_function_find(const char *symbol);

#endif
