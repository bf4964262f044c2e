#include "store_folds.h"

#include <errno.h>
#include <stdlib.h>

#include "block_code.h"
#include "statement_set.h"
#include "store_collectives.h"

#include "aggregator/profile/collective_folding.h"
#include "aggregator/profile/collective_kept.h"
#include "proto/batch/message.h"

enum command {
	PUT_FOLD,
	PUT_MEMBER,
	PUT_SUM,
	DELETE_SPLIT,
	PUT_SPLIT,
	DELETE_CALL,
	FOLD_CALL,
	COMMANDS
};

/* Of a split, collective_splits.part. */
enum part { MOVES, WAITS, WAITS_FOR_SEVERAL };

static const char *const commands[] = {
	[PUT_FOLD] = "REPLACE INTO collective_folds VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
		     "?)",
	[PUT_MEMBER] = "REPLACE INTO collective_members VALUES (?,?,?,?,?,?,?,?)",
	[PUT_SUM] = "REPLACE INTO collective_sums VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
		    "?,?)",
	[DELETE_SPLIT] = "DELETE FROM collective_splits WHERE process = ? AND device_id = ?"
			 " AND context_id = ? AND stream_id = ? AND tid = ? AND node = ? AND name "
			 "= ?",
	[PUT_SPLIT] = "INSERT INTO collective_splits VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[DELETE_CALL] = "DELETE FROM collectives WHERE id = ?",
	[FOLD_CALL] = "UPDATE collectives SET folded = 1, waited_ns = ?2 WHERE id = ?1",
	[COMMANDS] = NULL,
};

/* ---- reading */

static int take_writer(struct statement *row, void *context)
{
	uint64_t process = statement_number(row, 0);

	if (process == 0 || process > WIRE_ID_MAX)
		return -EPROTO;
	return collective_folds_process(context, (uint32_t)process, statement_number32(row, 1),
					statement_number32(row, 2));
}

static int take_fold(struct statement *row, void *context)
{
	struct collective_fold *fold = collective_folds_fold(context, statement_number32(row, 0),
							     statement_number(row, 1));
	if (!fold)
		return -ENOMEM;
	fold->shift = statement_number32(row, 2);
	fold->spread = statement_number32(row, 3);
	fold->collectives = statement_number(row, 4);
	fold->complete = statement_number(row, 5);
	fold->used = statement_number(row, 6);
	fold->by_gpu = statement_number(row, 7);
	fold->joint = statement_number(row, 8);
	fold->grouped = statement_number(row, 9);
	fold->others = statement_number(row, 10);
	fold->duplicates = statement_number(row, 11);
	fold->unmatched = statement_number(row, 12);
	fold->launch = (struct collective_match_launch){
		.start_ns = statement_number(row, 13),
		.correlation_id = statement_number32(row, 14),
		.known = !statement_null(row, 13),
	};
	fold->to[COLLECTIVE_ALL_REDUCE] = statement_number(row, 15);
	fold->to[COLLECTIVE_ALL_GATHER] = statement_number(row, 16);
	fold->to[COLLECTIVE_REDUCE_SCATTER] = statement_number(row, 17);
	fold->to[COLLECTIVE_ALL_TO_ALL] = statement_number(row, 18);
	return fold->shift > 31 || fold->spread > 63 || !fold->key ||
			       fold->used > (uint64_t)COLLECTIVE_FOLD_BUCKETS << fold->shift
		       ? -EPROTO
		       : 0;
}

static int take_member(struct statement *row, void *context)
{
	struct collective_folds *folds = context;
	uint32_t process = statement_number32(row, 0), id = statement_number32(row, 1), size;
	const struct communicator *end = collective_folds_end(folds, process, id);
	const uint8_t *buckets = statement_bytes(row, 7, &size);

	if (!end || !end->key || process >= folds->nr_processes)
		return -EPROTO;
	struct collective_fold *fold =
		collective_folds_fold(folds, folds->writers[process], end->key);
	int error = fold ? collective_fold_add(fold, process, end) : -ENOMEM;
	if (error)
		return error;
	struct collective_fold_member *member =
		&fold->members[collective_fold_find(fold, process, id)];
	member->missing = statement_number32(row, 2);
	member->start_ns = statement_number(row, 3);
	member->end_ns = statement_number(row, 4);
	member->gpu_start_ns = statement_number(row, 5);
	member->gpu_end_ns = statement_number(row, 6);
	return block_decode_buckets(buckets, size, member->buckets, COLLECTIVE_FOLD_BUCKETS)
		       ? -EPROTO
		       : 0;
}

/* Each bin takes at least three bytes, so a damaged count cannot cause a large allocation. */
static int take_bins(struct statement *row, struct collective_sum *sum)
{
	uint32_t count = statement_number32(row, 20), size;
	const uint8_t *bytes = statement_bytes(row, 21, &size);

	if (count == 0)
		return 0;
	if (count > size / 3 || sum->behind)
		return -EPROTO;
	sum->behind = calloc(count, sizeof(*sum->behind));
	if (!sum->behind)
		return -ENOMEM;
	sum->nr_behind = count;
	return block_decode_bins(bytes, size, sum->behind, count) ? -EPROTO : 0;
}

static int take_sum(struct statement *row, void *context)
{
	struct collective_folds *folds = context;
	const struct collective_sum_key key = {
		.process = statement_number32(row, 0),
		.communicator_id = statement_number32(row, 1),
		.tid = statement_number32(row, 2),
		.function = statement_number32(row, 3),
		.size_class = statement_number32(row, 4),
	};

	if (key.process == 0 || key.process >= folds->nr_processes ||
	    key.communicator_id > collective_log_defined(folds->log, key.process) ||
	    key.function >= COLLECTIVE_FUNCTIONS)
		return -EPROTO;
	struct collective_sum *sum = collective_folds_sum(folds, &key);
	if (!sum)
		return -ENOMEM;
	sum->calls = statement_number(row, 5);
	sum->numbered = statement_number(row, 6);
	sum->failed = statement_number(row, 7);
	sum->bytes = statement_number(row, 8);
	sum->total_ns = statement_number(row, 9);
	sum->max_ns = statement_number(row, 10);
	sum->first = statement_number(row, 11);
	sum->last_sequence = statement_number(row, 12);
	sum->gpu_calls = statement_number(row, 13);
	sum->gpu_ns = statement_number(row, 14);
	sum->unjoined = statement_number(row, 15);
	sum->used = statement_number(row, 16);
	sum->last = statement_number(row, 17);
	sum->waited_ns = statement_number(row, 18);
	sum->others_ns = statement_number(row, 19);
	return sum->calls ? take_bins(row, sum) : -EPROTO;
}

/* Each process has a writer. */
static bool is_process(const struct collective_folds *folds, uint32_t process)
{
	return process < folds->nr_processes && folds->writers[process];
}

static int take_split(struct statement *row, void *context)
{
	struct collective_folds *folds = context;
	const struct collective_split_key key = {
		.process = statement_number32(row, 0),
		.device_id = statement_number32(row, 1),
		.context_id = statement_number32(row, 2),
		.stream_id = statement_number32(row, 3),
		.tid = statement_number32(row, 4),
		.node = statement_number32(row, 5),
		.name = statement_number32(row, 6),
	};
	const struct collective_split_wait wait = {
		.process = statement_number32(row, 8),
		.device_id = statement_number32(row, 9),
		.count = statement_number(row, 10),
		.ns = statement_number(row, 11),
	};

	if (!is_process(folds, key.process) || (wait.process && !is_process(folds, wait.process)))
		return -EPROTO;
	struct collective_split *split = collective_splits_get(&folds->splits, &key);
	if (!split)
		return -ENOMEM;
	switch (statement_number(row, 7)) {
	case MOVES:
		split->kernels = wait.count;
		split->moves_ns = wait.ns;
		split->bus_bytes = statement_number(row, 12);
		return 0;
	case WAITS:
		return wait.process ? collective_split_keep(split, &wait) : -EPROTO;
	case WAITS_FOR_SEVERAL:
		split->several = wait.count;
		split->several_ns = wait.ns;
		return 0;
	}
	return -EPROTO;
}

static int read_writers(struct database *database, struct collective_folds *folds)
{
	return database_rows(database, "SELECT id, writer, host FROM processes", take_writer,
			     folds);
}

int store_folds_read_newest(struct database *database, struct collective_folds *folds,
			    uint64_t window_ns, uint32_t least)
{
	int error = read_writers(database, folds);

	return error ? error
		     : store_collectives_read_newest(database, folds->log, window_ns, least);
}

int store_folds_read(struct database *database, struct collective_folds *folds, uint32_t most)
{
	int error = read_writers(database, folds);

	if (!error)
		error = store_collectives_read(database, folds->log, most);
	if (!error)
		error = database_rows(database, "SELECT * FROM collective_splits", take_split,
				      folds);
	if (!error)
		error = database_rows(database, "SELECT * FROM collective_folds", take_fold, folds);
	if (!error)
		error = database_rows(database, "SELECT * FROM collective_members", take_member,
				      folds);
	return error ? error
		     : database_rows(database, "SELECT * FROM collective_sums", take_sum, folds);
}

/* ---- writing */

struct writing {
	struct statement_set set;
	struct block_code code;
};

static struct database_value bytes_of(const struct block_code *code)
{
	return database_bytes(code->bytes, code->size);
}

static int write_member(struct writing *writing, const struct collective_fold_member *member)
{
	int error = block_code_buckets(&writing->code, member->buckets, COLLECTIVE_FOLD_BUCKETS);

	return error ? error
		     : RUN(&writing->set, PUT_MEMBER, NUMBER(member->process),
			   NUMBER(member->communicator_id), NUMBER(member->missing),
			   NUMBER(member->start_ns), NUMBER(member->end_ns),
			   NUMBER(member->gpu_start_ns), NUMBER(member->gpu_end_ns),
			   bytes_of(&writing->code));
}

static int write_fold(struct writing *writing, const struct collective_fold *fold)
{
	int error =
		RUN(&writing->set, PUT_FOLD, NUMBER(fold->writer), NUMBER(fold->key),
		    NUMBER(fold->shift), NUMBER(fold->spread), NUMBER(fold->collectives),
		    NUMBER(fold->complete), NUMBER(fold->used), NUMBER(fold->by_gpu),
		    NUMBER(fold->joint), NUMBER(fold->grouped), NUMBER(fold->others),
		    NUMBER(fold->duplicates), NUMBER(fold->unmatched),
		    fold->launch.known ? NUMBER(fold->launch.start_ns)
				       : (struct database_value){.type = DATABASE_NULL},
		    NUMBER(fold->launch.correlation_id), NUMBER(fold->to[COLLECTIVE_ALL_REDUCE]),
		    NUMBER(fold->to[COLLECTIVE_ALL_GATHER]),
		    NUMBER(fold->to[COLLECTIVE_REDUCE_SCATTER]),
		    NUMBER(fold->to[COLLECTIVE_ALL_TO_ALL]));

	for (uint32_t i = 0; i < fold->nr_members && !error; i++)
		error = write_member(writing, &fold->members[i]);
	return error;
}

static int write_sum(struct writing *writing, const struct collective_sum *sum)
{
	const struct collective_sum_key *key = &sum->key;
	int error = block_code_bins(&writing->code, sum->behind, sum->nr_behind);

	return error ? error
		     : RUN(&writing->set, PUT_SUM, NUMBER(key->process),
			   NUMBER(key->communicator_id), NUMBER(key->tid), NUMBER(key->function),
			   NUMBER(key->size_class), NUMBER(sum->calls), NUMBER(sum->numbered),
			   NUMBER(sum->failed), AMOUNT(sum->bytes), AMOUNT(sum->total_ns),
			   AMOUNT(sum->max_ns), NUMBER(sum->first), NUMBER(sum->last_sequence),
			   NUMBER(sum->gpu_calls), AMOUNT(sum->gpu_ns), NUMBER(sum->unjoined),
			   NUMBER(sum->used), NUMBER(sum->last), AMOUNT(sum->waited_ns),
			   AMOUNT(sum->others_ns), NUMBER(sum->nr_behind),
			   bytes_of(&writing->code));
}

static int put_split(struct writing *writing, const struct collective_split_key *key,
		     enum part part, const struct collective_split_wait *wait, uint64_t bytes)
{
	return RUN(&writing->set, PUT_SPLIT, NUMBER(key->process), NUMBER(key->device_id),
		   NUMBER(key->context_id), NUMBER(key->stream_id), NUMBER(key->tid),
		   NUMBER(key->node), NUMBER(key->name), NUMBER(part), NUMBER(wait->process),
		   NUMBER(wait->device_id), NUMBER(wait->count), AMOUNT(wait->ns), AMOUNT(bytes));
}

/* A rank may have given up its place to another one. */
static int write_split(struct writing *writing, const struct collective_split *split)
{
	const struct collective_split_key *key = &split->key;
	const struct collective_split_wait moves = {.count = split->kernels, .ns = split->moves_ns};
	const struct collective_split_wait several = {.count = split->several,
						      .ns = split->several_ns};
	int error = RUN(&writing->set, DELETE_SPLIT, NUMBER(key->process), NUMBER(key->device_id),
			NUMBER(key->context_id), NUMBER(key->stream_id), NUMBER(key->tid),
			NUMBER(key->node), NUMBER(key->name));

	if (!error)
		error = put_split(writing, key, MOVES, &moves, split->bus_bytes);
	if (!error && several.count)
		error = put_split(writing, key, WAITS_FOR_SEVERAL, &several, 0);
	for (uint32_t i = 0; i < split->nr_waits && !error; i++)
		error = put_split(writing, key, WAITS, &split->waits[i], 0);
	return error;
}

/* Of the first nr_rows calls of the log, which have rows. */
static int write_rows(struct writing *writing, const struct collective_folds *folds,
		      uint32_t nr_rows, uint64_t *kept)
{
	uint32_t count;
	const struct collective_log_call *calls = collective_log_calls(folds->log, &count);
	int error = 0;

	for (uint32_t i = 0; i < nr_rows && !error; i++) {
		if (folds->verdicts[i] == COLLECTIVE_DROPPED)
			error = RUN(&writing->set, DELETE_CALL, NUMBER(calls[i].row));
		else if (folds->verdicts[i] == COLLECTIVE_KEPT && !calls[i].folded)
			error = RUN(&writing->set, FOLD_CALL, NUMBER(calls[i].row),
				    AMOUNT(folds->waited_ns[i]));
		*kept += folds->verdicts[i] != COLLECTIVE_DROPPED;
	}
	return error;
}

static int write_all(struct database *database, const struct collective_folds *folds,
		     uint32_t nr_rows, uint64_t *kept)
{
	struct writing writing = {0};
	int error = statement_set_init(&writing.set, database, commands);

	for (uint32_t i = 0; i < folds->nr_folds && !error; i++)
		error = write_fold(&writing, &folds->folds[i]);
	for (uint32_t i = 0; i < folds->nr_sums && !error; i++)
		error = write_sum(&writing, &folds->sums[i]);
	for (uint32_t i = 0; i < folds->splits.count && !error; i++)
		if (folds->splits.splits[i].changed)
			error = write_split(&writing, &folds->splits.splits[i]);
	if (!error)
		error = write_rows(&writing, folds, nr_rows, kept);
	statement_set_fini(&writing.set);
	block_code_fini(&writing.code);
	return error;
}

static int count_rows(struct store_folds *state, struct database *database)
{
	int64_t rows = 0;
	int error = state->counted ? 0
				   : database_query_number(
					     database, "SELECT count(*) FROM collectives", &rows);

	state->counted = !error;
	state->added += (uint64_t)rows;
	return error;
}

/* Takes calls that need no row out of those that follow the log's first nr_rows. Rows have the ids that they would have
 * if all calls had become rows. */
static void choose_calls(const struct collective_folds *folds, uint32_t nr_rows,
			 struct collective_log_call *calls, uint32_t *nr_calls)
{
	uint32_t all, kept = 0;
	const struct collective_log_call *rows = collective_log_calls(folds->log, &all);
	const uint64_t last = nr_rows ? rows[nr_rows - 1].row : 0;

	for (uint32_t i = 0; i < *nr_calls; i++) {
		const uint8_t verdict = folds->verdicts[nr_rows + i];

		if (verdict == COLLECTIVE_DROPPED)
			continue;
		calls[kept] = calls[i];
		calls[kept].row = last + i + 1;
		calls[kept].folded = verdict == COLLECTIVE_KEPT;
		calls[kept++].waited_ns = folds->waited_ns[nr_rows + i];
	}
	*nr_calls = kept;
}

static int fold(struct store_folds *state, struct database *database,
		struct collective_folds *folds, struct collective_log_call *calls,
		uint32_t *nr_calls)
{
	uint32_t nr_rows = 0;
	int error = store_folds_read(database, folds, 0);

	if (!error)
		collective_log_calls(folds->log, &nr_rows);
	for (uint32_t i = 0; i < *nr_calls && !error; i++)
		error = collective_log_load_call(folds->log, &calls[i]);
	if (!error)
		error = collective_folds_take(folds, false);
	if (!error)
		error = collective_kept_choose(folds);
	state->kept = 0;
	if (!error)
		error = write_all(database, folds, nr_rows, &state->kept);
	if (!error)
		choose_calls(folds, nr_rows, calls, nr_calls);
	state->kept += *nr_calls;
	return error;
}

int store_folds_write(struct store_folds *state, struct database *database,
		      struct collective_log_call *calls, uint32_t *nr_calls)
{
	int error = *nr_calls ? count_rows(state, database) : 0;

	state->added += *nr_calls;
	if (error || state->added < STORE_FOLDS_ROUND || state->added < state->kept)
		return error;
	struct collective_folds *folds = collective_folds_create();
	error = folds ? fold(state, database, folds, calls, nr_calls) : -ENOMEM;
	state->added = 0;
	state->folded |= !error;
	collective_folds_destroy(folds);
	return error;
}

bool store_folds_take_news(struct store_folds *state)
{
	const bool folded = state->folded;

	state->folded = false;
	return folded;
}
