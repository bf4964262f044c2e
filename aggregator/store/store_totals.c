#include "store_totals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proto/host_sample.h"

enum command { ADD_TOTAL, ADD_SAMPLE, PUT_BLOCK, CLEAR_BLOCKS, COMMANDS };

#define ADD_OR_STICK(column)                                                                       \
	column " = CASE WHEN " column " > 9223372036854775807 - excluded." column                  \
	       " THEN 9223372036854775807 ELSE " column " + excluded." column " END"

const char *const store_totals_commands[] = {
	[ADD_TOTAL] = "INSERT INTO totals VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
		      " ON CONFLICT DO UPDATE SET " ADD_OR_STICK("count") "," ADD_OR_STICK(
			      "ns") "," ADD_OR_STICK("bytes") ", durations ="
							      " join_durations(durations, count, "
							      "ns, excluded.durations, "
							      "excluded.count, excluded.ns)",
	[ADD_SAMPLE] = "INSERT INTO host_samples VALUES (?,?,?,?,?,?,?)"
		       " ON CONFLICT DO UPDATE SET " ADD_OR_STICK("count") "," ADD_OR_STICK("ns"),
	[PUT_BLOCK] = "INSERT INTO total_blocks SELECT ?1, ?2, ifnull(max(block) + 1, 0), ?3, ?4"
		      " FROM total_blocks WHERE process = ?1 AND kind = ?2",
	[CLEAR_BLOCKS] = "DELETE FROM total_blocks WHERE process = ? AND kind = ?",
	[COMMANDS] = NULL,
};

#define SQL_MAX 160u
#define AHEAD   8u /* rows to fetch into the cache before they are copied */

/* ---- writing */

static int add_row(struct statement_set *set, enum store_totals_kind kind,
		   const struct fold_row *row)
{
	const struct fold_key *key = &row->key;
	struct database_value durations = {.type = DATABASE_NULL};
	struct duration_bin list[DURATION_BUCKETS];
	uint8_t bytes[DURATION_LIST_BYTES_MAX];

	if (kind == STORE_TOTALS_SAMPLES)
		return RUN(set, ADD_SAMPLE, NUMBER(key->process_id), NUMBER(key->tid),
			   NUMBER(key->kind), NUMBER(key->stack_id), NUMBER(key->name_id),
			   AMOUNT(row->count), AMOUNT(row->ns));
	const uint32_t nr = fold_row_list(row, list);
	if (row->near_first == FOLD_NEAR_DAMAGED || (nr && row->count <= INT64_MAX))
		durations = database_bytes(bytes, duration_list_encode(list, nr, bytes));
	return RUN(set, ADD_TOTAL, NUMBER(key->process_id), NUMBER(key->device_id),
		   NUMBER(key->context_id), NUMBER(key->stream_id), NUMBER(key->tid),
		   NUMBER(key->stack_id), NUMBER(key->capture_stack_id), NUMBER(key->name_id),
		   NUMBER(key->kind), NUMBER(key->copy_kind), NUMBER(key->matched),
		   AMOUNT(row->count), AMOUNT(row->ns), AMOUNT(row->bytes), durations);
}

static int add_rows(struct statement_set *set, enum store_totals_kind kind,
		    const struct fold_table *table)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(table, &nr_rows);
	int error = 0;

	for (uint32_t i = 0; i < nr_rows && !error; i++)
		error = add_row(set, kind, &rows[i]);
	return error;
}

/* The rows are of one process. */
static int put_block(struct statement_set *set, struct block_code *code,
		     enum store_totals_kind kind, const struct fold_row *rows, uint32_t nr_rows)
{
	int error = kind == STORE_TOTALS_GPU ? block_code_totals(code, rows, nr_rows)
					     : block_code_sums(code, rows, nr_rows);

	return error ? error
		     : RUN(set, PUT_BLOCK, NUMBER(rows->key.process_id), NUMBER((uint32_t)kind),
			   NUMBER(nr_rows), database_bytes(code->bytes, code->size));
}

/* Sorts the rows' places by process, in their order; ends[process] is where the process's places end. Both arrays are
 * the caller's (free()). *nr_ends: the highest process id + 1. 0 or -ENOMEM. */
static int group(const struct fold_row *rows, uint32_t nr_rows, uint32_t **places, uint32_t **ends,
		 uint32_t *nr_ends)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < nr_rows; i++)
		last = rows[i].key.process_id > last ? rows[i].key.process_id : last;
	*nr_ends = last + 1;
	*ends = calloc(last + 2ull, sizeof(**ends));
	*places = malloc((nr_rows + 1ull) * sizeof(**places));
	if (!*ends || !*places)
		return -ENOMEM;
	/* First each process's count stands behind its place; the sums are where the processes begin. */
	for (uint32_t i = 0; i < nr_rows; i++)
		(*ends)[rows[i].key.process_id + 1]++;
	for (uint32_t process = 1; process <= last; process++)
		(*ends)[process] += (*ends)[process - 1];
	for (uint32_t i = 0; i < nr_rows; i++)
		(*places)[(*ends)[rows[i].key.process_id]++] = i;
	return 0;
}

/* The rows of one process, side by side. */
struct gathered {
	struct fold_row *rows; /* owns */
	uint32_t room;
};

static int gather(struct gathered *gathered, const struct fold_row *rows, const uint32_t *places,
		  uint32_t count)
{
	int error = array_reserve(&gathered->rows, &gathered->room, count, sizeof(*rows));

	for (uint32_t i = 0; i < count && !error; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(&rows[places[i + AHEAD]]);
		gathered->rows[i] = rows[places[i]];
	}
	return error;
}

int store_totals_append(struct statement_set *set, struct block_code *code,
			enum store_totals_kind kind, const struct fold_row *rows, uint32_t nr_rows)
{
	uint32_t nr_ends, begin = 0, *ends, *places;
	struct gathered gathered = {0};
	int error = group(rows, nr_rows, &places, &ends, &nr_ends);

	for (uint32_t process = 0; !error && process < nr_ends; process++) {
		uint32_t count = ends[process] - begin;

		if (count)
			error = gather(&gathered, rows, places + begin, count);
		if (count && !error)
			error = put_block(set, code, kind, gathered.rows, count);
		begin = ends[process];
	}
	free(gathered.rows);
	free(places);
	free(ends);
	return error;
}

/* ---- reading */

struct reading {
	enum store_totals_kind kind;
	struct fold_table *table;
};

int store_totals_decode(enum store_totals_kind kind, const struct store_totals_block *block,
			struct fold_row **rows)
{
	int error;

	*rows = NULL;
	/* Each row takes more than a byte, so a damaged count cannot cause a large allocation. */
	if (block->count > block->size)
		return -EPROTO;
	*rows = malloc((block->count + 1ull) * sizeof(**rows));
	if (!*rows)
		return -ENOMEM;
	error = kind == STORE_TOTALS_GPU
			? block_decode_totals(block->bytes, block->size, *rows, block->count)
			: block_decode_sums(block->bytes, block->size, *rows, block->count);
	for (uint32_t i = 0; i < block->count && !error; i++) {
		(*rows)[i].key.process_id = block->process;
		if (kind != STORE_TOTALS_SAMPLES)
			continue;
		(*rows)[i].near_first = FOLD_NEAR_NONE;
		if ((*rows)[i].key.kind >= HOST_SAMPLE_KINDS)
			error = -EPROTO;
	}
	return error && error != -ENOMEM ? -EPROTO : error;
}

void store_totals_free(const struct store_totals_block *block, struct fold_row *rows)
{
	for (uint32_t i = 0; rows && i < block->count; i++)
		fold_row_fini(&rows[i]);
	free(rows);
}

static int add_block(void *context, const struct store_totals_block *block)
{
	const struct reading *reading = context;
	struct fold_row *rows;
	int error = store_totals_decode(reading->kind, block, &rows);

	for (uint32_t i = 0; i < block->count && !error; i++)
		error = fold_table_join(reading->table, &rows[i]);
	store_totals_free(block, rows);
	return error;
}

/* Who takes blocks. */
struct taker {
	int (*take)(void *context, const struct store_totals_block *block);
	void *context;
};

/* Takes a row of total_blocks: process, count, data. */
static int take_block(struct statement *row, void *context)
{
	const struct taker *taker = context;
	struct store_totals_block block = {.process = statement_number32(row, 0),
					   .count = statement_number32(row, 1)};

	block.bytes = statement_bytes(row, 2, &block.size);
	return taker->take(taker->context, &block);
}

/* Adds a row whose sums begin at a column. Writers let sums stick at INT64_MAX (AMOUNT): none is negative. A total has
 * its bytes and its histogram, too. */
static int add_sums(const struct reading *reading, const struct fold_key *key,
		    struct statement *row, uint32_t column, bool is_total)
{
	struct fold_row sums = {
		.key = *key,
		.count = statement_number(row, column),
		.ns = statement_number(row, column + 1),
		.bytes = is_total ? statement_number(row, column + 2) : 0,
		.near_first = FOLD_NEAR_NONE,
	};
	struct duration_bin list[DURATION_BUCKETS];
	int error = 0;

	if (sums.count > INT64_MAX || sums.ns > INT64_MAX || sums.bytes > INT64_MAX)
		return -EPROTO;
	if (is_total && !statement_null(row, column + 3)) {
		uint32_t size, nr;
		const uint8_t *bytes = statement_bytes(row, column + 3, &size);

		duration_list_decode(bytes, size, sums.count, sums.ns, list, &nr);
		error = fold_row_set(&sums, list, nr);
	}
	if (!error)
		error = fold_table_join(reading->table, &sums);
	fold_row_fini(&sums);
	return error;
}

static int take_total(struct statement *row, void *context)
{
	const struct reading *reading = context;
	const struct fold_key key = {
		.process_id = statement_number32(row, 0),
		.device_id = statement_number32(row, 1),
		.context_id = statement_number32(row, 2),
		.stream_id = statement_number32(row, 3),
		.tid = statement_number32(row, 4),
		.stack_id = statement_number32(row, 5),
		.capture_stack_id = statement_number32(row, 6),
		.name_id = statement_number32(row, 7),
		.kind = (uint8_t)statement_number32(row, 8),
		.copy_kind = (uint8_t)statement_number32(row, 9),
		.matched = (uint8_t)statement_number32(row, 10),
	};

	return add_sums(reading, &key, row, 11, true);
}

static int take_sample(struct statement *row, void *context)
{
	const struct reading *reading = context;
	const struct fold_key key = {
		.process_id = statement_number32(row, 0),
		.tid = statement_number32(row, 1),
		.kind = (uint8_t)statement_number32(row, 2),
		.stack_id = statement_number32(row, 3),
		.name_id = statement_number32(row, 4),
	};

	if (statement_number32(row, 2) >= HOST_SAMPLE_KINDS)
		return -EPROTO;
	return add_sums(reading, &key, row, 5, false);
}

int store_totals_read_rows(struct database *database, enum store_totals_kind kind,
			   struct fold_table *table)
{
	struct reading reading = {kind, table};

	return kind == STORE_TOTALS_GPU
		       ? database_rows(database, "SELECT * FROM totals", take_total, &reading)
		       : database_rows(database, "SELECT * FROM host_samples", take_sample,
				       &reading);
}

int store_totals_blocks(struct database *database, enum store_totals_kind kind,
			int (*take)(void *context, const struct store_totals_block *block),
			void *context)
{
	struct taker taker = {take, context};
	char sql[SQL_MAX];

	snprintf(sql, sizeof(sql),
		 "SELECT process, count, data FROM total_blocks WHERE kind = %d"
		 " ORDER BY process, kind, block",
		 (int)kind);
	return database_rows(database, sql, take_block, &taker);
}

int store_totals_read(struct database *database, enum store_totals_kind kind,
		      struct fold_table *table)
{
	struct reading reading = {kind, table};
	int error = store_totals_read_rows(database, kind, table);

	return error ? error : store_totals_blocks(database, kind, add_block, &reading);
}

/* ---- blocks become one, or rows */

struct processes {
	uint32_t *ids; /* owns */
	uint32_t count, room;
};

static int take_process(struct statement *row, void *context)
{
	struct processes *processes = context;

	if (array_reserve(&processes->ids, &processes->room, processes->count + 1,
			  sizeof(*processes->ids)))
		return -ENOMEM;
	processes->ids[processes->count++] = statement_number32(row, 0);
	return 0;
}

static int clear_blocks(struct statement_set *set, enum store_totals_kind kind, uint32_t process)
{
	return RUN(set, CLEAR_BLOCKS, NUMBER(process), NUMBER((uint32_t)kind));
}

static int join_blocks_of(struct statement_set *set, struct database *database,
			  struct block_code *code, enum store_totals_kind kind, uint32_t process)
{
	struct reading reading = {kind, fold_table_create()};
	struct taker taker = {add_block, &reading};
	char sql[SQL_MAX];
	uint32_t nr_rows;
	int error = reading.table ? 0 : -ENOMEM;

	snprintf(sql, sizeof(sql),
		 "SELECT process, count, data FROM total_blocks WHERE process = %" PRIu32
		 " AND kind = %d ORDER BY block",
		 process, (int)kind);
	if (!error)
		error = database_rows(database, sql, take_block, &taker);
	if (!error)
		error = clear_blocks(set, kind, process);
	if (!error) {
		const struct fold_row *rows = fold_table_rows(reading.table, &nr_rows);

		error = put_block(set, code, kind, rows, nr_rows);
	}
	fold_table_destroy(reading.table);
	return error;
}

int store_totals_join(struct statement_set *set, struct database *database, struct block_code *code,
		      enum store_totals_kind kind, uint32_t nr_blocks)
{
	struct processes many = {0};
	char sql[SQL_MAX];

	snprintf(sql, sizeof(sql),
		 "SELECT process FROM total_blocks WHERE kind = %d AND block = %u", (int)kind,
		 nr_blocks - 1);
	int error = database_rows(database, sql, take_process, &many);
	for (uint32_t i = 0; i < many.count && !error; i++)
		error = join_blocks_of(set, database, code, kind, many.ids[i]);
	free(many.ids);
	return error;
}

int store_totals_write(struct statement_set *set, struct database *database,
		       struct block_code *code, enum store_totals_kind kind,
		       const struct fold_table *table, bool as_blocks)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(table, &nr_rows);

	if (nr_rows < STORE_TOTALS_BLOCK_ROWS && !as_blocks)
		return add_rows(set, kind, table);
	int error = store_totals_append(set, code, kind, rows, nr_rows);
	return error ? error
		     : store_totals_join(set, database, code, kind, STORE_TOTALS_BLOCKS_MAX);
}

static int spread(struct statement_set *set, struct database *database, enum store_totals_kind kind)
{
	struct reading reading = {kind, fold_table_create()};
	char sql[SQL_MAX];
	int error =
		reading.table ? store_totals_blocks(database, kind, add_block, &reading) : -ENOMEM;

	if (!error)
		error = add_rows(set, kind, reading.table);
	fold_table_destroy(reading.table);
	snprintf(sql, sizeof(sql), "DELETE FROM total_blocks WHERE kind = %d", (int)kind);
	return error ? error : database_execute(database, sql);
}

int store_totals_spread(struct statement_set *set, struct database *database, int64_t most)
{
	int64_t nr_rows;
	int error = database_query_number(
		database,
		"SELECT CASE WHEN EXISTS (SELECT 1 FROM total_blocks) THEN (SELECT count(*) FROM"
		" totals) + (SELECT count(*) FROM host_samples) + (SELECT sum(count) FROM"
		" total_blocks) ELSE 0 END",
		&nr_rows);

	if (error || nr_rows == 0 || nr_rows > most)
		return error;
	for (enum store_totals_kind kind = 0; kind < STORE_TOTALS_KINDS && !error; kind++)
		error = spread(set, database, kind);
	return error;
}
