/* GPU records that came before their launch, by (window, correlation id) and by order of arrival.
 * Pure; part of the correlator. */
#ifndef WAITING_RECORDS_H
#define WAITING_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/record.h"

struct waiting_record {
	struct gpu_record record;
	uint64_t order; /* of arrival */
	/* Neighbours as index + 1, 0: none. Linked both ways, because thousands may share one key
	 * (a graph launch that was lost) and the oldest is at the end of its bucket. */
	uint32_t next_in_bucket, previous_in_bucket;
	uint32_t newer, older; /* by order of arrival; newer links the unused ones, too */
};

/* Embedded; zeroed memory is empty. */
struct waiting_records {
	struct waiting_record *records;
	uint32_t room;
	uint32_t unused;         /* index + 1 of the first unused one */
	uint32_t oldest, newest; /* index + 1 */
	uint32_t *buckets;       /* index + 1; as many as room (a power of two) */
	uint32_t count;
};

void waiting_records_fini(struct waiting_records *waiting);

/* Copies the record; order must be above that of all others. 0 or -ENOMEM: unchanged. */
int waiting_records_add(struct waiting_records *waiting, const struct gpu_record *record,
			uint64_t order);

/* Takes out the record of this key that came last, or the oldest of all. false: there is none. */
bool waiting_records_take(struct waiting_records *waiting, uint32_t window, uint32_t correlation_id,
			  struct gpu_record *record, uint64_t *order);
bool waiting_records_take_oldest(struct waiting_records *waiting, struct gpu_record *record,
				 uint64_t *order);

#endif
