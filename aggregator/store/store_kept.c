#include "store_kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "block_code.h"
#include "statement_set.h"
#include "store_table.h"

#include "aggregator/profile/roster.h"
#include "base/array.h"

#define BLOCK_IS_OLD 1           /* no error: the blocks before it are older still */
#define BLOCK_NS     4000000000u /* the blocks of a commit are not in the order of their times */

enum command { PUT_BLOCK, PUT_LEVEL, DROP_BLOCKS, DROP_OLD, COMMANDS };

const char *const store_kept_commands[] = {
	[PUT_BLOCK] = "INSERT INTO sample_blocks VALUES (?,?,?,?,?,?)",
	[PUT_LEVEL] = "REPLACE INTO sample_levels VALUES (?,?,?)",
	[DROP_BLOCKS] = "DELETE FROM sample_blocks WHERE process = ? AND sort = ? AND level < ?",
	[DROP_OLD] = "DELETE FROM sample_blocks WHERE process = ? AND sort = ? AND block < ?",
	[COMMANDS] = NULL,
};

/* ---- writing */

static uint32_t take_level(const struct kept_list *list, uint32_t level, struct host_sample *taken)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < list->nr_recent; i++)
		if (list->recent[i].level == level)
			taken[count++] = list->recent[i].sample;
	return count;
}

/* Writes a block for each level. */
static int write_recent(struct statement_set *set, struct block_code *code, enum kept_sort sort,
			uint32_t process, const struct kept_list *list)
{
	struct host_sample *taken = malloc((list->nr_recent + 1ul) * sizeof(*taken));
	uint32_t block = list->nr_blocks, levels = kept_list_levels(list);
	int error = taken ? 0 : -ENOMEM;

	for (; levels && !error; levels &= levels - 1) {
		uint32_t level = (uint32_t)__builtin_ctz(levels);
		uint32_t count = take_level(list, level, taken);

		error = block_code_samples(code, taken, count);
		if (!error)
			error = RUN(set, PUT_BLOCK, NUMBER(process), NUMBER(sort), NUMBER(block++),
				    NUMBER(level), NUMBER(count),
				    database_bytes(code->bytes, code->size));
	}
	free(taken);
	return error;
}

static int write_list(struct statement_set *set, struct block_code *code, enum kept_sort sort,
		      uint32_t process, const struct kept_list *list)
{
	int error = 0;

	if (list->raised)
		error = RUN(set, PUT_LEVEL, NUMBER(process), NUMBER(sort), NUMBER(list->level));
	if (list->raised && !error)
		error = RUN(set, DROP_BLOCKS, NUMBER(process), NUMBER(sort), NUMBER(list->level));
	return error || list->nr_recent == 0 ? error : write_recent(set, code, sort, process, list);
}

static int write_newest(struct statement_set *set, struct block_code *code, uint32_t process,
			const struct kept_newest *newest)
{
	int error = 0;

	if (newest->raised)
		error = RUN(set, PUT_LEVEL, NUMBER(process), NUMBER(KEPT_NEWEST),
			    NUMBER(newest->level));
	if (newest->dropped && !error)
		error = RUN(set, DROP_OLD, NUMBER(process), NUMBER(KEPT_NEWEST),
			    NUMBER(newest->first_block));
	if (error || !newest->nr_recent)
		return error;
	error = block_code_samples(code, newest->recent, newest->nr_recent);
	return error ? error
		     : RUN(set, PUT_BLOCK, NUMBER(process), NUMBER(KEPT_NEWEST),
			   NUMBER(newest->nr_blocks), NUMBER(newest->level),
			   NUMBER(newest->nr_recent), database_bytes(code->bytes, code->size));
}

int store_kept_write(struct statement_set *set, struct block_code *code, const struct kept_log *log)
{
	uint32_t count;
	int error = 0;

	for (int sort = 0; sort < KEPT_LISTS; sort++) {
		const struct kept_list *lists = kept_log_lists(log, sort, &count);

		for (uint32_t i = 0; i < count && !error; i++)
			error = write_list(set, code, sort, i + 1, &lists[i]);
	}
	struct kept_newest *const *newest = kept_log_newest(log, &count);

	for (uint32_t i = 0; i < count && !error; i++)
		if (newest[i])
			error = write_newest(set, code, i + 1, newest[i]);
	return error;
}

/* ---- reading */

static int take_process_level(struct collection *collection, struct statement *row)
{
	uint32_t process = statement_number32(row, 0);
	uint64_t sort = statement_number(row, 1), level = statement_number(row, 2);

	if (!roster_process(collection->roster, process) || sort >= KEPT_SORTS ||
	    level >= KEPT_WINDOW_LEVELS)
		return -EPROTO;
	return kept_log_load_level(collection->kept, (enum kept_sort)sort, process,
				   (uint32_t)level);
}

/* columns: process, sort, level, pieces, the last block's index */
static int take_level_sums(struct collection *collection, struct statement *row)
{
	uint32_t process = statement_number32(row, 0);
	uint64_t sort = statement_number(row, 1), level = statement_number(row, 2);
	uint64_t last = statement_number(row, 4);

	if (!roster_process(collection->roster, process) || sort >= KEPT_SORTS ||
	    level >= KEPT_WINDOW_LEVELS || last >= UINT32_MAX)
		return -EPROTO;
	return kept_log_load(collection->kept, (enum kept_sort)sort, process, (uint32_t)level,
			     (uint32_t)last + 1, statement_number(row, 3));
}

int store_kept_load_levels(struct database *database, struct collection *collection)
{
	static const struct store_table table = {"SELECT * FROM sample_levels", take_process_level};

	return store_table_load(database, collection, &table, 1);
}

int store_kept_load(struct database *database, struct collection *collection)
{
	static const struct store_table table = {
		"SELECT process, sort, level, sum(count), max(block) FROM sample_blocks"
		" GROUP BY process, sort, level",
		take_level_sums};

	return store_table_load(database, collection, &table, 1);
}

/* The pieces of the blocks that were read so far. */
struct list {
	struct host_sample *pieces;
	uint32_t count, room;
	enum kept_sort sort;
	bool is_newest;
	/* if it is: up to since_ns or, if that is 0, up to window_ns before the newest piece */
	uint64_t since_ns, window_ns, newest_ns;
};

static bool is_possible(const struct host_sample *piece, enum kept_sort sort)
{
	return sort == KEPT_HOST ? piece->kind <= HOST_SAMPLE_OFF_CPU
				 : kept_kind_work(piece->kind) <= RECORD_GPU_GRAPH &&
					   piece->duration_ns <= piece->time_ns;
}

/* Each piece takes at least one byte per field, so a count that the bytes cannot hold is refused. */
static int take_block(struct statement *row, void *context)
{
	struct list *list = context;
	uint32_t count = statement_number32(row, 0), size;
	const uint8_t *bytes = statement_bytes(row, 1, &size);

	if (count > size || count > UINT32_MAX / 4 - list->count)
		return -EPROTO;
	int error = array_reserve(&list->pieces, &list->room, list->count + count,
				  sizeof(*list->pieces));
	if (error)
		return error;
	struct host_sample *pieces = list->pieces + list->count;
	if (block_decode_samples(bytes, size, pieces, count))
		return -EPROTO;
	for (uint32_t i = 0; i < count; i++)
		if (!is_possible(&pieces[i], list->sort))
			return -EPROTO;
	list->count += count;
	return 0;
}

static bool is_old(const struct list *list, uint64_t ns)
{
	return list->since_ns ? ns < list->since_ns && list->since_ns - ns > BLOCK_NS
			      : list->newest_ns - ns > list->window_ns + BLOCK_NS;
}

/* Returns BLOCK_IS_OLD once the newest piece of a block lies before the time that is read. */
static int take_newest_block(struct statement *row, void *context)
{
	struct list *list = context;
	const uint32_t before = list->count;
	uint64_t newest_ns = 0;
	int error = take_block(row, context);

	for (uint32_t i = before; i < list->count && !error; i++)
		if (list->pieces[i].time_ns > newest_ns)
			newest_ns = list->pieces[i].time_ns;
	if (newest_ns > list->newest_ns)
		list->newest_ns = newest_ns;
	return !error && is_old(list, newest_ns) ? BLOCK_IS_OLD : error;
}

static int read_blocks(struct database *database, uint32_t process, struct list *list,
		       struct host_sample **pieces, uint32_t *count)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "SELECT count, data FROM sample_blocks WHERE process = %" PRIu32
		 " AND sort = %d ORDER BY block%s",
		 process, (int)list->sort, list->is_newest ? " DESC" : "");
	int error = database_rows(database, text, list->is_newest ? take_newest_block : take_block,
				  list);
	if (error == BLOCK_IS_OLD)
		error = 0;
	if (error)
		free(list->pieces);
	*pieces = error ? NULL : list->pieces;
	*count = error ? 0 : list->count;
	return error;
}

int store_kept_read(struct database *database, enum kept_sort sort, uint32_t process,
		    struct host_sample **pieces, uint32_t *count)
{
	struct list list = {.sort = sort};

	return read_blocks(database, process, &list, pieces, count);
}

int store_kept_read_newest(struct database *database, enum kept_sort sort, uint32_t process,
			   uint64_t window_ns, struct host_sample **pieces, uint32_t *count)
{
	struct list list = {.sort = sort, .is_newest = window_ns != 0, .window_ns = window_ns};

	return read_blocks(database, process, &list, pieces, count);
}

int store_kept_read_since(struct database *database, enum kept_sort sort, uint32_t process,
			  uint64_t since_ns, struct host_sample **pieces, uint32_t *count)
{
	struct list list = {.sort = sort, .is_newest = true, .since_ns = since_ns};

	return read_blocks(database, process, &list, pieces, count);
}
