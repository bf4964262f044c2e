/* Lists the functions of CUDA's runtime and driver that are timed from the kernel's side, in processes without a guest:
 * those that launch, copy, set memory or wait. Any thread. */
#ifndef CALL_FUNCTION_H
#define CALL_FUNCTION_H

#include <stdint.h>

#define CALL_FUNCTION_NONE 0u

/* Returns the number of an exported function, by its symbol. Marks of a function's versions ("_v2", "_ptsz", "_ptds")
 * make no difference. CALL_FUNCTION_NONE: the function is not in the list. */
uint32_t call_function_find(const char *symbol);

/* Returns the function's name in CUDA's documentation. Static storage; NULL: no such number. */
const char *call_function_name(uint64_t number);

#endif
