#include "statistics_table.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"

struct rows {
	size_t row_bytes, key_bytes; /* the key comes first in a row */
	uint32_t max;
	uint32_t count, room, nr_changed;
	uint8_t *rows;
	bool *changed;
	struct hash_index index; /* index + 1 */
};

struct statistics_table {
	struct rows calls, configs, metrics;
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
	table->metrics =
		(struct rows){.row_bytes = sizeof(struct message_kernel_metric),
			      .key_bytes = offsetof(struct message_kernel_metric, nr_passes),
			      .max = STATISTICS_TABLE_METRICS};
	return table;
}

static void rows_fini(struct rows *rows)
{
	free(rows->rows);
	free(rows->changed);
	hash_index_fini(&rows->index);
}

void statistics_table_destroy(struct statistics_table *table)
{
	if (!table)
		return;
	rows_fini(&table->calls);
	rows_fini(&table->configs);
	rows_fini(&table->metrics);
	free(table);
}

static void *row_at(const struct rows *rows, uint32_t index)
{
	return rows->rows + (size_t)index * rows->row_bytes;
}

static bool has_key(const void *context, uint32_t id, const void *key)
{
	const struct rows *rows = context;

	return memcmp(row_at(rows, id - 1), key, rows->key_bytes) == 0;
}

/* The row's index + 1; 0: none. */
static uint32_t find(const struct rows *rows, const void *key)
{
	return hash_index_find(&rows->index, hash_index_hash(key, rows->key_bytes), has_key, rows,
			       key);
}

static int reserve(struct rows *rows)
{
	uint32_t room = rows->room;
	int error = array_reserve(&rows->changed, &room, rows->count + 1, sizeof(*rows->changed));

	return error ? error
		     : array_reserve(&rows->rows, &rows->room, rows->count + 1, rows->row_bytes);
}

static int append(struct rows *rows, const void *row)
{
	if (rows->count == rows->max)
		return -ENOSPC;
	if (reserve(rows))
		return -ENOMEM;
	if (hash_index_insert(&rows->index, hash_index_hash(row, rows->key_bytes), rows->count + 1))
		return -ENOMEM;
	rows->changed[rows->count++] = false;
	return 0;
}

static int put(struct rows *rows, const void *row)
{
	uint32_t id = find(rows, row);
	int error = id ? 0 : append(rows, row);

	if (error || (id && memcmp(row_at(rows, id - 1), row, rows->row_bytes) == 0))
		return error;
	uint32_t index = id ? id - 1 : rows->count - 1;
	memcpy(row_at(rows, index), row, rows->row_bytes);
	rows->nr_changed += !rows->changed[index];
	rows->changed[index] = true;
	return 0;
}

static const void *find_row(const struct rows *rows, const void *key)
{
	uint32_t id = find(rows, key);

	return id ? row_at(rows, id - 1) : NULL;
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

int statistics_table_put_metric(struct statistics_table *table,
				const struct message_kernel_metric *metric)
{
	return put(&table->metrics, metric);
}

const struct message_api_call *statistics_table_find_call(const struct statistics_table *table,
							  const struct message_api_call *key)
{
	return find_row(&table->calls, key);
}

const struct message_kernel_config *
statistics_table_find_config(const struct statistics_table *table,
			     const struct message_kernel_config *key)
{
	return find_row(&table->configs, key);
}

const struct message_kernel_metric *
statistics_table_find_metric(const struct statistics_table *table,
			     const struct message_kernel_metric *key)
{
	return find_row(&table->metrics, key);
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

const struct message_kernel_metric *statistics_table_metrics(const struct statistics_table *table,
							     uint32_t *count)
{
	*count = table ? table->metrics.count : 0;
	return table ? (const void *)table->metrics.rows : NULL;
}

bool statistics_table_call_changed(const struct statistics_table *table, uint32_t index)
{
	return table->calls.changed[index];
}

bool statistics_table_config_changed(const struct statistics_table *table, uint32_t index)
{
	return table->configs.changed[index];
}

bool statistics_table_metric_changed(const struct statistics_table *table, uint32_t index)
{
	return table->metrics.changed[index];
}

bool statistics_table_changed(const struct statistics_table *table)
{
	return table &&
	       (table->calls.nr_changed || table->configs.nr_changed || table->metrics.nr_changed);
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
	rows_saved(&table->metrics);
}
