#include "store_busy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/store/block_code.h"
#include "base/array.h"

#define KEY_COLUMNS 5u

/* What the blocks of a timeline have together, as far as they came in order. */
struct stored {
	uint64_t busy_ns, closed_ns, horizon_ns; /* of the timeline's row */
	uint32_t nr_open;
	uint32_t nr_blocks,
		nr_found; /* nr_found: intervals behind the horizon before the last one */
	struct timeline_interval last;
	uint64_t found_ns;
	bool is_disordered; /* they have to be merged */
};

struct loading {
	struct database *database;
	struct collection *collection;
	struct statement *blocks; /* owns; of one timeline, by their index and its key */
	uint64_t nr_blocks;       /* that were read one by one */
	struct stored *stored;    /* owns; of closed timelines, in the order of the entries */
	uint32_t nr_stored, room_stored;
	struct timeline_interval *intervals; /* owns; of one block */
	uint32_t room_intervals;
};

static struct timeline_key timeline_key_of(struct statement *row)
{
	return (struct timeline_key){statement_number32(row, 0), statement_number32(row, 1),
				     statement_number32(row, 2), statement_number32(row, 3),
				     statement_number32(row, 4)};
}

/* Decodes the block of columns `column`, count, and the next one, data. */
static int decode(struct loading *loading, struct statement *row, uint32_t column, uint32_t *count)
{
	uint32_t size;
	const uint8_t *bytes = statement_bytes(row, column + 1, &size);

	*count = statement_number32(row, column);
	/* Each launch or record takes at least two bytes, so a damaged count cannot cause a large allocation. */
	if (*count == 0 || *count > size / 2)
		return -EPROTO;
	if (array_reserve(&loading->intervals, &loading->room_intervals, *count,
			  sizeof(*loading->intervals)))
		return -ENOMEM;
	return block_decode_intervals(bytes, size, loading->intervals, *count);
}

/* ---- timelines with which somebody goes on, and those whose blocks overlap */

static int take_block(struct loading *loading, const struct timeline_key *key, uint32_t index)
{
	struct timeline_block block = {.index = index};
	int error = decode(loading, loading->blocks, 0, &block.count);

	block.intervals = loading->intervals;
	return error ? error : timeline_table_load(loading->collection->timelines, key, &block);
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

/* The entry of a timeline's row. 0, -EPROTO, -ENOMEM. */
static int take_row(const struct loading *loading, struct statement *row,
		    const struct timeline_key *key, struct timeline_sums *sums,
		    struct timeline_entry **entry)
{
	*sums = (struct timeline_sums){
		.records = statement_number(row, 5),
		.sum_ns = statement_number(row, 6),
		.closed_ns = statement_number(row, 8),
		.horizon_ns = statement_number(row, 9),
		.first_ns = statement_number(row, 10),
		.last_ns = statement_number(row, 11),
		.late = statement_number(row, 12),
		.late_ns = statement_number(row, 13),
		.close_at = statement_number(row, 14),
		.uncaptured_ns = statement_number(row, 16),
	};
	*entry = timeline_table_get(loading->collection->timelines, key);
	if (!*entry)
		return -ENOMEM;
	const bool is_of_writer =
		key->level == TIMELINE_DEVICE || key->level == TIMELINE_DEVICE_PAUSES;
	return is_of_writer && (key->process_id == 0 ||
				key->process_id > loading->collection->nr_writers)
		       ? -EPROTO
		       : 0;
}

static int plain_error(int error)
{
	return error == 0 || error == -ENOMEM ? error : -EPROTO;
}

static int take_timeline(struct statement *row, void *context)
{
	struct loading *loading = context;
	const struct timeline_key key = timeline_key_of(row);
	struct timeline_entry *entry;
	struct timeline_sums sums;
	int error = take_row(loading, row, &key, &sums, &entry);

	if (!error)
		error = take_blocks(loading, &key);
	if (!error)
		error = stream_timeline_restore(entry->timeline, &sums, statement_number32(row, 15),
						statement_number(row, 7));
	return plain_error(error);
}

/* ---- closed timelines */

static int take_closed(struct statement *row, void *context)
{
	struct loading *loading = context;
	const struct timeline_key key = timeline_key_of(row);
	struct stored stored = {.busy_ns = statement_number(row, 7),
				.closed_ns = statement_number(row, 8),
				.horizon_ns = statement_number(row, 9),
				.nr_open = statement_number32(row, 15)};
	struct timeline_entry *entry;
	struct timeline_sums sums;
	uint32_t nr_entries;
	int error = take_row(loading, row, &key, &sums, &entry);

	if (error)
		return error;
	timeline_table_entries(loading->collection->timelines, &nr_entries);
	if (nr_entries != loading->nr_stored + 1)
		return -EPROTO; /* the row is there twice */
	if (array_reserve(&loading->stored, &loading->room_stored, loading->nr_stored + 1ull,
			  sizeof(*loading->stored)))
		return -ENOMEM;
	loading->stored[loading->nr_stored++] = stored;
	sums.closed_ns = stored.busy_ns;
	sums.horizon_ns = sums.last_ns;
	return plain_error(stream_timeline_restore(entry->timeline, &sums, 0, stored.busy_ns));
}

/* Counts the last interval, behind which others begin. */
static void end_interval(struct stored *stored)
{
	const struct timeline_interval *last = &stored->last;

	if (last->end_ns <= stored->horizon_ns)
		return;
	stored->nr_found++;
	stored->found_ns +=
		last->end_ns -
		(last->start_ns > stored->horizon_ns ? last->start_ns : stored->horizon_ns);
}

static void add_intervals(struct stored *stored, const struct timeline_interval *intervals,
			  uint32_t count)
{
	struct timeline_interval *last = &stored->last;

	for (uint32_t i = 0; i < count; i++) {
		if (intervals[i].start_ns > last->end_ns) {
			end_interval(stored);
			*last = intervals[i];
		} else if (intervals[i].start_ns < last->start_ns) {
			stored->is_disordered = true;
		} else if (intervals[i].end_ns > last->end_ns) {
			last->end_ns = intervals[i].end_ns;
		}
	}
}

static int take_closed_block(struct statement *row, void *context)
{
	struct loading *loading = context;
	struct timeline_table *timelines = loading->collection->timelines;
	const struct timeline_key key = timeline_key_of(row);
	const struct timeline_entry *entry = timeline_table_find(timelines, &key);
	uint32_t nr_entries, count;

	if (!entry)
		return -EPROTO;
	struct stored *stored =
		&loading->stored[entry - timeline_table_entries(timelines, &nr_entries)];
	int error = decode(loading, row, 6, &count);

	if (error)
		return error;
	if (!timeline_interval_ordered(loading->intervals, count))
		return -EPROTO;
	if (statement_number32(row, 5) != stored->nr_blocks++)
		stored->is_disordered = true;
	add_intervals(stored, loading->intervals, count);
	return 0;
}

/* Merges blocks that did not come in order, beside the table. */
static int check_disordered(struct loading *loading, const struct timeline_key *key,
			    const struct stored *stored)
{
	struct collection apart = *loading->collection;
	struct collection *const whole = loading->collection;
	const uint64_t nr_blocks = loading->nr_blocks + stored->nr_blocks;

	apart.timelines = timeline_table_create();
	if (!apart.timelines)
		return -ENOMEM;
	struct timeline_entry *entry = timeline_table_get(apart.timelines, key);
	loading->collection = &apart;
	int error = entry ? take_blocks(loading, key) : -ENOMEM;
	loading->collection = whole;
	struct timeline_sums sums = {
		.closed_ns = stored->closed_ns, .horizon_ns = stored->horizon_ns, .close_at = 1};
	if (!error && loading->nr_blocks != nr_blocks)
		error = -EPROTO;
	if (!error)
		error = stream_timeline_restore(entry->timeline, &sums, stored->nr_open,
						stored->busy_ns);
	timeline_table_destroy(apart.timelines);
	return plain_error(error);
}

static int check_closed(struct loading *loading)
{
	uint32_t nr_entries;
	const struct timeline_entry *entries =
		timeline_table_entries(loading->collection->timelines, &nr_entries);
	int error = 0;

	for (uint32_t i = 0; i < loading->nr_stored && !error; i++) {
		struct stored *stored = &loading->stored[i];

		end_interval(stored);
		if (stored->is_disordered)
			error = check_disordered(loading, &entries[i].key, stored);
		else if (stored->nr_found != stored->nr_open ||
			 stored->closed_ns + stored->found_ns != stored->busy_ns)
			error = -EPROTO;
	}
	return error;
}

/* Blocks of what is no timeline, or with a gap before them, are left over. */
static int count_blocks(struct database *database, const struct loading *loading)
{
	int64_t count;
	int error = database_query_number(database, "SELECT count(*) FROM timeline_blocks", &count);

	return !error && (uint64_t)count != loading->nr_blocks ? -EPROTO : error;
}

static int load_open(struct loading *loading)
{
	int error =
		database_rows(loading->database, "SELECT * FROM timelines", take_timeline, loading);

	return error ? error : count_blocks(loading->database, loading);
}

static int load_closed(struct loading *loading)
{
	int error =
		database_rows(loading->database, "SELECT * FROM timelines", take_closed, loading);

	if (!error)
		error = database_rows(loading->database, "SELECT * FROM timeline_blocks",
				      take_closed_block, loading);
	return error ? error : check_closed(loading);
}

/* The statement for blocks of one timeline. */
static int prepare(struct loading *loading)
{
	return statement_create(loading->database,
				"SELECT count, data FROM timeline_blocks WHERE block = ? AND"
				" level = ? AND process = ? AND device_id = ? AND"
				" context_id = ? AND stream_id = ?",
				&loading->blocks);
}

static void fini(struct loading *loading)
{
	statement_destroy(loading->blocks);
	free(loading->stored);
	free(loading->intervals);
}

int store_busy_load(struct database *database, struct collection *collection, bool is_closed)
{
	struct loading loading = {.database = database, .collection = collection};
	int error = prepare(&loading);

	if (!error)
		error = is_closed ? load_closed(&loading) : load_open(&loading);
	fini(&loading);
	return error;
}

int store_busy_read(struct database *database, const struct collection *collection,
		    const struct timeline_key *key, struct timeline_table *into)
{
	struct collection apart = *collection;
	struct loading loading = {.database = database, .collection = &apart};
	char sql[192];
	int error = prepare(&loading);

	apart.timelines = into;
	snprintf(sql, sizeof(sql),
		 "SELECT * FROM timelines WHERE level = %" PRIu32 " AND process = %" PRIu32
		 " AND device_id = %" PRIu32 " AND context_id = %" PRIu32
		 " AND stream_id = %" PRIu32,
		 key->level, key->process_id, key->device_id, key->context_id, key->stream_id);
	if (!error)
		error = database_rows(database, sql, take_timeline, &loading);
	fini(&loading);
	return error;
}
