#include "store_collectives.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "statement_set.h"
#include "store_joins.h"
#include "store_table.h"

#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "proto/batch/message.h"

enum command { PUT_COMMUNICATOR, ADD_CALL, COMMANDS };

const char *const store_collectives_commands[] = {
	[PUT_COMMUNICATOR] = "REPLACE INTO communicators VALUES (?,?,?,?,?,?,?,?,?)",
	[ADD_CALL] = "INSERT INTO collectives VALUES"
		     " (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[COMMANDS] = NULL,
};

static int write_communicator(struct statement_set *set,
			      const struct collective_log_communicator *entry)
{
	const struct communicator *communicator = &entry->communicator;

	return RUN(set, PUT_COMMUNICATOR, NUMBER(entry->process),
		   NUMBER(communicator->communicator_id), NUMBER(communicator->key),
		   NUMBER(communicator->parent_key),
		   database_unless(communicator->rank, COLLECTIVE_NOT_KNOWN),
		   database_unless(communicator->nr_ranks, COLLECTIVE_NOT_KNOWN),
		   database_signed(communicator->color), NUMBER(communicator->split),
		   NUMBER(communicator->origin));
}

int store_collectives_write_communicators(struct statement_set *set,
					  const struct collective_log *log)
{
	uint32_t count;
	const struct collective_log_communicator *communicators =
		collective_log_communicators(log, &count);
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++)
		error = write_communicator(set, &communicators[i]);
	return error;
}

static int write_call(struct statement_set *set, const struct collective_log_call *entry)
{
	const struct database_value none = {.type = DATABASE_NULL};
	const struct collective *call = &entry->call;
	const struct collective_gpu *gpu = &entry->gpu;

	return RUN(set, ADD_CALL, entry->row ? NUMBER(entry->row) : none, NUMBER(entry->process),
		   NUMBER(call->communicator_id), NUMBER(call->tid), NUMBER(call->stack_id),
		   NUMBER(call->function), NUMBER(call->data_type), NUMBER(call->reduce_op),
		   NUMBER(call->sequence), NUMBER(call->function_sequence), NUMBER(call->count),
		   NUMBER(call->bytes), database_unless(call->peer, COLLECTIVE_NOT_KNOWN),
		   NUMBER(call->group), NUMBER(call->stream), database_signed(call->result),
		   NUMBER(call->start_ns), NUMBER(call->duration_ns), NUMBER(call->correlation_id),
		   gpu->known ? NUMBER(gpu->start_ns) : none, gpu->known ? NUMBER(gpu->ns) : none,
		   gpu->known ? NUMBER(gpu->device_id) : none,
		   gpu->clock_known ? database_signed(gpu->clock_offset_ns) : none,
		   NUMBER(entry->folded), AMOUNT(entry->waited_ns),
		   gpu->total_known ? NUMBER(gpu->context_id) : none,
		   gpu->known ? NUMBER(gpu->stream_id) : none, gpu->known ? NUMBER(gpu->tid) : none,
		   gpu->known ? NUMBER(gpu->node) : none, gpu->known ? NUMBER(gpu->name) : none);
}

int store_collectives_write_calls(struct statement_set *set,
				  const struct collective_log_call *calls, uint32_t nr_calls)
{
	int error = 0;

	for (uint32_t i = 0; i < nr_calls && !error; i++)
		error = write_call(set, &calls[i]);
	return error;
}

/* ---- reading */

static uint32_t known32(struct statement *row, uint32_t column)
{
	return statement_null(row, column) ? COLLECTIVE_NOT_KNOWN : statement_number32(row, column);
}

/* columns: process, communicators, the last one's id */
static int take_count(struct collection *collection, struct statement *row)
{
	uint32_t process = statement_number32(row, 0), count = statement_number32(row, 1);

	if (!roster_process(collection->roster, process) || statement_number32(row, 2) != count ||
	    count > COLLECTIVE_COMMUNICATORS_MAX)
		return -EPROTO;
	return collective_log_load(collection->collectives, process, count);
}

int store_collectives_load(struct database *database, struct collection *collection)
{
	static const struct store_table table = {"SELECT process, count(*), max(communicator)"
						 " FROM communicators GROUP BY process",
						 take_count};
	int error = store_table_load(database, collection, &table, 1);

	return error ? error : store_joins_load(database, collection);
}

static int take_communicator(struct statement *row, void *log)
{
	const struct communicator communicator = {
		.communicator_id = statement_number32(row, 1),
		.key = statement_number(row, 2),
		.parent_key = statement_number(row, 3),
		.rank = known32(row, 4),
		.nr_ranks = known32(row, 5),
		.color = (int32_t)statement_signed(row, 6),
		.split = statement_number32(row, 7),
		.origin = (uint8_t)statement_number32(row, 8),
	};
	uint32_t process = statement_number32(row, 0);

	if (process == 0 || process > WIRE_ID_MAX || communicator.communicator_id == 0 ||
	    communicator.communicator_id > collective_log_defined(log, process) + 1 ||
	    statement_number32(row, 8) >= COMMUNICATOR_ORIGINS)
		return -EPROTO;
	return collective_log_put(log, process, &communicator);
}

static int take_call(struct statement *row, void *log)
{
	struct collective_log_call entry = {
		.process = statement_number32(row, 1),
		.row = statement_number(row, 0),
		.folded = statement_number32(row, 23),
		.waited_ns = statement_number(row, 24),
	};
	entry.call = (struct collective){
		.communicator_id = statement_number32(row, 2),
		.tid = statement_number32(row, 3),
		.stack_id = statement_number32(row, 4),
		.function = (uint8_t)statement_number32(row, 5),
		.data_type = (uint8_t)statement_number32(row, 6),
		.reduce_op = (uint8_t)statement_number32(row, 7),
		.sequence = statement_number(row, 8),
		.function_sequence = statement_number(row, 9),
		.count = statement_number(row, 10),
		.bytes = statement_number(row, 11),
		.peer = known32(row, 12),
		.group = statement_number(row, 13),
		.stream = statement_number(row, 14),
		.result = (int32_t)statement_signed(row, 15),
		.start_ns = statement_number(row, 16),
		.duration_ns = statement_number(row, 17),
		.correlation_id = statement_number32(row, 18),
	};
	entry.gpu = (struct collective_gpu){
		.known = !statement_null(row, 20),
		.start_ns = statement_number(row, 19),
		.ns = statement_number(row, 20),
		.device_id = statement_number32(row, 21),
		.clock_known = !statement_null(row, 22),
		.clock_offset_ns = statement_signed(row, 22),
		.total_known = !statement_null(row, 25),
		.context_id = statement_number32(row, 25),
		.stream_id = statement_number32(row, 26),
		.tid = statement_number32(row, 27),
		.node = statement_number32(row, 28),
		.name = statement_number32(row, 29),
	};
	if (entry.process == 0 || entry.process > WIRE_ID_MAX ||
	    entry.call.communicator_id > collective_log_defined(log, entry.process) ||
	    statement_number32(row, 5) >= COLLECTIVE_FUNCTIONS)
		return -EPROTO;
	return collective_log_load_call(log, &entry);
}

#define NOT_FOLDED "FROM collectives WHERE folded = 0"
#define ENDS       "SELECT process, communicator, max(sequence) AS last " NOT_FOLDED " GROUP BY 1, 2"

/* Writes the query of calls that are not folded. */
static int select_waiting(struct database *database, uint32_t most, char *sql, size_t size)
{
	int64_t rows, ends;
	int error = database_query_number(database, "SELECT count(*) " NOT_FOLDED, &rows);

	snprintf(sql, size, "SELECT * " NOT_FOLDED " ORDER BY id");
	if (error || rows <= most)
		return error;
	error = database_query_number(database, "SELECT count(*) FROM (" ENDS ")", &ends);
	if (!error)
		snprintf(sql, size,
			 "SELECT c.* FROM collectives c JOIN (" ENDS ") e"
			 " ON c.process = e.process AND c.communicator = e.communicator"
			 " WHERE c.folded = 0 AND c.sequence > e.last - %" PRId64 " ORDER BY c.id",
			 most / ends);
	return error;
}

static int read_communicators(struct database *database, struct collective_log *log)
{
	return database_rows(database, "SELECT * FROM communicators ORDER BY process, communicator",
			     take_communicator, log);
}

int store_collectives_read(struct database *database, struct collective_log *log, uint32_t most)
{
	char sql[512] = "SELECT * FROM collectives ORDER BY id";
	int error = read_communicators(database, log);

	if (!error && most)
		error = select_waiting(database, most, sql, sizeof(sql));
	return error ? error : database_rows(database, sql, take_call, log);
}

/* ---- the newest calls */

#define OF_PROCESS UINT32_MAX /* in place of a communicator: all of the process's calls */

struct end {
	uint32_t process, communicator_id;
};

/* A rank's end of a communicator, or a process. */
struct newest {
	struct end end;
	uint32_t count;     /* of its calls, so far */
	uint64_t newest_ns; /* the begin of the first one, which is the newest */
	uint64_t after_ns;  /* and of the last one that was counted before this one */
};

struct newest_calls {
	uint64_t window_ns;
	uint64_t first; /* the id of the first call that is needed */
	uint32_t least;
	struct newest *ends; /* owns */
	uint32_t nr_ends, room;
	struct hash_index index;
};

static bool is_end(const void *context, uint32_t id, const void *key)
{
	const struct newest_calls *calls = context;

	return memcmp(&calls->ends[id - 1].end, key, sizeof(struct end)) == 0;
}

/* Counts a call. NULL: out of memory. Borrowed until the next call. */
static struct newest *count_call(struct newest_calls *calls, uint32_t process,
				 uint32_t communicator_id, uint64_t start_ns)
{
	const struct end key = {process, communicator_id};
	const uint32_t hash = hash_index_hash(&key, sizeof(key));
	uint32_t id = hash_index_find(&calls->index, hash, is_end, calls, &key);

	if (!id) {
		if (array_reserve(&calls->ends, &calls->room, calls->nr_ends + 1ull,
				  sizeof(*calls->ends)) ||
		    hash_index_insert(&calls->index, hash, calls->nr_ends + 1))
			return NULL;
		id = ++calls->nr_ends;
		calls->ends[id - 1] =
			(struct newest){.end = key, .newest_ns = start_ns, .after_ns = start_ns};
	}
	calls->ends[id - 1].count++;
	return &calls->ends[id - 1];
}

/* Calls of a process come in the order in which it made them, and here the newest comes first. Few columns are read,
 * because most calls are too old. */
static int take_newest(struct statement *row, void *context)
{
	struct newest_calls *calls = context;
	const uint32_t process = statement_number32(row, 1);
	const uint64_t start_ns = statement_number(row, 3);
	struct newest *of = count_call(calls, process, OF_PROCESS, start_ns);

	if (!of)
		return -ENOMEM;
	const uint64_t newest_ns = of->newest_ns;
	of = count_call(calls, process, statement_number32(row, 2), start_ns);
	if (!of)
		return -ENOMEM;
	const bool in_window =
		of->after_ns > newest_ns || newest_ns - of->after_ns < calls->window_ns;
	if (in_window || of->count <= calls->least)
		calls->first = statement_number(row, 0);
	of->after_ns = start_ns;
	return 0;
}

int store_collectives_read_newest(struct database *database, struct collective_log *log,
				  uint64_t window_ns, uint32_t least)
{
	struct newest_calls calls = {.window_ns = window_ns, .least = least};
	char sql[128];
	int error = database_rows(database,
				  "SELECT id, process, communicator, start_ns FROM collectives"
				  " ORDER BY id DESC",
				  take_newest, &calls);

	free(calls.ends);
	hash_index_fini(&calls.index);
	if (!error)
		error = read_communicators(database, log);
	snprintf(sql, sizeof(sql), "SELECT * FROM collectives WHERE id >= %" PRIu64 " ORDER BY id",
		 calls.first);
	return error ? error : database_rows(database, sql, take_call, log);
}
