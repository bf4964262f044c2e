#include "store_writer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "block_code.h"
#include "statement_set.h"
#include "store_clocks.h"
#include "store_collectives.h"
#include "store_folds.h"
#include "store_idle.h"
#include "store_joins.h"
#include "store_kept.h"
#include "store_messages.h"
#include "store_placement.h"
#include "store_raw.h"
#include "store_schema.h"
#include "store_statistics.h"
#include "store_streams.h"
#include "store_totals.h"

#include "aggregator/core/correlator.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/core/memory_account.h"
#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "proto/definition.h"

enum command {
	PUT_STRING,
	PUT_MODULE,
	PUT_CODE,
	PUT_FRAME,
	NAME_FRAME,
	PUT_NODE,
	PUT_HOST,
	PUT_DEVICE,
	PUT_PROCESS,
	CLEAR_PROCESS_DEVICES,
	PUT_PROCESS_DEVICE,
	CLEAR_PROCESS_NOTICES,
	PUT_PROCESS_NOTICE,
	PUT_EPOCH,
	PUT_EPOCH_IDS,
	CLEAR_EPOCH_IDS,
	CLEAR_LEDGER,
	PUT_LEDGER,
	PUT_TIMELINE,
	PUT_TIMELINE_BLOCK,
	DELETE_TIMELINE_BLOCK,
	PUT_PENDING,
	CLEAR_PENDING,
	CLEAR_PENDING_OF_PROCESS,
	PUT_MEMORY,
	PUT_MEMORY_STACK,
	COMMANDS,
};

static const char *const commands[] = {
	[PUT_STRING] = "INSERT INTO strings VALUES (?,?)",
	[PUT_MODULE] = "INSERT INTO modules VALUES (?,?,?,?,?)",
	[PUT_CODE] = "INSERT INTO codes VALUES (?,?,?)",
	[PUT_FRAME] = "INSERT INTO frames VALUES (?,?,?,?,?,?)",
	[NAME_FRAME] = "UPDATE frames SET name = ?2 WHERE id = ?1",
	[PUT_NODE] = "INSERT INTO nodes VALUES (?,?,?)",
	[PUT_HOST] = "INSERT INTO hosts VALUES (?,?,?)",
	[PUT_DEVICE] = "REPLACE INTO devices VALUES (?,?,?,?,?,?)",
	[PUT_PROCESS] =
		"REPLACE INTO processes VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[CLEAR_PROCESS_DEVICES] = "DELETE FROM process_devices WHERE process = ?",
	[PUT_PROCESS_DEVICE] = "REPLACE INTO process_devices VALUES (?,?,?)",
	[CLEAR_PROCESS_NOTICES] = "DELETE FROM process_notices WHERE process = ?",
	[PUT_PROCESS_NOTICE] = "INSERT INTO process_notices VALUES (?,?,?)",
	[PUT_EPOCH] = "REPLACE INTO epochs VALUES (?,?,?,?,?,?,?,?)",
	[PUT_EPOCH_IDS] = "INSERT INTO epoch_ids VALUES (?,?,?,?,?)",
	[CLEAR_EPOCH_IDS] = "DELETE FROM epoch_ids WHERE epoch = ?",
	[CLEAR_LEDGER] = "DELETE FROM ledger WHERE epoch = ? AND process = ?",
	[PUT_LEDGER] = "REPLACE INTO ledger VALUES (?,?,?,?,?,?)",
	[PUT_TIMELINE] = "REPLACE INTO timelines VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_TIMELINE_BLOCK] = "INSERT INTO timeline_blocks VALUES (?,?,?,?,?,?,?,?)",
	[DELETE_TIMELINE_BLOCK] =
		("DELETE FROM timeline_blocks WHERE level = ? AND process = ? AND device_id = ?"
		 " AND context_id = ? AND stream_id = ? AND block = ?"),
	[PUT_PENDING] = "REPLACE INTO pending VALUES (?,?,?,?,?)",
	[CLEAR_PENDING] = "DELETE FROM pending WHERE process = ? AND kind = ? AND block = ?",
	[CLEAR_PENDING_OF_PROCESS] = "DELETE FROM pending WHERE process = ?",
	[PUT_MEMORY] = "REPLACE INTO memory VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_MEMORY_STACK] = "REPLACE INTO memory_stacks VALUES (?,?,?,?,?,?,?,?,?,?)",
	[COMMANDS] = NULL,
};

/* One set of statements for each part of the store. */
enum part {
	OWN,
	STATISTICS,
	IDLE,
	KEPT,
	RAW,
	COLLECTIVES,
	JOINS,
	CLOCKS,
	PLACEMENT,
	STREAMS,
	TOTALS,
	MESSAGES,
	PARTS
};

static const char *const *const parts[PARTS] = {
	[OWN] = commands,
	[STATISTICS] = store_statistics_commands,
	[IDLE] = store_idle_commands,
	[KEPT] = store_kept_commands,
	[RAW] = store_raw_commands,
	[COLLECTIVES] = store_collectives_commands,
	[JOINS] = store_joins_commands,
	[CLOCKS] = store_clocks_commands,
	[PLACEMENT] = store_placement_commands,
	[STREAMS] = store_streams_commands,
	[TOTALS] = store_totals_commands,
	[MESSAGES] = store_messages_commands,
};

struct store_writer {
	struct database *database; /* borrowed */
	struct statement_set sets[PARTS];
	struct block_code code;
	struct store_folds folds;
	bool totals_as_blocks;
};

#define RUN_OWN(writer, command, ...) RUN(&(writer)->sets[OWN], command, __VA_ARGS__)

int store_writer_create(struct database *database, bool totals_as_blocks,
			struct store_writer **writer)
{
	int error = 0;

	*writer = calloc(1, sizeof(**writer));
	if (!*writer)
		return -ENOMEM;
	(*writer)->database = database;
	(*writer)->totals_as_blocks = totals_as_blocks;
	for (int i = 0; i < PARTS && !error; i++)
		error = statement_set_init(&(*writer)->sets[i], database, parts[i]);
	if (error) {
		store_writer_destroy(*writer);
		*writer = NULL;
	}
	return error;
}

void store_writer_destroy(struct store_writer *writer)
{
	if (!writer)
		return;
	for (int i = 0; i < PARTS; i++)
		statement_set_fini(&writer->sets[i]);
	block_code_fini(&writer->code);
	free(writer);
}

static struct database_value bytes_of(const struct block_code *code)
{
	return database_bytes(code->bytes, code->size);
}

static int write_strings(struct store_writer *writer, const struct catalog *catalog)
{
	int error = 0;

	for (uint32_t id = catalog_saved_size(catalog)->strings + 1;
	     id <= catalog_size(catalog).strings && !error; id++) {
		uint32_t size;
		const char *data = catalog_string(catalog, id, &size);

		error = RUN_OWN(writer, PUT_STRING, NUMBER(id), database_bytes(data, size));
	}
	return error;
}

static int write_frames(struct store_writer *writer, const struct catalog *catalog)
{
	uint32_t nr_renamed;
	const uint32_t *renamed = catalog_renamed(catalog, &nr_renamed);
	int error = 0;

	for (uint32_t id = catalog_saved_size(catalog)->frames + 1;
	     id <= catalog_size(catalog).frames && !error; id++) {
		const struct catalog_frame *frame = catalog_frame(catalog, id);

		error = RUN_OWN(writer, PUT_FRAME, NUMBER(id), NUMBER(frame->module),
				NUMBER(frame->offset), NUMBER(frame->scope), NUMBER(frame->code),
				database_unless(frame->name, CATALOG_NAME_UNKNOWN));
	}
	for (uint32_t i = 0; i < nr_renamed && !error; i++)
		error = RUN_OWN(writer, NAME_FRAME, NUMBER(renamed[i]),
				database_unless(catalog_frame(catalog, renamed[i])->name,
						CATALOG_NAME_UNKNOWN));
	return error;
}

static int write_catalog(struct store_writer *writer, const struct catalog *catalog)
{
	const struct catalog_size *saved = catalog_saved_size(catalog);
	struct catalog_size size = catalog_size(catalog);
	int error = write_strings(writer, catalog);

	for (uint32_t id = saved->modules + 1; id <= size.modules && !error; id++) {
		const struct catalog_module *module = catalog_module(catalog, id);

		error = RUN_OWN(writer, PUT_MODULE, NUMBER(id), NUMBER(module->path),
				NUMBER(module->flags), NUMBER(module->owner),
				database_bytes(module->build_id, module->build_id_size));
	}
	for (uint32_t id = saved->codes + 1; id <= size.codes && !error; id++) {
		const struct catalog_code *code = catalog_code(catalog, id);

		error = RUN_OWN(writer, PUT_CODE, NUMBER(id), NUMBER(code->file),
				NUMBER(code->name));
	}
	if (!error)
		error = write_frames(writer, catalog);
	for (uint32_t id = saved->nodes + 1; id <= size.nodes && !error; id++) {
		const struct catalog_node *node = catalog_node(catalog, id);

		error = RUN_OWN(writer, PUT_NODE, NUMBER(id), NUMBER(node->parent),
				NUMBER(node->frame));
	}
	return error;
}

struct pending_context {
	struct store_writer *writer;
	uint32_t process;
};

static int write_block(void *context, const struct correlator_block *block)
{
	const struct pending_context *pending = context;
	struct store_writer *writer = pending->writer;
	int error;

	if (block->count == 0)
		return RUN_OWN(writer, CLEAR_PENDING, NUMBER(pending->process), NUMBER(block->kind),
			       NUMBER(block->index));
	error = block->kind == CORRELATOR_BLOCK_LAUNCHES
			? block_code_launches(&writer->code, block->launches, block->count)
			: block_code_records(&writer->code, block->records, block->count);
	if (error)
		return error;
	return RUN_OWN(writer, PUT_PENDING, NUMBER(pending->process), NUMBER(block->kind),
		       NUMBER(block->index), NUMBER(block->count), bytes_of(&writer->code));
}

static int write_memory_sums(void *context, const struct memory_sums *sums)
{
	const struct pending_context *pending = context;

	return RUN_OWN(pending->writer, PUT_MEMORY, NUMBER(pending->process),
		       NUMBER(sums->device_id), NUMBER(sums->space), AMOUNT(sums->allocs),
		       AMOUNT(sums->alloc_bytes), AMOUNT(sums->frees), AMOUNT(sums->free_bytes),
		       AMOUNT(sums->live_count), AMOUNT(sums->live_bytes), AMOUNT(sums->peak_bytes),
		       NUMBER(sums->peak_ns), NUMBER(sums->first_ns), NUMBER(sums->last_ns),
		       NUMBER(sums->unknown_frees), AMOUNT(sums->unknown_bytes),
		       NUMBER(sums->duplicates), NUMBER(sums->replaced), NUMBER(sums->untracked),
		       NUMBER(sums->late));
}

static int write_memory_row(void *context, const struct memory_row *row)
{
	const struct pending_context *pending = context;

	return RUN_OWN(pending->writer, PUT_MEMORY_STACK, NUMBER(pending->process),
		       NUMBER(row->key.device_id), NUMBER(row->key.tid), NUMBER(row->key.stack_id),
		       NUMBER(row->key.kind), NUMBER(row->key.matched), AMOUNT(row->live_count),
		       AMOUNT(row->live_bytes), AMOUNT(row->peak_count), AMOUNT(row->peak_bytes));
}

static int write_memory_slots(void *context, uint64_t block, const struct memory_slot *slots,
			      uint32_t count)
{
	const struct pending_context *pending = context;
	struct store_writer *writer = pending->writer;

	if (count == 0)
		return RUN_OWN(writer, CLEAR_PENDING, NUMBER(pending->process),
			       NUMBER(STORE_PENDING_MEMORY), NUMBER(block));
	int error = block_code_slots(&writer->code, slots, count);
	if (error)
		return error;
	return RUN_OWN(writer, PUT_PENDING, NUMBER(pending->process), NUMBER(STORE_PENDING_MEMORY),
		       NUMBER(block), NUMBER(count), bytes_of(&writer->code));
}

static int write_process_row(struct store_writer *writer, uint32_t id,
			     const struct roster_process *process)
{
	const struct roster_identity *identity = &process->identity;
	const struct correlator_counts *counts =
		process->correlator ? correlator_counts(process->correlator) : &process->counts;

	return RUN_OWN(
		writer, PUT_PROCESS, NUMBER(id), NUMBER(identity->host), NUMBER(identity->pid),
		NUMBER(identity->pid_namespace), NUMBER(identity->start_ticks),
		database_bytes(identity->instance, sizeof(identity->instance)),
		NUMBER(process->state), database_unless(process->rank, MESSAGE_RANK_NONE),
		database_unless(process->local_rank, MESSAGE_RANK_NONE),
		database_unless(process->world_size, MESSAGE_RANK_NONE), NUMBER(process->job),
		NUMBER(process->command), NUMBER(counts->launches), NUMBER(counts->failed),
		NUMBER(counts->expired), NUMBER(counts->records), NUMBER(counts->matched),
		NUMBER(counts->unmatched), NUMBER(counts->invalid), NUMBER(counts->launch_order),
		NUMBER(counts->retire_order), NUMBER(counts->waiting_order),
		AMOUNT(process->spoke_ns), NUMBER(identity->writer));
}

static int write_process_lists(struct store_writer *writer, uint32_t id,
			       const struct roster_process *process)
{
	int error = RUN_OWN(writer, CLEAR_PROCESS_DEVICES, NUMBER(id));

	for (uint32_t i = 0; i < process->nr_devices && !error; i++)
		error = RUN_OWN(writer, PUT_PROCESS_DEVICE, NUMBER(id),
				NUMBER(process->devices[i].device_id),
				NUMBER(process->devices[i].device));
	if (!error)
		error = RUN_OWN(writer, CLEAR_PROCESS_NOTICES, NUMBER(id));
	for (uint32_t i = 0; i < process->nr_notices && !error; i++)
		error = RUN_OWN(writer, PUT_PROCESS_NOTICE, NUMBER(id), NUMBER(i),
				NUMBER(process->notices[i]));
	return error;
}

static int write_ledger(struct store_writer *writer, uint32_t epoch, uint32_t process,
			const struct ledger_entry *entries, uint32_t nr_entries)
{
	int error = RUN_OWN(writer, CLEAR_LEDGER, NUMBER(epoch), NUMBER(process));

	for (uint32_t i = 0; i < nr_entries && !error; i++)
		error = RUN_OWN(writer, PUT_LEDGER, NUMBER(epoch), NUMBER(process),
				NUMBER(entries[i].device_id), NUMBER(entries[i].reason),
				AMOUNT(entries[i].count), AMOUNT(entries[i].ns));
	return error;
}

static int write_process(struct store_writer *writer, uint32_t id,
			 const struct roster_process *process)
{
	struct pending_context context = {writer, id};
	const struct memory_account_sink memory = {write_memory_sums, write_memory_row,
						   write_memory_slots, &context};
	int error = 0;

	if (process->changed)
		error = write_process_row(writer, id, process);
	if (!error && process->lists_changed)
		error = write_process_lists(writer, id, process);
	if (!error && process->ledger_changed)
		error = write_ledger(writer, 0, id, process->ledger, process->nr_ledger);
	if (!error)
		error = store_streams_write(&writer->sets[STREAMS], id, process);
	if (!error && process->finished)
		error = RUN_OWN(writer, CLEAR_PENDING_OF_PROCESS, NUMBER(id));
	if (!error && process->correlator)
		error = correlator_save(process->correlator, write_block, &context);
	if (!error && process->memory)
		error = memory_account_save(process->memory, &memory);
	return error;
}

static int write_roster(struct store_writer *writer, const struct roster *roster)
{
	const struct roster_size *saved = roster_saved_size(roster);
	struct roster_size size = roster_size(roster);
	int error = 0;

	for (uint32_t id = saved->hosts + 1; id <= size.hosts && !error; id++) {
		const struct roster_host *host = roster_host(roster, id);

		error = RUN_OWN(writer, PUT_HOST, NUMBER(id), NUMBER(host->boot_id),
				NUMBER(host->node));
	}
	for (uint32_t id = 1; id <= size.devices && !error; id++) {
		const struct roster_device *device = roster_device(roster, id);

		if (device->changed)
			error = RUN_OWN(writer, PUT_DEVICE, NUMBER(id), NUMBER(device->host),
					database_unless(device->index, MESSAGE_INDEX_NONE),
					database_bytes(device->uuid, sizeof(device->uuid)),
					NUMBER(device->name), NUMBER(device->pci));
	}
	for (uint32_t id = 1; id <= size.processes && !error; id++)
		error = write_process(writer, id, roster_process(roster, id));
	return error;
}

static int write_totals(struct store_writer *writer, enum store_totals_kind kind,
			const struct fold_table *table)
{
	return store_totals_write(&writer->sets[TOTALS], writer->database, &writer->code, kind,
				  table, writer->totals_as_blocks);
}

static int write_timeline_block(struct store_writer *writer, const struct timeline_entry *entry)
{
	const struct timeline_key *key = &entry->key;
	struct timeline_block block = timeline_table_block(entry);
	int error = 0;

	for (uint32_t i = 0; block.clear && i < entry->nr_blocks && !error; i++)
		error = RUN_OWN(writer, DELETE_TIMELINE_BLOCK, NUMBER(key->level),
				NUMBER(key->process_id), NUMBER(key->device_id),
				NUMBER(key->context_id), NUMBER(key->stream_id), NUMBER(i));
	if (error || block.count == 0)
		return error;
	error = block_code_intervals(&writer->code, block.intervals, block.count);
	if (error)
		return error;
	return RUN_OWN(writer, PUT_TIMELINE_BLOCK, NUMBER(key->level), NUMBER(key->process_id),
		       NUMBER(key->device_id), NUMBER(key->context_id), NUMBER(key->stream_id),
		       NUMBER(block.index), NUMBER(block.count), bytes_of(&writer->code));
}

static int write_timeline(struct store_writer *writer, const struct timeline_entry *entry)
{
	const struct timeline_key *key = &entry->key;
	struct timeline_sums sums;
	uint32_t nr_open;
	int error = write_timeline_block(writer, entry);

	if (error)
		return error;
	stream_timeline_open(entry->timeline, &nr_open);
	stream_timeline_sums(entry->timeline, &sums);
	return RUN_OWN(writer, PUT_TIMELINE, NUMBER(key->level), NUMBER(key->process_id),
		       NUMBER(key->device_id), NUMBER(key->context_id), NUMBER(key->stream_id),
		       NUMBER(sums.records), NUMBER(sums.sum_ns),
		       NUMBER(stream_timeline_busy_ns(entry->timeline)), NUMBER(sums.closed_ns),
		       NUMBER(sums.horizon_ns), NUMBER(sums.first_ns), NUMBER(sums.last_ns),
		       NUMBER(sums.late), NUMBER(sums.late_ns), NUMBER(sums.close_at),
		       NUMBER(nr_open), NUMBER(sums.uncaptured_ns));
}

/* Entries of a level were made in about the order of the tables, so that the same pages follow one another. */
static int write_timelines(struct store_writer *writer, const struct timeline_table *timelines)
{
	uint32_t nr_entries;
	const struct timeline_entry *entries = timeline_table_entries(timelines, &nr_entries);
	int error = 0;

	for (uint32_t level = 0; level < TIMELINE_LEVELS && !error; level++)
		for (uint32_t i = 0; i < nr_entries && !error; i++)
			if (entries[i].changed && entries[i].key.level == level)
				error = write_timeline(writer, &entries[i]);
	return error;
}

/* Joins and folds calls before they are written, because most of them then need no row. */
static int write_collectives(struct store_writer *writer, const struct collective_log *log)
{
	uint32_t nr_calls;
	const struct collective_log_call *added = collective_log_calls(log, &nr_calls);
	struct collective_log_call *calls = malloc((nr_calls + 1ul) * sizeof(*calls));

	if (!calls)
		return -ENOMEM;
	if (nr_calls)
		memcpy(calls, added, nr_calls * sizeof(*calls));
	int error = store_collectives_write_communicators(&writer->sets[COLLECTIVES], log);
	if (!error)
		error = store_joins_write(&writer->sets[JOINS], log, calls, nr_calls);
	if (!error)
		error = store_folds_write(&writer->folds, writer->database, calls, &nr_calls);
	if (!error)
		error = store_collectives_write_calls(&writer->sets[COLLECTIVES], calls, nr_calls);
	free(calls);
	return error;
}

static int write_session_ids(struct store_writer *writer, const struct agent_session *session)
{
	int error = 0;

	for (int kind = 0; kind < SESSION_ID_KINDS && !error; kind++) {
		const struct session_ids *ids = &session->ids[kind];
		uint32_t count = ids->count - ids->saved;

		if (count == 0)
			continue;
		error = block_code_ids(&writer->code, ids->ids + ids->saved, count);
		if (!error)
			error = RUN_OWN(writer, PUT_EPOCH_IDS, NUMBER(session->id),
					NUMBER((uint32_t)kind), NUMBER(ids->saved + 1),
					NUMBER(count), bytes_of(&writer->code));
	}
	return error;
}

static enum store_epoch_state state_of(const struct agent_session *session)
{
	if (session->ended)
		return STORE_EPOCH_ENDED;
	return session->superseded ? STORE_EPOCH_SUPERSEDED : STORE_EPOCH_OPEN;
}

static int write_session(struct store_writer *writer, const struct agent_session *session)
{
	int error = 0;

	if (session->changed)
		error = RUN_OWN(writer, PUT_EPOCH, NUMBER(session->id),
				database_bytes(session->epoch, sizeof(session->epoch)),
				NUMBER(session->host), NUMBER(session->software),
				NUMBER(session->received_seq), NUMBER((uint32_t)state_of(session)),
				AMOUNT(session->spoke_ns), NUMBER(ROSTER_WRITER));
	if (!error && session->changed && session->ended)
		error = RUN_OWN(writer, CLEAR_EPOCH_IDS, NUMBER(session->id));
	if (!error && session->changed && !session->ended)
		error = write_session_ids(writer, session);
	if (!error && session->ledger_changed)
		error = write_ledger(writer, session->id, 0, session->ledger, session->nr_ledger);
	return error;
}

static int write_all(struct store_writer *writer, const struct collection *collection)
{
	int error = write_catalog(writer, collection->catalog);

	if (!error)
		error = write_roster(writer, collection->roster);
	if (!error)
		error = store_statistics_write(&writer->sets[STATISTICS], collection->roster);
	if (!error)
		error = write_totals(writer, STORE_TOTALS_GPU, collection->totals);
	if (!error)
		error = write_totals(writer, STORE_TOTALS_SAMPLES, collection->samples);
	if (!error)
		error = write_timelines(writer, collection->timelines);
	if (!error)
		error = store_idle_write(&writer->sets[IDLE], &writer->code, collection->idle);
	if (!error)
		error = store_kept_write(&writer->sets[KEPT], &writer->code, collection->kept);
	if (!error)
		error = store_raw_write(&writer->sets[RAW], collection->raw);
	if (!error)
		error = write_collectives(writer, collection->collectives);
	if (!error)
		error = store_clocks_write(&writer->sets[CLOCKS], collection->clocks);
	if (!error)
		error = store_placement_write(&writer->sets[PLACEMENT], collection->placements);
	for (uint32_t i = 0; i < collection->nr_sessions && !error; i++)
		error = write_session(writer, collection->sessions[i]);
	return error ? error : store_messages_clear(&writer->sets[MESSAGES]);
}

int store_writer_commit(struct store_writer *writer, const struct collection *collection,
			bool messages_alone)
{
	int error = database_execute(writer->database, "BEGIN IMMEDIATE");

	if (error)
		return error;
	error = messages_alone ? store_messages_write(&writer->sets[MESSAGES], collection)
			       : write_all(writer, collection);
	if (!error)
		error = database_execute(writer->database, "COMMIT");
	if (error)
		database_roll_back(writer->database);
	return error;
}

int store_writer_end(struct store_writer *writer)
{
	struct statement_set *set = &writer->sets[TOTALS];
	int error = database_execute(writer->database, "BEGIN IMMEDIATE");

	if (error)
		return error;
	if (!writer->totals_as_blocks)
		error = store_totals_spread(set, writer->database, STORE_TOTALS_SPREAD_MAX);
	for (int kind = 0; kind < STORE_TOTALS_KINDS && writer->totals_as_blocks && !error; kind++)
		error = store_totals_join(set, writer->database, &writer->code,
					  (enum store_totals_kind)kind, 2);
	if (!error)
		error = database_execute(writer->database, "COMMIT");
	if (error)
		database_roll_back(writer->database);
	return error;
}

bool store_writer_take_folded(struct store_writer *writer)
{
	return store_folds_take_news(&writer->folds);
}
