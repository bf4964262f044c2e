/* Encodes lists of structs as bytes for the store: blocks of the correlator's and the memory account's state, ids, open
 * intervals, samples, devices' work, totals of one process, and collectives. Each field is a column of deltas
 * (column.h) behind its length, a 32-bit little-endian number. The layout is part of the store's schema. Pure. */
#ifndef BLOCK_CODE_H
#define BLOCK_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/correlator.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/core/idle_work.h"
#include "aggregator/core/memory_slots.h"
#include "aggregator/core/timeline_interval.h"
#include "aggregator/profile/collective_folds.h"
#include "proto/host_sample.h"

/* Holds the bytes. Embedded; zeroed memory is empty. */
struct block_code {
	uint8_t *bytes; /* owns */
	size_t size;
	uint32_t room;
};

void block_code_fini(struct block_code *code);

/* block_code_ITEMS() replaces the contents of code by count items: 0 or -ENOMEM. block_decode_ITEMS() decodes exactly
 * count items from exactly size bytes: 0 or -EBADMSG. */
#define BLOCK_CODE_DECLARE(items, type)                                                            \
	int block_code_##items(struct block_code *code, const type *items, uint32_t count);        \
	int block_decode_##items(const uint8_t *bytes, size_t size, type *items, uint32_t count)

BLOCK_CODE_DECLARE(launches, struct launch);
BLOCK_CODE_DECLARE(records, struct waiting_records_entry);
BLOCK_CODE_DECLARE(ids, uint32_t);
BLOCK_CODE_DECLARE(slots, struct memory_slot);
BLOCK_CODE_DECLARE(intervals, struct timeline_interval);
BLOCK_CODE_DECLARE(samples, struct host_sample);
BLOCK_CODE_DECLARE(work, struct idle_work);
/* Of one process, whose id is left out: totals of GPU work, and sums of host samples. Decoded totals own their bins,
 * also after an error (fold_row_fini()); the decoder may also return -ENOMEM. */
BLOCK_CODE_DECLARE(totals, struct fold_row);
BLOCK_CODE_DECLARE(sums, struct fold_row);
BLOCK_CODE_DECLARE(buckets, struct collective_fold_bucket);
BLOCK_CODE_DECLARE(bins, struct collective_bin);

#endif
