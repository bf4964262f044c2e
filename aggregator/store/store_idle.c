#include "store_idle.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "block_code.h"
#include "statement_set.h"
#include "store_table.h"

#include "aggregator/profile/idle_log.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"

enum command { PUT_DEVICE, PUT_WORK, PUT_SAMPLES, PUT_LEVEL, DROP_SAMPLES, COMMANDS };

const char *const store_idle_commands[] = {
	[PUT_DEVICE] = "REPLACE INTO idle_devices VALUES (?,?,?,?)",
	[PUT_WORK] = "REPLACE INTO idle_blocks VALUES (?,?,?,?,?,?)",
	[PUT_SAMPLES] = "INSERT INTO sample_blocks VALUES (?,?,?,?,?)",
	[PUT_LEVEL] = "REPLACE INTO sample_levels VALUES (?,?)",
	[DROP_SAMPLES] = "DELETE FROM sample_blocks WHERE process = ? AND level < ?",
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

static uint32_t take_level(const struct idle_samples *samples, uint32_t level,
			   struct host_sample *taken)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < samples->nr_recent; i++)
		if (samples->recent[i].level == level)
			taken[count++] = samples->recent[i].sample;
	return count;
}

/* Writes a block for each level. */
static int write_recent(struct statement_set *set, struct block_code *code, uint32_t process,
			const struct idle_samples *samples)
{
	struct host_sample *taken = malloc((samples->nr_recent + 1ul) * sizeof(*taken));
	uint32_t block = samples->nr_blocks;
	int error = taken ? 0 : -ENOMEM;

	for (uint32_t level = samples->level; level < KEPT_WINDOW_LEVELS && !error; level++) {
		uint32_t count = take_level(samples, level, taken);

		if (count == 0)
			continue;
		error = block_code_samples(code, taken, count);
		if (!error)
			error = RUN(set, PUT_SAMPLES, NUMBER(process), NUMBER(block++),
				    NUMBER(level), NUMBER(count),
				    database_bytes(code->bytes, code->size));
	}
	free(taken);
	return error;
}

static int write_samples(struct statement_set *set, struct block_code *code, uint32_t process,
			 const struct idle_samples *samples)
{
	int error = 0;

	if (samples->raised)
		error = RUN(set, PUT_LEVEL, NUMBER(process), NUMBER(samples->level));
	if (samples->raised && !error)
		error = RUN(set, DROP_SAMPLES, NUMBER(process), NUMBER(samples->level));
	return error || samples->nr_recent == 0 ? error : write_recent(set, code, process, samples);
}

int store_idle_write(struct statement_set *set, struct block_code *code, struct idle_log *log)
{
	uint32_t nr_devices, nr_processes;
	const struct idle_device *devices = idle_log_devices(log, &nr_devices);
	const struct idle_samples *processes = idle_log_processes(log, &nr_processes);
	int error = 0;

	for (uint32_t i = 0; i < nr_devices && !error; i++)
		if (devices[i].changed)
			error = write_device(set, code, i + 1, &devices[i]);
	for (uint32_t i = 0; i < nr_processes && !error; i++)
		error = write_samples(set, code, i + 1, &processes[i]);
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

static int take_process_level(struct collection *collection, struct statement *row)
{
	uint32_t process = statement_number32(row, 0);

	if (!roster_process(collection->roster, process))
		return -EPROTO;
	return idle_log_load_level(collection->idle, process, statement_number32(row, 1));
}

/* columns: process, level, samples, the last block's index */
static int take_samples(struct collection *collection, struct statement *row)
{
	uint32_t process = statement_number32(row, 0), last = statement_number32(row, 3);

	if (!roster_process(collection->roster, process) || last == UINT32_MAX)
		return -EPROTO;
	return idle_log_load_samples(collection->idle, process, statement_number32(row, 1),
				     last + 1, statement_number(row, 2));
}

int store_idle_load_levels(struct database *database, struct collection *collection)
{
	static const struct store_table table = {"SELECT * FROM sample_levels", take_process_level};

	return store_table_load(database, collection, &table, 1);
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
		{"SELECT process, level, sum(count), max(block) FROM sample_blocks"
		 " GROUP BY process, level",
		 take_samples},
	};

	return store_table_load(database, collection, tables, sizeof(tables) / sizeof(tables[0]));
}

/* ---- reading for reports */

/* The items of the blocks that were read so far. */
struct list {
	void *items;
	uint32_t count, room;
	size_t item_size;
};

/* Makes room at the end for a block's items. Each item takes at least one byte per field, so a count that the bytes
 * cannot hold is refused. */
static int reserve(struct list *list, uint32_t count, uint32_t nr_bytes)
{

	if (count > nr_bytes || count > UINT32_MAX / 4 - list->count)
		return -EPROTO;
	return array_reserve(&list->items, &list->room, list->count + count, list->item_size);
}

/* take receives one block's row, its count and data; its context is the list. */
static int read_blocks(struct database *database, const char *sql, uint32_t id, struct list *list,
		       int (*take)(struct statement *row, void *context))
{
	char text[256];

	snprintf(text, sizeof(text), "%s = %" PRIu32 " ORDER BY block", sql, id);
	int error = database_rows(database, text, take, list);
	if (error) {
		free(list->items);
		*list = (struct list){0};
	}
	return error;
}

static int take_work_items(struct statement *row, void *context)
{
	struct list *list = context;
	uint32_t count = statement_number32(row, 0), size;
	const uint8_t *bytes = statement_bytes(row, 1, &size);
	int error = reserve(list, count, size);

	if (error)
		return error;
	struct idle_work *work = (struct idle_work *)list->items + list->count;
	if (block_decode_work(bytes, size, work, count))
		return -EPROTO;
	for (uint32_t i = 0; i < count; i++)
		if (work[i].start_ns > work[i].end_ns)
			return -EPROTO;
	list->count += count;
	return 0;
}

int store_idle_read_work(struct database *database, uint32_t device, uint32_t writer,
			 struct idle_work **work, uint32_t *count, uint64_t *records,
			 uint64_t *from_ns, uint64_t *to_ns)
{
	struct list list = {.item_size = sizeof(**work)};
	static const char *const numbers[] = {
		"SELECT coalesce(sum(records), 0) FROM idle_blocks",
		"SELECT from_ns FROM idle_devices",
		"SELECT to_ns FROM idle_devices",
	};
	char blocks[160];
	int64_t values[3];
	int error = 0;

	for (int i = 0; i < 3 && !error; i++) {
		char text[160];

		snprintf(text, sizeof(text), "%s WHERE writer = %" PRIu32 " AND device = %" PRIu32,
			 numbers[i], writer, device);
		error = database_query_number(database, text, &values[i]);
	}
	snprintf(blocks, sizeof(blocks),
		 "SELECT count, data FROM idle_blocks WHERE writer = %" PRIu32 " AND device",
		 writer);
	if (!error)
		error = read_blocks(database, blocks, device, &list, take_work_items);
	*work = list.items;
	*count = list.count;
	if (error)
		return error;
	*records = (uint64_t)values[0];
	*from_ns = (uint64_t)values[1];
	*to_ns = (uint64_t)values[2];
	return 0;
}

static int take_sample_items(struct statement *row, void *context)
{
	struct list *list = context;
	uint32_t count = statement_number32(row, 0), size;
	const uint8_t *bytes = statement_bytes(row, 1, &size);
	int error = reserve(list, count, size);

	if (error)
		return error;
	struct host_sample *samples = (struct host_sample *)list->items + list->count;
	if (block_decode_samples(bytes, size, samples, count))
		return -EPROTO;
	for (uint32_t i = 0; i < count; i++)
		if (samples[i].kind > HOST_SAMPLE_OFF_CPU)
			return -EPROTO;
	list->count += count;
	return 0;
}

int store_idle_read_samples(struct database *database, uint32_t process,
			    struct host_sample **samples, uint32_t *count)
{
	struct list list = {.item_size = sizeof(**samples)};
	int error = read_blocks(database, "SELECT count, data FROM sample_blocks WHERE process",
				process, &list, take_sample_items);

	*samples = list.items;
	*count = list.count;
	return error;
}
