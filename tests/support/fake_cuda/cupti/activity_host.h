/* CUPTI's records of what is no work of a device: waits, overhead, unified memory. Any thread. */
#ifndef ACTIVITY_HOST_H
#define ACTIVITY_HOST_H

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sim_trace.h"

union activity_host_record {
	CUpti_ActivitySynchronization2 sync;
	CUpti_ActivityOverhead3 overhead;
	CUpti_ActivityUnifiedMemoryCounter3 unified;
};

/* The operation's record; it is zeroed before. Returns its kind, *size its size; 0: a kind that is not of these. */
uint32_t activity_host_fill(union activity_host_record *record,
			    const struct sim_operation *operation, size_t *size);

/* Bytes of a record of that kind; 0: none of these. */
size_t activity_host_size(uint32_t kind);

/* false: none of these. */
bool activity_host_set_times(void *record, uint64_t start_ns, uint64_t end_ns);

/* Whether the counters are configured so that an operation of unified memory is recorded. */
bool activity_host_is_wanted(const struct sim_operation *operation);

/* Forgets the configuration. */
void activity_host_reset(void);

#endif
