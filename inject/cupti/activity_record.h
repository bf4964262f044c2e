/* Converts one CUPTI activity record to one gpu_record. Pure. It reads only fields that CUPTI 12.0 and all later
 * versions have at the same place. */
#ifndef ACTIVITY_RECORD_H
#define ACTIVITY_RECORD_H

#include "proto/kernel_config.h"
#include "proto/record.h"

enum activity_verdict {
	ACTIVITY_VALID,         /* 0 < start_ns <= end_ns */
	ACTIVITY_INVALID_TIME,  /* a start of zero, or an end before the start */
	ACTIVITY_STILL_RUNNING, /* there is a start, but no end yet */
	ACTIVITY_UNKNOWN,       /* a kind that was not asked for: *record is zeroed */
};

/* Fills *record except for name_id, window, and the device of a wait, whose CUPTI record only names its context.
 * version: cuptiGetVersion(), for fields that are younger than 12.0. *name is the kernel's name, borrowed from CUPTI;
 * NULL: the record is not of a kernel, or the kernel has no name. */
enum activity_verdict activity_record_read(const void *activity, uint32_t version,
					   struct gpu_record *record, const char **name);

/* Reads how a kernel was launched from the kernel's record. Fills all fields except name_id, which is 0. */
void activity_record_config(const void *activity, struct kernel_config *config);

#endif
