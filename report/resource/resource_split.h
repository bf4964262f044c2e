/* Divides the exact amounts of each GPU's resources over its work. The parts of a GPU sum to what telemetry counted, in
 * whole units. Used by one thread. */
#ifndef RESOURCE_SPLIT_H
#define RESOURCE_SPLIT_H

#include <stdint.h>

#include "resource_confidence.h"
#include "resource_usage.h"

enum resource_part_kind {
	RESOURCE_PART_WORK, /* of a row of totals: what it adds to the amount without work */
	RESOURCE_PART_IDLE, /* at the idle rate, in all the time between readings */
	/* what neither explains: work that is not recorded, or that took more than it did elsewhere */
	RESOURCE_PART_REST,
};

struct resource_part {
	enum resource_part_kind kind;
	const struct resource_usage_device *device;
	const struct fold_row *row;  /* of RESOURCE_PART_WORK; else NULL */
	uint64_t ns;                 /* the row's; else 0 */
	uint32_t known;              /* resources that the device knows: a set */
	uint64_t amounts[RESOURCES]; /* of those */
	enum resource_confidence confidence[RESOURCES];
};

typedef int resource_split_take(void *context, const struct resource_part *part);

/* Gives all parts to take(), as long as that returns 0. Parts of work without time are left out. Work before the first
 * reading counts, too: if all work is known to take more than there is, it gets less in proportion. How the last units
 * are rounded depends on the order of rows. Returns what take() did; -EPROTO: the profile is damaged; or -ENOMEM. */
int resource_split_each(const struct resource_usage *usage, const struct profile *profile,
			resource_split_take *take, void *context);

#endif
