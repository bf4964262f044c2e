/* Records unified memory with CUPTI: page faults, migrations, and the driver's measures against thrashing. CUPTI
 * requires that cuInit is done and that the call is outside of callbacks. */
#ifndef UNIFIED_MEMORY_H
#define UNIFIED_MEMORY_H

struct cupti_library;

/* Switches on all that this CUPTI, this driver and these devices support. Returns a CUptiResult; other than
 * CUPTI_ABI_SUCCESS: nothing is recorded. */
int unified_memory_start(const struct cupti_library *library);

#endif
