#include "store_joins.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "statement_set.h"
#include "store_table.h"

enum command {
	PUT_KERNEL,
	FIND_WAITING,
	TELL_CALLS,
	FIND,
	ASK,
	PUT_COUNT,
	COUNT_DROPPED,
	DROP,
	DROP_ALL,
	COMMANDS
};

/* SQLite uses the index collectives_waiting only for these terms. */
#define WAITS "gpu_ns IS NULL AND correlation_id != 0"

const char *const store_joins_commands[] = {
	[PUT_KERNEL] = "REPLACE INTO collective_kernels VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[FIND_WAITING] = "SELECT correlation_id FROM collectives"
			 " WHERE process = ? AND correlation_id BETWEEN ? AND ? AND " WAITS,
	[TELL_CALLS] = "UPDATE collectives SET gpu_start_ns = ?3, gpu_ns = ?4, device_id = ?5,"
		       " gpu_clock_offset_ns = ?6, gpu_context = ?7, gpu_stream = ?8,"
		       " gpu_tid = ?9, gpu_node = ?10, gpu_name = ?11"
		       " WHERE process = ?1 AND correlation_id = ?2 AND " WAITS,
	[FIND] = "SELECT start_ns, ns, device_id, clock_offset_ns, context, stream, kernel_tid,"
		 " kernel_node, name FROM collective_kernels"
		 " WHERE process = ? AND correlation_id = ?",
	[ASK] = "UPDATE collective_kernels SET asked = 1"
		" WHERE process = ? AND correlation_id = ? AND asked = 0",
	[PUT_COUNT] = "INSERT INTO collective_joins VALUES (?1,?2,0)"
		      " ON CONFLICT DO UPDATE SET kernels = excluded.kernels",
	[COUNT_DROPPED] = "UPDATE collective_joins SET dropped = dropped + (SELECT count(*)"
			  " FROM collective_kernels WHERE process = ?1 AND position <= ?2"
			  " AND asked = 0) WHERE process = ?1",
	[DROP] = "DELETE FROM collective_kernels WHERE process = ?1 AND position <= ?2",
	[DROP_ALL] = "DELETE FROM collective_kernels WHERE process = ?1",
	[COMMANDS] = NULL,
};

/* Where a kernel or a call is in its array, to sort by what the two are joined on. */
struct place {
	uint64_t key; /* the process, then the correlation id */
	uint32_t index;
	bool told;  /* a kernel of this key: calls in the store wait for it */
	bool asked; /* a kernel: a call has asked for it */
};

struct joining {
	struct statement_set *set;
	const struct collective_log *log;
	const struct collective_log_kernel *kernels;
	struct collective_log_call *calls;
	struct place *of_kernels, *of_calls; /* own; sorted. Calls without a launch have none */
	uint32_t nr_kernels, nr_calls;
};

static uint64_t key_of(uint32_t process, uint32_t correlation_id)
{
	return (uint64_t)process << 32 | correlation_id;
}

static int by_key(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int sort(struct joining *joining, uint32_t nr_calls)
{
	joining->of_kernels = malloc((joining->nr_kernels + 1ul) * sizeof(struct place));
	joining->of_calls = malloc((nr_calls + 1ul) * sizeof(struct place));
	if (!joining->of_kernels || !joining->of_calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < joining->nr_kernels; i++) {
		const struct collective_log_kernel *kernel = &joining->kernels[i];

		joining->of_kernels[i] = (struct place){
			.key = key_of(kernel->process, kernel->correlation_id), .index = i};
	}
	for (uint32_t i = 0; i < nr_calls; i++) {
		const struct collective_log_call *call = &joining->calls[i];

		if (call->call.correlation_id)
			joining->of_calls[joining->nr_calls++] = (struct place){
				.key = key_of(call->process, call->call.correlation_id),
				.index = i};
	}
	qsort(joining->of_kernels, joining->nr_kernels, sizeof(struct place), by_key);
	qsort(joining->of_calls, joining->nr_calls, sizeof(struct place), by_key);
	return 0;
}

/* Returns where the kernels of this key, or of the next one, begin. */
static uint32_t first_kernel(const struct joining *joining, uint64_t key)
{
	uint32_t low = 0;

	for (uint32_t high = joining->nr_kernels; low < high;) {
		const uint32_t middle = low + (high - low) / 2;

		if (joining->of_kernels[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_last(const struct joining *joining, uint32_t place)
{
	return place + 1 == joining->nr_kernels ||
	       joining->of_kernels[place + 1].key != joining->of_kernels[place].key;
}

static struct database_value clock_of(const struct collective_gpu *gpu)
{
	return gpu->clock_known ? database_signed(gpu->clock_offset_ns)
				: (struct database_value){.type = DATABASE_NULL};
}

static struct database_value context_of(const struct collective_gpu *gpu)
{
	return gpu->total_known ? NUMBER(gpu->context_id)
				: (struct database_value){.type = DATABASE_NULL};
}

static void note_waiting(struct joining *joining, uint64_t key)
{
	const uint32_t place = first_kernel(joining, key);

	if (place < joining->nr_kernels && joining->of_kernels[place].key == key)
		joining->of_kernels[place].told = true;
}

/* Finds those calls in the store that wait for one of the kernels. A process's older calls may wait for ever, so only
 * those between its kernels are read. */
static int find_waiting(struct joining *joining)
{
	struct statement *row = joining->set->statements[FIND_WAITING];
	const struct place *kernels = joining->of_kernels;
	int more = 0;

	for (uint32_t first = 0, end; first < joining->nr_kernels && more == 0; first = end) {
		const uint64_t process = kernels[first].key >> 32;

		for (end = first + 1;
		     end < joining->nr_kernels && kernels[end].key >> 32 == process; end++)
			;
		const struct database_value range[] = {NUMBER(process),
						       NUMBER((uint32_t)kernels[first].key),
						       NUMBER((uint32_t)kernels[end - 1].key)};
		for (more = statement_start(row, range, 3); more > 0; more = statement_step(row))
			note_waiting(joining, process << 32 | statement_number32(row, 0));
	}
	return more;
}

/* The first kernel of a key does these calls' work, and is the only one that they ask for. */
static int tell_calls(struct joining *joining)
{
	int error = 0;

	for (uint32_t i = 0; i < joining->nr_kernels && !error; i++) {
		const struct collective_log_kernel *kernel =
			&joining->kernels[joining->of_kernels[i].index];
		const struct collective_gpu *gpu = &kernel->gpu;

		if (!joining->of_kernels[i].told)
			continue;
		joining->of_kernels[i].asked = true;
		error = RUN(joining->set, TELL_CALLS, NUMBER(kernel->process),
			    NUMBER(kernel->correlation_id), NUMBER(gpu->start_ns), NUMBER(gpu->ns),
			    NUMBER(gpu->device_id), clock_of(gpu), context_of(gpu),
			    NUMBER(gpu->stream_id), NUMBER(gpu->tid), NUMBER(gpu->node),
			    NUMBER(gpu->name));
	}
	return error;
}

/* Joins a call with a kernel that came in an earlier commit. */
static int find_kernel(struct statement_set *set, struct collective_log_call *call)
{
	const struct database_value key[] = {NUMBER(call->process),
					     NUMBER(call->call.correlation_id)};
	struct statement *row = set->statements[FIND];
	int found = statement_start(row, key, 2);

	if (found <= 0)
		return found;
	call->gpu = (struct collective_gpu){
		.known = true,
		.start_ns = statement_number(row, 0),
		.ns = statement_number(row, 1),
		.device_id = statement_number32(row, 2),
		.clock_known = !statement_null(row, 3),
		.clock_offset_ns = statement_signed(row, 3),
		.total_known = !statement_null(row, 4),
		.context_id = statement_number32(row, 4),
		.stream_id = statement_number32(row, 5),
		.tid = statement_number32(row, 6),
		.node = statement_number32(row, 7),
		.name = statement_number32(row, 8),
	};
	statement_reset(row);
	return RUN(set, ASK, key[0], key[1]);
}

/* The last kernel of a key does the work of calls that come with it. */
static int join_calls(struct joining *joining)
{
	uint32_t kernel = 0;
	int error = 0;

	for (uint32_t i = 0; i < joining->nr_calls && !error; i++) {
		const uint64_t key = joining->of_calls[i].key;
		struct collective_log_call *call = &joining->calls[joining->of_calls[i].index];

		while (kernel < joining->nr_kernels &&
		       (joining->of_kernels[kernel].key < key ||
			(joining->of_kernels[kernel].key == key && !is_last(joining, kernel))))
			kernel++;
		if (kernel < joining->nr_kernels && joining->of_kernels[kernel].key == key) {
			call->gpu = joining->kernels[joining->of_kernels[kernel].index].gpu;
			joining->of_kernels[kernel].asked = true;
		} else {
			error = find_kernel(joining->set, call);
		}
	}
	return error;
}

/* Returns the position up to which the commit drops the process's kernels; 0: none. It does so once in a chunk, because
 * it reads all kernels that wait. */
static uint64_t last_dropped(const struct collective_log_joins *state)
{
	const uint64_t last =
		state->kernels > STORE_JOINS_ROOM ? state->kernels - STORE_JOINS_ROOM : 0;

	return state->kernels / STORE_JOINS_CHUNK == state->saved / STORE_JOINS_CHUNK ? 0 : last;
}

/* Returns whether the commit deletes all kernels of the process, and counts none of them. */
static bool forgets_kernels(const struct joining *joining, uint32_t process)
{
	const struct collective_log_joins *state = collective_log_joins(joining->log, process);

	return state && state->ended && !last_dropped(state);
}

/* In the table's order, so that the same pages follow one another. */
static int write_kernels(struct joining *joining)
{
	int error = 0;

	for (uint32_t i = 0; i < joining->nr_kernels && !error; i++) {
		const struct collective_log_kernel *kernel =
			&joining->kernels[joining->of_kernels[i].index];
		const struct collective_gpu *gpu = &kernel->gpu;

		if (is_last(joining, i) && !forgets_kernels(joining, kernel->process))
			error = RUN(joining->set, PUT_KERNEL, NUMBER(kernel->process),
				    NUMBER(kernel->correlation_id), NUMBER(kernel->position),
				    NUMBER(gpu->start_ns), NUMBER(gpu->ns), NUMBER(gpu->device_id),
				    clock_of(gpu), NUMBER(joining->of_kernels[i].asked),
				    context_of(gpu), NUMBER(gpu->stream_id), NUMBER(gpu->tid),
				    NUMBER(gpu->node), NUMBER(gpu->name));
	}
	return error;
}

static int drop_oldest(struct statement_set *set, uint32_t process,
		       const struct collective_log_joins *state)
{
	const uint64_t last = last_dropped(state);

	if (!last)
		return 0;
	int error = RUN(set, COUNT_DROPPED, NUMBER(process), NUMBER(last));
	return error ? error : RUN(set, DROP, NUMBER(process), NUMBER(last));
}

/* What each process has at the end of the commit. */
static int end_commit(struct statement_set *set, const struct collective_log *log)
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

int store_joins_write(struct statement_set *set, const struct collective_log *log,
		      struct collective_log_call *calls, uint32_t nr_calls)
{
	struct joining joining = {.set = set, .log = log, .calls = calls};

	joining.kernels = collective_log_kernels(log, &joining.nr_kernels);
	int error = sort(&joining, nr_calls);
	if (!error)
		error = find_waiting(&joining);
	if (!error)
		error = tell_calls(&joining);
	if (!error)
		error = join_calls(&joining);
	if (!error)
		error = write_kernels(&joining);
	free(joining.of_kernels);
	free(joining.of_calls);
	return error ? error : end_commit(set, log);
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
		 " WHERE " WAITS " ORDER BY id",
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
