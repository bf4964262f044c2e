#include "proto/statistics_table.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 8u /* most processes have few rows, and their tables stay */

struct rows {
	size_t row_bytes, key_bytes; /* the key comes first in a row */
	uint32_t max;
	uint32_t count, room, nr_changed;
	uint8_t *rows;
	bool *changed;
	/* index + 1 by hash, 0: free; twice as many as there is room, so that every probe ends */
	uint32_t *slots;
};

struct statistics_table {
	struct rows calls, configs;
};

struct statistics_table *statistics_table_create(void)
{
	struct statistics_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->calls = (struct rows){.row_bytes = sizeof(struct message_api_call),
				     .key_bytes = offsetof(struct message_api_call, name),
				     .max = STATISTICS_TABLE_CALLS};
	table->configs = (struct rows){.row_bytes = sizeof(struct message_kernel_config),
				       .key_bytes = sizeof(struct kernel_config),
				       .max = STATISTICS_TABLE_CONFIGS};
	return table;
}

static void rows_fini(struct rows *rows)
{
	free(rows->rows);
	free(rows->changed);
	free(rows->slots);
}

void statistics_table_destroy(struct statistics_table *table)
{
	if (!table)
		return;
	rows_fini(&table->calls);
	rows_fini(&table->configs);
	free(table);
}

static void *row_at(const struct rows *rows, uint32_t index)
{
	return rows->rows + (size_t)index * rows->row_bytes;
}

static uint64_t hash_of(const void *key, size_t bytes)
{
	uint64_t hash = bytes;

	for (size_t at = 0; at < bytes; at += sizeof(uint32_t)) {
		uint32_t word;

		memcpy(&word, (const uint8_t *)key + at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	}
	return hash >> 32;
}

/* The slot of a key, or the free one where it belongs. */
static uint32_t *find_slot(const struct rows *rows, const void *key)
{
	uint32_t mask = 2 * rows->room - 1;
	uint32_t i = (uint32_t)hash_of(key, rows->key_bytes) & mask;

	while (rows->slots[i] &&
	       memcmp(row_at(rows, rows->slots[i] - 1), key, rows->key_bytes) != 0)
		i = (i + 1) & mask;
	return &rows->slots[i];
}

static int grow(struct rows *rows)
{
	uint32_t room = rows->room ? 2 * rows->room : FIRST_ROOM;
	uint8_t *bigger = realloc(rows->rows, room * rows->row_bytes);
	bool *changed = bigger ? realloc(rows->changed, room * sizeof(*changed)) : NULL;
	uint32_t *slots = changed ? calloc(2 * (size_t)room, sizeof(*slots)) : NULL;

	if (bigger)
		rows->rows = bigger;
	if (changed)
		rows->changed = changed;
	if (!slots)
		return -ENOMEM;
	free(rows->slots);
	rows->slots = slots;
	rows->room = room;
	for (uint32_t i = 0; i < rows->count; i++)
		*find_slot(rows, row_at(rows, i)) = i + 1;
	return 0;
}

static const void *find(const struct rows *rows, const void *key)
{
	const uint32_t *slot = rows->room ? find_slot(rows, key) : NULL;

	return slot && *slot ? row_at(rows, *slot - 1) : NULL;
}

static int put(struct rows *rows, const void *row)
{
	uint32_t index;

	if (!find(rows, row)) {
		if (rows->count == rows->max)
			return -ENOSPC;
		if (rows->count == rows->room && grow(rows) < 0)
			return -ENOMEM;
		rows->changed[rows->count] = false;
		memset(row_at(rows, rows->count), 0, rows->row_bytes);
		*find_slot(rows, row) = ++rows->count;
		index = rows->count - 1;
	} else {
		index = *find_slot(rows, row) - 1;
		if (memcmp(row_at(rows, index), row, rows->row_bytes) == 0)
			return 0;
	}
	memcpy(row_at(rows, index), row, rows->row_bytes);
	rows->nr_changed += !rows->changed[index];
	rows->changed[index] = true;
	return 0;
}

int statistics_table_put_call(struct statistics_table *table, const struct message_api_call *call)
{
	return put(&table->calls, call);
}

int statistics_table_put_config(struct statistics_table *table,
				const struct message_kernel_config *config)
{
	return put(&table->configs, config);
}

const struct message_api_call *statistics_table_find_call(const struct statistics_table *table,
							  const struct message_api_call *key)
{
	return find(&table->calls, key);
}

const struct message_kernel_config *
statistics_table_find_config(const struct statistics_table *table,
			     const struct message_kernel_config *key)
{
	return find(&table->configs, key);
}

const struct message_api_call *statistics_table_calls(const struct statistics_table *table,
						      uint32_t *count)
{
	*count = table ? table->calls.count : 0;
	return table ? (const void *)table->calls.rows : NULL;
}

const struct message_kernel_config *statistics_table_configs(const struct statistics_table *table,
							     uint32_t *count)
{
	*count = table ? table->configs.count : 0;
	return table ? (const void *)table->configs.rows : NULL;
}

bool statistics_table_call_changed(const struct statistics_table *table, uint32_t index)
{
	return table->calls.changed[index];
}

bool statistics_table_config_changed(const struct statistics_table *table, uint32_t index)
{
	return table->configs.changed[index];
}

bool statistics_table_changed(const struct statistics_table *table)
{
	return table && (table->calls.nr_changed || table->configs.nr_changed);
}

static void rows_saved(struct rows *rows)
{
	if (rows->nr_changed)
		memset(rows->changed, 0, rows->count * sizeof(*rows->changed));
	rows->nr_changed = 0;
}

void statistics_table_saved(struct statistics_table *table)
{
	if (!table)
		return;
	rows_saved(&table->calls);
	rows_saved(&table->configs);
}
