/* Leaves the lightest totals of a profile out of what one connection reads. Used by one thread. */
#ifndef HEAVY_TOTALS_H
#define HEAVY_TOTALS_H

#include <stdint.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store_schema.h"

/* Puts temporary tables before the store's own, until the connection is closed: `totals`, `host_samples` and
 * `total_blocks` then have max_rows at most, those with the most time, of GPU work and of samples half each if both
 * have more. `meta` has a note of what the others hold (store_damage.h), under the writer's name. Nothing changes if
 * there are no more rows than that. 0; -ENOMEM; -EPROTO: a block is damaged; or another error of the database. */
int heavy_totals_keep(struct database *database, const uint8_t writer[static STORE_WRITER_SIZE],
		      uint32_t max_rows);

#endif
