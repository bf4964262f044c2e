/* Divides the exact amounts of each GPU's meters over its work. The parts of a GPU sum to what telemetry counted, in
 * whole units. Used by one thread. */
#ifndef METER_SPLIT_H
#define METER_SPLIT_H

#include <stdint.h>

#include "meter_confidence.h"
#include "metered.h"

enum meter_part_kind {
	METER_PART_WORK, /* of a row of totals: what it adds to the amount without work */
	METER_PART_IDLE, /* at the idle rate, in all the time between readings */
	/* what neither explains: work that is not recorded, or that took more than it did elsewhere */
	METER_PART_REST,
};

struct meter_part {
	enum meter_part_kind kind;
	const struct metered_device *device;
	const struct fold_row *row; /* of METER_PART_WORK; else NULL */
	uint64_t ns;                /* the row's; else 0 */
	uint32_t known;             /* meters that the device knows: a set */
	uint64_t amounts[METERS];   /* of those */
	enum meter_confidence confidence[METERS];
};

typedef int meter_split_take(void *context, const struct meter_part *part);

/* Gives all parts to take(), as long as that returns 0. Parts of work without time are left out. Work before the first
 * reading counts, too: if all work is known to take more than there is, it gets less in proportion. How the last units
 * are rounded depends on the order of rows. Returns what take() did; -EPROTO: the profile is damaged; or -ENOMEM. */
int meter_split_each(const struct metered *metered, const struct profile *profile,
		     meter_split_take *take, void *context);

#endif
