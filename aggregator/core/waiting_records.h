/* GPU records that came before their launch, by (window, correlation id) and by order of arrival. It also knows the
 * blocks that changed since the last save. Pure; part of the correlator. One thread. */
#ifndef WAITING_RECORDS_H
#define WAITING_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "block_set.h"

#include "base/hash_index.h"
#include "proto/record.h"

#define WAITING_RECORDS_BLOCK 1024u /* neighbouring orders */

struct waiting_record {
	struct gpu_record record;
	uint64_t order; /* of arrival */
	/* Neighbours as index + 1; 0: none. The list has links both ways, because thousands of records may share one
	 * key (a lost graph launch), and the oldest is at the end. */
	uint32_t newer_of_key, older_of_key;
	uint32_t newer, older; /* by order of arrival; newer also links the unused ones */
};

/* The saved part of a waiting record. */
struct waiting_records_entry {
	struct gpu_record record;
	uint64_t order;
};

/* Embedded; zeroed memory is empty. */
struct waiting_records {
	bool track_changes; /* for waiting_records_save() */
	struct waiting_record *records;
	uint32_t room;
	uint32_t unused;         /* index + 1 of the first unused record */
	uint32_t oldest, newest; /* index + 1 */
	struct hash_index keys;  /* holds index + 1 of each key's newest */
	uint32_t count;
	struct block_set changed;             /* since waiting_records_saved() */
	struct waiting_records_entry *loaded; /* owns; between load and load_end */
	uint32_t nr_loaded, room_loaded;
};

void waiting_records_fini(struct waiting_records *waiting);

/* Copies the record; order must be above that of all others. 0 or -ENOMEM. */
int waiting_records_add(struct waiting_records *waiting, const struct gpu_record *record,
			uint64_t order);

/* Take out the newest record with this key, or the oldest of all. 1; 0: there is none; -ENOMEM: the record was taken,
 * but the blocks to save are no longer known. */
int waiting_records_take(struct waiting_records *waiting, uint32_t window, uint32_t correlation_id,
			 struct gpu_record *record);
int waiting_records_take_oldest(struct waiting_records *waiting, struct gpu_record *record);

/* At most WAITING_RECORDS_BLOCK records, oldest first, borrowed until it returns. count 0: the block is empty now. */
typedef int waiting_records_put(void *context, uint64_t block,
				const struct waiting_records_entry *records, uint32_t count);

/* Hands every changed block to put, until it returns nonzero, and returns that value. */
int waiting_records_save(const struct waiting_records *waiting, waiting_records_put *put,
			 void *context);
void waiting_records_saved(struct waiting_records *waiting);

/* Load every saved record into an empty set, in any order, then call the last function. 0 or -ENOMEM. */
int waiting_records_load(struct waiting_records *waiting,
			 const struct waiting_records_entry *record);
int waiting_records_load_end(struct waiting_records *waiting);

#endif
