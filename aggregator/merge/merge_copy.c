#include "merge_copy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge_block.h"
#include "merge_table.h"
#include "merge_totals.h"

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/store/store_schema.h"

#define SQL_MAX 4096u
/* A row's number among those of its process, behind the process's id. */
#define ARRIVAL_BITS 32

struct merge_copy {
	struct statement **inserts; /* one for each of merge_tables */
	struct merge_totals *totals;
	struct block_code code;
};

/* One table of one profile. */
struct copying {
	struct merge_copy *copy;
	const struct merge_table *table;
	struct statement *insert;
	const struct merge_map *map;
	uint64_t *arrived; /* [merged process id]: rows so far; NULL: not counted */
};

static uint32_t columns_of(const struct merge_table *table)
{
	uint32_t count = 0;

	while (count < MERGE_COLUMNS_MAX && table->columns[count])
		count++;
	return count;
}

static int create_insert(struct database *merged, const struct merge_table *table,
			 struct statement **insert)
{
	char sql[SQL_MAX];
	int size = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (?", table->name);

	for (uint32_t i = 1; i < columns_of(table); i++)
		size += snprintf(sql + size, sizeof(sql) - (size_t)size, ",?");
	/* Without a condition SQLite takes ON for a join's. */
	snprintf(sql + size, sizeof(sql) - (size_t)size, ")%s%s",
		 table->conflict ? " ON CONFLICT " : "", table->conflict ? table->conflict : "");
	return statement_create(merged, sql, insert);
}

int merge_copy_create(struct database *merged, struct merge_copy **copy)
{
	int error = 0;

	*copy = calloc(1, sizeof(**copy));
	if (*copy)
		(*copy)->inserts = calloc(merge_nr_tables, sizeof(*(*copy)->inserts));
	if (!*copy || !(*copy)->inserts)
		error = -ENOMEM;
	for (size_t i = 0; i < merge_nr_tables && !error; i++)
		error = create_insert(merged, &merge_tables[i], &(*copy)->inserts[i]);
	if (!error)
		error = merge_totals_create(merged, &(*copy)->totals);
	if (error) {
		merge_copy_destroy(*copy);
		*copy = NULL;
	}
	return error;
}

void merge_copy_destroy(struct merge_copy *copy)
{
	if (!copy)
		return;
	for (size_t i = 0; i < merge_nr_tables && copy->inserts; i++)
		statement_destroy(copy->inserts[i]);
	free(copy->inserts);
	merge_totals_destroy(copy->totals);
	block_code_fini(&copy->code);
	free(copy);
}

/* What the columns before say of the ones behind them. */
struct row_state {
	uint32_t level, pending_kind, count, process;
	bool is_left_out;
};

static struct database_value keep(struct statement *row, uint32_t column)
{
	if (statement_null(row, column))
		return (struct database_value){.type = DATABASE_NULL};
	return database_signed(statement_signed(row, column));
}

static int map_column(const struct copying *copying, struct statement *row, uint32_t column,
		      enum merge_kind kind, struct row_state *state, struct database_value *value)
{
	const uint32_t id = statement_number32(row, column);
	uint32_t mapped = id;
	int error = merge_map_replace(copying->map, kind, &mapped);

	if (id && !mapped &&
	    (kind == MERGE_KIND_PROCESS || kind == MERGE_KIND_EPOCH || kind == MERGE_KIND_WRITER))
		state->is_left_out = true;
	if (kind == MERGE_KIND_PROCESS)
		state->process = mapped;
	*value = database_number(mapped);
	return error;
}

static int block_value(const struct copying *copying, struct statement *row, uint32_t column,
		       const struct row_state *state, struct database_value *value)
{
	struct block_code *code = &copying->copy->code;
	uint32_t size;
	const uint8_t *bytes = statement_bytes(row, column, &size);
	int error;

	switch (copying->table->columns[column]) {
	case MERGE_BLOCK_PENDING:
		error = merge_block_pending(bytes, size, state->count, state->pending_kind,
					    copying->map, code);
		break;
	case MERGE_BLOCK_SAMPLES:
		error = merge_block_samples(bytes, size, state->count, copying->map, code);
		break;
	case MERGE_BLOCK_WORK:
		error = merge_block_work(bytes, size, state->count, copying->map, code);
		break;
	case MERGE_BLOCK_PROCESSES:
		error = merge_block_processes(bytes, size, state->count, copying->map, code);
		break;
	default: /* the same bytes */
		*value = database_bytes(bytes, size);
		return 0;
	}
	*value = database_bytes(code->bytes, code->size);
	return error;
}

/* *value: of one column of the merged row. */
static int value_of(const struct copying *copying, struct statement *row, uint32_t column,
		    struct row_state *state, struct database_value *value)
{
	const enum merge_column what = (enum merge_column)copying->table->columns[column];
	static const enum merge_kind kinds[] = {
		[MERGE_STRING] = MERGE_KIND_STRING,   [MERGE_NODE] = MERGE_KIND_NODE,
		[MERGE_HOST] = MERGE_KIND_HOST,       [MERGE_DEVICE] = MERGE_KIND_DEVICE,
		[MERGE_EPOCH] = MERGE_KIND_EPOCH,     [MERGE_WRITER] = MERGE_KIND_WRITER,
		[MERGE_PROCESS] = MERGE_KIND_PROCESS,
	};
	const bool is_device =
		state->level == TIMELINE_DEVICE || state->level == TIMELINE_DEVICE_PAUSES;

	*value = keep(row, column);
	switch (what) {
	case MERGE_STRING:
	case MERGE_NODE:
	case MERGE_HOST:
	case MERGE_DEVICE:
	case MERGE_EPOCH:
	case MERGE_WRITER:
	case MERGE_PROCESS:
		return map_column(copying, row, column, kinds[what], state, value);
	case MERGE_LEVEL:
		state->level = statement_number32(row, column);
		return 0;
	case MERGE_LEVEL_PROCESS:
		return map_column(copying, row, column,
				  is_device ? MERGE_KIND_WRITER : MERGE_KIND_PROCESS, state, value);
	case MERGE_LEVEL_DEVICE:
		return is_device ? map_column(copying, row, column, MERGE_KIND_DEVICE, state, value)
				 : 0;
	case MERGE_PENDING_KIND:
		state->pending_kind = statement_number32(row, column);
		return 0;
	case MERGE_IDS_KIND:
		if (statement_number32(row, column) != SESSION_PROCESSES)
			state->is_left_out = true;
		return 0;
	case MERGE_COUNT:
		state->count = statement_number32(row, column);
		return 0;
	case MERGE_BYTES:
	case MERGE_BLOCK_PENDING:
	case MERGE_BLOCK_SAMPLES:
	case MERGE_BLOCK_WORK:
	case MERGE_BLOCK_PROCESSES:
		return state->is_left_out ? 0 : block_value(copying, row, column, state, value);
	case MERGE_NUMBER:
	case MERGE_ARRIVAL: /* numbered when the process is known */
		return 0;
	}
	return -EPROTO;
}

static int copy_row(struct statement *row, void *context)
{
	const struct copying *copying = context;
	struct database_value values[MERGE_COLUMNS_MAX];
	struct row_state state = {0};
	uint32_t count = columns_of(copying->table);
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++)
		error = value_of(copying, row, i, &state, &values[i]);
	if (error || state.is_left_out)
		return error;
	if (copying->arrived)
		values[0] = database_number((uint64_t)state.process << ARRIVAL_BITS |
					    ++copying->arrived[state.process]);
	return statement_run(copying->insert, values, count);
}

static int copy_table(struct merge_copy *copy, size_t table, struct database *profile,
		      const struct merge_map *map)
{
	struct copying copying = {copy, &merge_tables[table], copy->inserts[table], map, NULL};
	char sql[SQL_MAX];

	if (copying.table->columns[0] == MERGE_ARRIVAL) {
		uint32_t most = 0;

		for (uint32_t i = 0; i < map->kinds[MERGE_KIND_PROCESS].count; i++)
			if (map->kinds[MERGE_KIND_PROCESS].ids[i] > most)
				most = map->kinds[MERGE_KIND_PROCESS].ids[i];
		copying.arrived = calloc(most + 1ull, sizeof(*copying.arrived));
		if (!copying.arrived)
			return -ENOMEM;
	}
	int error = store_schema_select_final(copying.table->name, copying.table->order, sql,
					      sizeof(sql));
	if (!error)
		error = database_rows(profile, sql, copy_row, &copying);
	free(copying.arrived);
	return error;
}

int merge_copy_rows(struct merge_copy *copy, struct database *profile, const struct merge_map *map)
{
	int error = 0;

	for (size_t i = 0; i < merge_nr_tables && !error; i++)
		error = copy_table(copy, i, profile, map);
	return error ? error : merge_totals_copy(copy->totals, profile, map);
}

int merge_copy_end(struct merge_copy *copy, int64_t most)
{
	return merge_totals_end(copy->totals, most);
}
