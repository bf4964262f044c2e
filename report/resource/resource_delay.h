/* The delay of what NVML tells of a GPU's use. GPM copies its counters each 100 ms, and a copy is told 90 ms later or
 * more (H200, docs/telemetry.md). So rows of telemetry are tried as of several times, and the work tells which it was.
 * Used by one thread. */
#ifndef RESOURCE_DELAY_H
#define RESOURCE_DELAY_H

#include "resource_stretches.h"
#include "resource_usage.h"

#define RESOURCE_DELAYS 4u

/* The same rows, first as they were read, then earlier by each delay. */
struct resource_delay_rows {
	struct resource_stretches list[RESOURCE_DELAYS];
	/* All, or the first alone: rows are so long that a delay is nothing to them, or too many, or not GPM's. */
	uint32_t count;
};

/* Makes the rows of a device, without work. 0 or -ENOMEM. Call fini() in either case. */
int resource_delay_init(struct resource_delay_rows *rows,
			const struct resource_usage_device *device,
			const struct placement_log *log);
void resource_delay_fini(struct resource_delay_rows *rows);

/* Chooses the rows at whose time the work explains use best: those as they were read, unless others leave a fifth less
 * unexplained. Resources with no more than one interval above the kinds of work take no part, nor do those of which
 * more than a fifth stays unexplained anyway. All work has been added. *chosen is within rows. 0 or -ENOMEM. */
int resource_delay_choose(const struct resource_delay_rows *rows,
			  const struct resource_usage_device *device,
			  const struct resource_stretches **chosen);

#endif
