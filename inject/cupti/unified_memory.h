/* CUPTI's records of unified memory: page faults, migrations and what the driver does against thrashing. Only once
 * cuInit is done and outside of callbacks, as CUPTI wants it. */
#ifndef UNIFIED_MEMORY_H
#define UNIFIED_MEMORY_H

struct cupti_library;

/* Switches on what this CUPTI, this driver and these devices have.
 * Returns a CUptiResult; other than CUPTI_ABI_SUCCESS: nothing is recorded. */
int unified_memory_start(const struct cupti_library *library);

#endif
