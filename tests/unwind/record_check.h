/* Compares walks with the records of earlier ones: a record that holds must tell the walk's frames. Each thread has its
 * own. */
#ifndef RECORD_CHECK_H
#define RECORD_CHECK_H

#include <stdint.h>

#include "unwind/walk_record.h"

#define RECORD_CHECK_KEPT  64u
#define RECORD_CHECK_BYTES (sizeof(struct walk_record) + 10u * WALK_READS_MAX)

struct record_check { /* zeroed: no records yet */
	uint64_t records;
	uint64_t held; /* records that held */
	/* that held where the walk was told of a file that had changed: no record can know that */
	uint64_t stale;
	uint64_t disagreements;
	struct walk_reads reads;
	struct {
		enum unwind_end end;
		uint32_t nr, max;
		uint64_t frames[WALK_READS_FRAMES];
		_Alignas(8) char record[RECORD_CHECK_BYTES];
	} kept[RECORD_CHECK_KEPT];
};

/* Takes a walk of at most max frames that has just ended. epoch: of the tables, before the walk. */
void record_check_walk(struct record_check *check, struct unwind_tables *tables,
		       struct unwind_cache *cache, uint32_t epoch, const struct unwind_start *start,
		       uint64_t high, const uint64_t *frames, uint32_t nr, uint32_t max,
		       enum unwind_end end);

#endif
