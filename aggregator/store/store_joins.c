#include "store_joins.h"

#include <errno.h>
#include <stdbool.h>

#include "statement_set.h"
#include "store_table.h"

enum command { ADD_KERNEL, TELL_CALLS, ASK, PUT_COUNT, COUNT_DROPPED, DROP, DROP_ALL, COMMANDS };

/* SQLite uses the index collectives_waiting only for these terms. */
#define WAITS "process = ?1 AND correlation_id = ?2 AND gpu_ns IS NULL AND correlation_id != 0"

const char *const store_joins_commands[] = {
	[ADD_KERNEL] = "REPLACE INTO collective_kernels VALUES (?1,?2,?3,?4,?5,?6,?7,"
		       "EXISTS (SELECT 1 FROM collectives WHERE " WAITS "),?8,?9,?10,?11,?12)",
	[TELL_CALLS] = "UPDATE collectives SET gpu_start_ns = ?4, gpu_ns = ?5, device_id = ?6,"
		       " gpu_clock_offset_ns = ?7, gpu_context = ?8, gpu_stream = ?9,"
		       " gpu_tid = ?10, gpu_node = ?11, gpu_name = ?12 WHERE " WAITS " AND ?3 > 0",
	[ASK] = "UPDATE collective_kernels SET asked = 1 WHERE process = ?1 AND correlation_id = "
		"?2",
	[PUT_COUNT] = "INSERT INTO collective_joins VALUES (?1,?2,0)"
		      " ON CONFLICT DO UPDATE SET kernels = excluded.kernels",
	[COUNT_DROPPED] = "UPDATE collective_joins SET dropped = dropped + (SELECT count(*)"
			  " FROM collective_kernels WHERE process = ?1 AND position <= ?2"
			  " AND asked = 0) WHERE process = ?1",
	[DROP] = "DELETE FROM collective_kernels WHERE process = ?1 AND position <= ?2",
	[DROP_ALL] = "DELETE FROM collective_kernels WHERE process = ?1",
	[COMMANDS] = NULL,
};

static int write_kernel(struct statement_set *set, enum command command,
			const struct collective_log_kernel *kernel)
{
	const struct database_value none = {.type = DATABASE_NULL};
	const struct collective_gpu *gpu = &kernel->gpu;

	return RUN(set, command, NUMBER(kernel->process), NUMBER(kernel->correlation_id),
		   NUMBER(kernel->position), NUMBER(gpu->start_ns), NUMBER(gpu->ns),
		   NUMBER(gpu->device_id),
		   gpu->clock_known ? database_signed(gpu->clock_offset_ns) : none,
		   gpu->total_known ? NUMBER(gpu->context_id) : none, NUMBER(gpu->stream_id),
		   NUMBER(gpu->tid), NUMBER(gpu->node), NUMBER(gpu->name));
}

int store_joins_kernels(struct statement_set *set, const struct collective_log *log)
{
	uint32_t count;
	const struct collective_log_kernel *kernels = collective_log_kernels(log, &count);
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		error = write_kernel(set, ADD_KERNEL, &kernels[i]);
		if (!error)
			error = write_kernel(set, TELL_CALLS, &kernels[i]);
	}
	return error;
}

int store_joins_asked(struct statement_set *set, uint32_t process, uint32_t correlation_id)
{
	return correlation_id ? RUN(set, ASK, NUMBER(process), NUMBER(correlation_id)) : 0;
}

/* Runs once in a chunk, because it reads all kernels that wait. */
static int drop_oldest(struct statement_set *set, uint32_t process,
		       const struct collective_log_joins *state)
{
	uint64_t last = state->kernels > STORE_JOINS_ROOM ? state->kernels - STORE_JOINS_ROOM : 0;

	if (!last || state->kernels / STORE_JOINS_CHUNK == state->saved / STORE_JOINS_CHUNK)
		return 0;
	int error = RUN(set, COUNT_DROPPED, NUMBER(process), NUMBER(last));
	return error ? error : RUN(set, DROP, NUMBER(process), NUMBER(last));
}

int store_joins_end(struct statement_set *set, const struct collective_log *log)
{
	const struct collective_log_joins *state;
	int error = 0;

	for (uint32_t process = 1; (state = collective_log_joins(log, process)) && !error;
	     process++) {
		if (state->kernels != state->saved)
			error = RUN(set, PUT_COUNT, NUMBER(process), NUMBER(state->kernels));
		if (!error && state->kernels != state->saved)
			error = drop_oldest(set, process, state);
		if (!error && state->ended && state->kernels)
			error = RUN(set, DROP_ALL, NUMBER(process));
	}
	return error;
}

/* false: the roster has no such process. */
static bool has_process(const struct collection *collection, struct statement *row)
{
	return statement_number(row, 0) <= UINT32_MAX &&
	       roster_process(collection->roster, statement_number32(row, 0));
}

static int take_count(struct collection *collection, struct statement *row)
{
	if (!has_process(collection, row))
		return -EPROTO;
	return collective_log_load_kernels(collection->collectives, statement_number32(row, 0),
					   statement_number(row, 1));
}

static int take_waiting(struct collection *collection, struct statement *row)
{
	if (!has_process(collection, row))
		return -EPROTO;
	return collective_log_ask(collection->collectives, statement_number32(row, 0),
				  statement_number32(row, 1));
}

int store_joins_load(struct database *database, struct collection *collection)
{
	static const struct store_table tables[] = {
		{"SELECT process, kernels FROM collective_joins", take_count},
		{"SELECT process, correlation_id FROM collectives"
		 " WHERE gpu_ns IS NULL AND correlation_id != 0 ORDER BY id",
		 take_waiting},
	};

	return store_table_load(database, collection, tables, sizeof(tables) / sizeof(tables[0]));
}

static int take_dropped(struct statement *row, void *context)
{
	struct roster_process *process = roster_process(context, statement_number32(row, 0));

	return process ? roster_process_count(process, LEDGER_KERNEL_UNJOINED,
					      statement_number(row, 1))
		       : -EPROTO;
}

int store_joins_count(struct database *database, struct roster *roster)
{
	return database_rows(database,
			     "SELECT process, dropped FROM collective_joins WHERE dropped > 0"
			     " AND process IN (SELECT process FROM communicators)",
			     take_dropped, roster);
}
