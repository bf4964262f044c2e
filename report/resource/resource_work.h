/* What ran on a GPU between readings of its resources: all work of the timeline (event_reader.h), else the pieces that
 * the store keeps (kept_log.h). Used by one thread. */
#ifndef RESOURCE_WORK_H
#define RESOURCE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "resource_delay.h"
#include "resource_stretches.h"
#include "resource_usage.h"

#include "aggregator/store/database.h"

/* Where work is read from. All is borrowed. */
struct resource_work_source {
	const struct resource_usage *usage;
	const struct profile *profile;
	const uint32_t *device_of; /* resource_classes_choose() */
	struct database *database; /* the profile's store */
};

/* Of one device. */
struct resource_work {
	struct resource_delay_rows rows;   /* of telemetry */
	struct resource_stretches samples; /* shorter ones, of use alone; empty: none are kept */
	uint64_t first_ns, last_ns; /* its first work in the timeline, and its last one's end */
	uint64_t ns;                /* of all its work there */
	bool lacks_process; /* it has nothing of some process, as of a merged run without a timeline */
};

/* Makes the stretches of a device, without work. 0; -EPROTO, -EIO, -ENOMEM. Call close() in either case. */
int resource_work_open(struct resource_work *work, const struct resource_usage_device *device,
		       const struct placement_log *log, struct database *database);
void resource_work_close(struct resource_work *work);

/* Adds the timeline's work to works, which has one of each device of the usage. *has_all: nothing is missing there, or
 * nothing from a time on, because a timeline drops its oldest files. A timeline that cannot be read is none. 0 or
 * -ENOMEM. */
int resource_work_read(struct resource_work *works, const struct resource_work_source *source,
		       const char *store_path, bool *has_all);

/* Ends reading, and takes kept pieces where the timeline has not all, or lacks a process. Without pieces of one GPU
 * alone only the timeline's time is used. *unfitted: why that is not enough. 0; -EPROTO,
 * -EIO, -ENOMEM. */
int resource_work_finish(struct resource_work *work, const struct resource_usage_device *device,
			 const struct resource_work_source *source, bool has_all,
			 enum resource_unfitted *unfitted);

#endif
