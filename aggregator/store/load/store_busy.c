#include "store_busy.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/store/block_code.h"

#define KEY_COLUMNS 5u

struct loading {
	struct collection *collection;
	struct statement *blocks; /* owns; of one timeline, by their index and its key */
	uint64_t nr_blocks;       /* that were read */
	bool is_closed;
};

static struct timeline_key timeline_key_of(struct statement *row)
{
	return (struct timeline_key){statement_number32(row, 0), statement_number32(row, 1),
				     statement_number32(row, 2), statement_number32(row, 3),
				     statement_number32(row, 4)};
}

static int take_block(struct loading *loading, const struct timeline_key *key, uint32_t index)
{
	struct statement *row = loading->blocks;
	struct timeline_block block = {.index = index, .count = statement_number32(row, 0)};
	uint32_t size;
	const uint8_t *bytes = statement_bytes(row, 1, &size);

	/* Each launch or record takes at least two bytes, so a damaged count cannot cause a large allocation. */
	if (block.count == 0 || block.count > size / 2)
		return -EPROTO;

	struct timeline_interval *intervals = malloc(block.count * sizeof(*intervals));
	if (!intervals)
		return -ENOMEM;
	int error = block_decode_intervals(bytes, size, intervals, block.count);
	block.intervals = intervals;
	if (!error)
		error = timeline_table_load(loading->collection->timelines, key, &block);
	free(intervals);
	return error;
}

static int take_blocks(struct loading *loading, const struct timeline_key *key)
{
	struct database_value values[1 + KEY_COLUMNS] = {
		[1] = database_number(key->level), database_number(key->process_id),
		database_number(key->device_id),   database_number(key->context_id),
		database_number(key->stream_id),
	};
	int status = 1;

	for (uint32_t index = 0; status == 1; index++) {
		values[0] = database_number(index);
		status = statement_start(loading->blocks, values, 1 + KEY_COLUMNS);
		if (status != 1)
			break;
		int error = take_block(loading, key, index);

		statement_reset(loading->blocks);
		loading->nr_blocks++;
		if (error)
			return error;
	}
	return status;
}

static int take_timeline(struct statement *row, void *context)
{
	struct loading *loading = context;
	const struct timeline_key key = timeline_key_of(row);
	struct timeline_sums sums = {
		.records = statement_number(row, 5),
		.sum_ns = statement_number(row, 6),
		.closed_ns = statement_number(row, 8),
		.horizon_ns = statement_number(row, 9),
		.first_ns = statement_number(row, 10),
		.last_ns = statement_number(row, 11),
		.late = statement_number(row, 12),
		.late_ns = statement_number(row, 13),
		.close_at = statement_number(row, 14),
	};
	struct timeline_entry *entry = timeline_table_get(loading->collection->timelines, &key);

	if (!entry)
		return -ENOMEM;
	if (key.level == TIMELINE_DEVICE &&
	    (key.process_id == 0 || key.process_id > loading->collection->nr_writers))
		return -EPROTO;
	int error = take_blocks(loading, &key);
	if (!error)
		error = stream_timeline_restore(entry->timeline, &sums, statement_number32(row, 15),
						statement_number(row, 7));
	if (!error && loading->is_closed)
		stream_timeline_close(entry->timeline);
	return error == 0 || error == -ENOMEM ? error : -EPROTO;
}

/* Blocks of what is no timeline, or with a gap before them, are left over. */
static int count_blocks(struct database *database, const struct loading *loading)
{
	int64_t count;
	int error = database_query_number(database, "SELECT count(*) FROM timeline_blocks", &count);

	return !error && (uint64_t)count != loading->nr_blocks ? -EPROTO : error;
}

int store_busy_load(struct database *database, struct collection *collection, bool is_closed)
{
	struct loading loading = {.collection = collection, .is_closed = is_closed};
	int error = statement_create(database,
				     "SELECT count, data FROM timeline_blocks WHERE block = ? AND"
				     " level = ? AND process = ? AND device_id = ? AND"
				     " context_id = ? AND stream_id = ?",
				     &loading.blocks);

	if (!error)
		error = database_rows(database, "SELECT * FROM timelines", take_timeline, &loading);
	if (!error)
		error = count_blocks(database, &loading);
	statement_destroy(loading.blocks);
	return error;
}
