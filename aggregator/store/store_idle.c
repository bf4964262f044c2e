#include "store_idle.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "block_code.h"
#include "statement_set.h"
#include "store_table.h"

#include "aggregator/profile/idle_log.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"

enum command { PUT_DEVICE, PUT_WORK, COMMANDS };

const char *const store_idle_commands[] = {
	[PUT_DEVICE] = "REPLACE INTO idle_devices VALUES (?,?,?,?)",
	[PUT_WORK] = "REPLACE INTO idle_blocks VALUES (?,?,?,?,?,?)",
	[COMMANDS] = NULL,
};

/* ---- writing */

static int write_block(struct statement_set *set, struct block_code *code, uint32_t device,
		       const struct idle_block *block)
{
	int error = block_code_work(code, block->work, block->count);

	return error ? error
		     : RUN(set, PUT_WORK, NUMBER(device), NUMBER(ROSTER_WRITER),
			   NUMBER(block->index), NUMBER(block->records), NUMBER(block->count),
			   database_bytes(code->bytes, code->size));
}

static int write_device(struct statement_set *set, struct block_code *code, uint32_t id,
			const struct idle_device *device)
{
	int error = RUN(set, PUT_DEVICE, NUMBER(id), NUMBER(ROSTER_WRITER), NUMBER(device->from_ns),
			NUMBER(device->to_ns));

	for (uint32_t i = 0; i < device->nr_full && !error; i++)
		error = write_block(set, code, id, &device->full[i]);
	if (!error && device->block.records)
		error = write_block(set, code, id, &device->block);
	return error;
}

int store_idle_write(struct statement_set *set, struct block_code *code, struct idle_log *log)
{
	uint32_t nr_devices;
	const struct idle_device *devices = idle_log_devices(log, &nr_devices);
	int error = 0;

	for (uint32_t i = 0; i < nr_devices && !error; i++)
		if (devices[i].changed)
			error = write_device(set, code, i + 1, &devices[i]);
	return error;
}

/* ---- reading */

/* columns: device, from_ns, to_ns, whole blocks, their pieces, all blocks, the last one's index */
static int take_device(struct collection *collection, struct statement *row)
{
	uint32_t device = statement_number32(row, 0), nr_whole = statement_number32(row, 3);
	uint64_t nr_blocks = statement_number(row, 5);

	if (!roster_device(collection->roster, device) || nr_blocks - nr_whole > 1 ||
	    (nr_blocks && statement_number(row, 6) != nr_blocks - 1))
		return -EPROTO;
	return idle_log_load_device(collection->idle, device, statement_number(row, 1),
				    statement_number(row, 2), nr_whole, statement_number(row, 4));
}

/* columns of blocks that grow: device, writer, block, records, count, data */
static int take_block(struct collection *collection, struct statement *row)
{
	uint32_t device = statement_number32(row, 0), size;
	struct idle_block block = {
		.index = statement_number32(row, 2),
		.records = statement_number32(row, 3),
		.count = statement_number32(row, 4),
	};
	struct idle_work work[IDLE_LOG_BLOCK];
	const uint8_t *bytes = statement_bytes(row, 5, &size);

	if (!roster_device(collection->roster, device) || block.count > IDLE_LOG_BLOCK ||
	    block_decode_work(bytes, size, work, block.count))
		return -EPROTO;
	block.work = work;
	return idle_log_load_block(collection->idle, device, &block);
}

static_assert(IDLE_LOG_BLOCK == 4096, "as the statements say");

int store_idle_load(struct database *database, struct collection *collection)
{
	static const struct store_table tables[] = {
		{"SELECT device, from_ns, to_ns, coalesce(sum(records >= 4096), 0),"
		 " coalesce(sum(CASE WHEN records >= 4096 THEN count END), 0), count(block),"
		 " max(block) FROM idle_devices LEFT JOIN idle_blocks USING (device)"
		 " GROUP BY device",
		 take_device},
		{"SELECT 1 FROM idle_blocks WHERE device NOT IN (SELECT device FROM idle_devices)",
		 store_table_refuse},
		{"SELECT * FROM idle_blocks WHERE records < 4096", take_block},
	};

	return store_table_load(database, collection, tables, sizeof(tables) / sizeof(tables[0]));
}

/* ---- reading for reports */

/* The items of the blocks that were read so far. */
struct list {
	struct idle_work *items;
	uint32_t count, room;
	uint64_t after_ns; /* blocks before work after it are left out */
	uint32_t nr_left_out;
};

/* Each item takes at least one byte per field, so a count that the bytes cannot hold is refused. */
static int take_work_items(struct statement *row, void *context)
{
	struct list *list = context;
	uint32_t count = statement_number32(row, 0), size;
	const uint8_t *bytes = statement_bytes(row, 1, &size);

	if (count > size || count > UINT32_MAX / 4 - list->count)
		return -EPROTO;
	int error =
		array_reserve(&list->items, &list->room, list->count + count, sizeof(*list->items));
	if (error)
		return error;
	struct idle_work *work = list->items + list->count;
	if (block_decode_work(bytes, size, work, count))
		return -EPROTO;
	bool is_new = list->count > 0;

	for (uint32_t i = 0; i < count; i++) {
		if (work[i].start_ns > work[i].end_ns)
			return -EPROTO;
		is_new = is_new || work[i].end_ns >= list->after_ns;
	}
	if (is_new)
		list->count += count;
	else
		list->nr_left_out++;
	return 0;
}

static int read_bounds(struct database *database, uint32_t device, uint32_t writer,
		       uint64_t *from_ns, uint64_t *to_ns)
{
	static const char *const columns[] = {"from_ns", "to_ns"};
	int64_t values[2];
	char text[160];
	int error = 0;

	for (int i = 0; i < 2 && !error; i++) {
		snprintf(text, sizeof(text),
			 "SELECT %s FROM idle_devices WHERE writer = %" PRIu32
			 " AND device = %" PRIu32,
			 columns[i], writer, device);
		error = database_query_number(database, text, &values[i]);
	}
	if (error)
		return error;
	*from_ns = (uint64_t)values[0];
	*to_ns = (uint64_t)values[1];
	return 0;
}

/* *work is the list's then, or NULL on error. */
static int read_blocks(struct database *database, uint32_t device, uint32_t writer,
		       uint32_t from_block, struct list *list, struct idle_work **work,
		       uint32_t *count)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "SELECT count, data FROM idle_blocks WHERE writer = %" PRIu32
		 " AND device = %" PRIu32 " AND block >= %" PRIu32 " ORDER BY block",
		 writer, device, from_block);
	int error = database_rows(database, text, take_work_items, list);

	if (error)
		free(list->items);
	*work = error ? NULL : list->items;
	*count = error ? 0 : list->count;
	return error;
}

int store_idle_read_work(struct database *database, uint32_t device, uint32_t writer,
			 struct idle_work **work, uint32_t *count, uint64_t *records,
			 uint64_t *from_ns, uint64_t *to_ns)
{
	struct list list = {0};
	char text[160];
	int64_t nr_records = 0;

	*work = NULL;
	*count = 0;
	snprintf(text, sizeof(text),
		 "SELECT coalesce(sum(records), 0) FROM idle_blocks WHERE writer = %" PRIu32
		 " AND device = %" PRIu32,
		 writer, device);
	int error = database_query_number(database, text, &nr_records);

	if (!error)
		error = read_bounds(database, device, writer, from_ns, to_ns);
	if (!error)
		error = read_blocks(database, device, writer, 0, &list, work, count);
	*records = (uint64_t)nr_records;
	return error;
}

int store_idle_read_newer(struct database *database, uint32_t device, uint64_t after_ns,
			  uint32_t *block, struct idle_work **work, uint32_t *count,
			  uint64_t *from_ns, uint64_t *to_ns)
{
	struct list list = {.after_ns = after_ns};

	*work = NULL;
	*count = 0;
	int error = read_bounds(database, device, ROSTER_WRITER, from_ns, to_ns);

	if (!error)
		error = read_blocks(database, device, ROSTER_WRITER, *block, &list, work, count);
	if (!error)
		*block += list.nr_left_out;
	return error;
}
