/* The functions of CUDA's runtime and driver that are timed from the kernel's side, in processes without a guest: those
 * that launch, copy, set memory or wait. Any thread. */
#ifndef CALL_FUNCTION_H
#define CALL_FUNCTION_H

#include <stdint.h>

#define CALL_FUNCTION_NONE 0u

/* The number of an exported function, by its symbol. What tells versions of one function apart ("_v2", "_ptsz",
 * "_ptds") makes no difference. CALL_FUNCTION_NONE: it is not one of these. */
uint32_t call_function_find(const char *symbol);

/* Its name in CUDA's documentation. Static storage; NULL: no such number. */
const char *call_function_name(uint64_t number);

#endif
