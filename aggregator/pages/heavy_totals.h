/* Merges the lightest totals of a profile in what one connection reads. Used by one thread. */
#ifndef HEAVY_TOTALS_H
#define HEAVY_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store_schema.h"

/* each(name) of each table in which totals stand. */
#define HEAVY_TOTALS_TABLES(each) each("totals") each("host_samples") each("total_blocks")

bool heavy_totals_in(const char *table); /* returns whether it is one of these */

/* Puts temporary tables before the store's own, until the connection is closed: those of HEAVY_TOTALS_TABLES then have
 * max_rows at most, of GPUs and of samples half each if both have more. These are the ones with the most time; records
 * of other planes than GPU work (proto/record.h) come after all GPU work, and samples of kernels after those of host
 * threads. The others become a few rows without stack,
 * name, stream and thread, so all sums stay whole. `meta` has a note of what they hold (STORE_NOTE_UNSENT), of this
 * writer. Nothing changes if there are no more rows than that. 0; -ENOMEM; -EPROTO: a
 * block is damaged; or another error of the database. */
int heavy_totals_keep(struct database *database, const uint8_t writer[static STORE_WRITER_SIZE],
		      uint32_t max_rows);

#endif
