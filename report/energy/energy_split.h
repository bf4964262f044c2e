/* Divides the exact energy of each GPU over its work. The parts of a GPU sum to the difference of the board's counter,
 * to the millijoule. Used by one thread. */
#ifndef ENERGY_SPLIT_H
#define ENERGY_SPLIT_H

#include <stdint.h>

#include "energy.h"
#include "energy_confidence.h"

enum energy_part_kind {
	ENERGY_PART_WORK, /* of a row of totals: what it adds to the power without work */
	ENERGY_PART_IDLE, /* what the GPU takes without work, in all the time between readings */
	/* what neither explains: work that is not recorded, or that took more than it did elsewhere */
	ENERGY_PART_REST,
};

struct energy_part {
	enum energy_part_kind kind;
	const struct energy_device *device;
	const struct fold_row *row; /* of ENERGY_PART_WORK; else NULL */
	uint64_t ns;                /* the row's; else 0 */
	uint64_t mj;
	enum energy_confidence confidence;
};

typedef int energy_split_take(void *context, const struct energy_part *part);

/* Gives all parts to take(), as long as that returns 0. Parts of work without time are left out. Work before the first
 * reading counts, too: if all work is known to take more than there is, it gets less in proportion. How the last
 * millijoules are rounded depends on the order of rows. Returns what take() did; -EPROTO: the profile is damaged; or
 * -ENOMEM. */
int energy_split_each(const struct energy *energy, const struct profile *profile,
		      energy_split_take *take, void *context);

#endif
