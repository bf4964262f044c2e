#include "store_loader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "block_code.h"
#include "load/store_busy.h"
#include "store_collectives.h"
#include "store_idle.h"
#include "store_kept.h"
#include "store_raw.h"
#include "store_schema.h"
#include "store_statistics.h"
#include "store_streams.h"
#include "store_table.h"

#include "aggregator/core/correlator.h"
#include "aggregator/core/memory_account.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"

static int32_t number_or(struct statement *row, uint32_t column, int32_t none)
{
	return statement_null(row, column) ? none : (int32_t)statement_signed(row, column);
}

/* Ids are dense and contents unique. So adding in the order of the ids gives each content its own id again. */
static int expect(int error, uint32_t id, uint32_t wanted)
{
	if (error)
		return error;
	return id == wanted ? 0 : -EPROTO;
}

static int take_string(struct collection *collection, struct statement *row)
{
	uint32_t size, id;
	const char *data = statement_bytes(row, 1, &size);

	int error = catalog_add_string(collection->catalog, data ? data : "", size, &id);
	return expect(error, id, statement_number32(row, 0));
}

static int take_module(struct collection *collection, struct statement *row)
{
	struct catalog_module module = {.path = statement_number32(row, 1),
					.flags = statement_number32(row, 2),
					.owner = statement_number32(row, 3)};
	uint32_t id;
	const void *build_id = statement_bytes(row, 4, &module.build_id_size);

	if (module.build_id_size > WIRE_BUILD_ID_MAX ||
	    module.path > catalog_size(collection->catalog).strings)
		return -EPROTO;
	if (module.build_id_size)
		memcpy(module.build_id, build_id, module.build_id_size);
	int error = catalog_add_module(collection->catalog, &module, &id);
	return expect(error, id, statement_number32(row, 0));
}

static int take_code(struct collection *collection, struct statement *row)
{
	struct catalog_code code = {.file = statement_number32(row, 1),
				    .name = statement_number32(row, 2)};
	uint32_t id, nr_strings = catalog_size(collection->catalog).strings;

	if (code.file > nr_strings || code.name == 0 || code.name > nr_strings)
		return -EPROTO;
	int error = catalog_add_code(collection->catalog, code, &id);
	return expect(error, id, statement_number32(row, 0));
}

static int take_frame(struct collection *collection, struct statement *row)
{
	struct catalog_size size = catalog_size(collection->catalog);
	uint32_t id, module = statement_number32(row, 1), scope = statement_number32(row, 3),
		     code = statement_number32(row, 4);
	uint32_t name = statement_null(row, 5) ? CATALOG_NAME_UNKNOWN : statement_number32(row, 5);

	if (module > size.modules || code > size.codes || (code && (module || scope)) ||
	    (name != CATALOG_NAME_UNKNOWN && name > size.strings))
		return -EPROTO;
	int error = code ? catalog_add_code_frame(collection->catalog, code,
						  statement_number(row, 2), &id)
			 : catalog_add_frame(collection->catalog, module, statement_number(row, 2),
					     scope, &id);
	error = expect(error, id, statement_number32(row, 0));
	return error ? error : catalog_name_frame(collection->catalog, id, name);
}

static int take_node(struct collection *collection, struct statement *row)
{
	struct catalog_size size = catalog_size(collection->catalog);
	uint32_t id, parent = statement_number32(row, 1), frame = statement_number32(row, 2);

	if (parent > size.nodes || frame == 0 || frame > size.frames)
		return -EPROTO;
	int error = catalog_add_node(collection->catalog, parent, frame, &id);
	return expect(error, id, statement_number32(row, 0));
}

/* 0 stands for no text. */
static bool is_text(const struct collection *collection, uint32_t string_id)
{
	return string_id <= catalog_size(collection->catalog).strings;
}

static int take_host(struct collection *collection, struct statement *row)
{
	struct roster_host host = {.boot_id = statement_number32(row, 1),
				   .node = statement_number32(row, 2)};
	uint32_t id;

	if (!is_text(collection, host.boot_id) || !is_text(collection, host.node))
		return -EPROTO;
	int error = roster_add_host(collection->roster, &host, &id);

	return expect(error, id, statement_number32(row, 0));
}

/* 0 stands for an unknown host. */
static bool is_host(const struct collection *collection, uint32_t host)
{
	return host <= roster_size(collection->roster).hosts;
}

static bool is_writer(const struct collection *collection, uint32_t writer)
{
	return writer > 0 && writer <= collection->nr_writers;
}

static int take_writer(struct collection *collection, struct statement *row)
{
	uint32_t size;

	statement_bytes(row, 1, &size);
	return statement_number32(row, 0) == ++collection->nr_writers && size == STORE_WRITER_SIZE
		       ? 0
		       : -EPROTO;
}

static int take_device(struct collection *collection, struct statement *row)
{
	struct roster_device device = {
		.host = statement_number32(row, 1),
		.index = number_or(row, 2, MESSAGE_INDEX_NONE),
		.name = statement_number32(row, 4),
		.pci = statement_number32(row, 5),
	};
	uint32_t id, size;
	const void *uuid = statement_bytes(row, 3, &size);

	if (size != sizeof(device.uuid) || !is_host(collection, device.host) ||
	    !is_text(collection, device.name) || !is_text(collection, device.pci))
		return -EPROTO;
	memcpy(device.uuid, uuid, size);
	int error = roster_add_device(collection->roster, &device, &id);
	return expect(error, id, statement_number32(row, 0));
}

static void take_counts(struct correlator_counts *counts, struct statement *row, uint32_t column)
{
	*counts = (struct correlator_counts){
		.launches = statement_number(row, column),
		.failed = statement_number(row, column + 1),
		.expired = statement_number(row, column + 2),
		.records = statement_number(row, column + 3),
		.matched = statement_number(row, column + 4),
		.unmatched = statement_number(row, column + 5),
		.invalid = statement_number(row, column + 6),
		.launch_order = statement_number(row, column + 7),
		.retire_order = statement_number(row, column + 8),
		.waiting_order = statement_number(row, column + 9),
	};
}

static int take_process(struct collection *collection, struct statement *row)
{
	struct roster_identity identity = {
		.host = statement_number32(row, 1),
		.pid = statement_number32(row, 2),
		.pid_namespace = statement_number(row, 3),
		.start_ticks = statement_number(row, 4),
		.writer = statement_number32(row, 23),
	};
	uint32_t id, size;
	const void *instance = statement_bytes(row, 5, &size);

	if (size != sizeof(identity.instance) || !is_host(collection, identity.host) ||
	    !is_writer(collection, identity.writer))
		return -EPROTO;
	memcpy(identity.instance, instance, size);
	int error = roster_add_process(collection->roster, &identity, &id);
	error = expect(error, id, statement_number32(row, 0));
	if (error)
		return error;

	struct roster_process *process = roster_process(collection->roster, id);
	process->state = statement_number32(row, 6);
	process->rank = number_or(row, 7, MESSAGE_RANK_NONE);
	process->local_rank = number_or(row, 8, MESSAGE_RANK_NONE);
	process->world_size = number_or(row, 9, MESSAGE_RANK_NONE);
	process->job = statement_number32(row, 10);
	process->command = statement_number32(row, 11);
	take_counts(&process->counts, row, 12);
	process->spoke_ns = statement_number(row, 22);
	return 0;
}

static int take_process_device(struct collection *collection, struct statement *row)
{
	struct roster_process *process =
		roster_process(collection->roster, statement_number32(row, 0));

	if (!process || !roster_device(collection->roster, statement_number32(row, 2)))
		return -EPROTO;
	struct roster_ordinal *devices =
		realloc(process->devices, (process->nr_devices + 1) * sizeof(*devices));
	if (!devices)
		return -ENOMEM;
	process->devices = devices;
	devices[process->nr_devices++] =
		(struct roster_ordinal){statement_number32(row, 1), statement_number32(row, 2)};
	return 0;
}

static int take_process_notice(struct collection *collection, struct statement *row)
{
	struct roster_process *process =
		roster_process(collection->roster, statement_number32(row, 0));

	if (!process)
		return -EPROTO;
	uint32_t *notices = realloc(process->notices, (process->nr_notices + 1) * sizeof(*notices));
	if (!notices)
		return -ENOMEM;
	process->notices = notices;
	notices[process->nr_notices++] = statement_number32(row, 2);
	return 0;
}

static int append_ledger(struct ledger_entry **ledger, uint32_t *nr_ledger, struct statement *row)
{
	struct ledger_entry *entries = realloc(*ledger, (*nr_ledger + 1) * sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	*ledger = entries;
	entries[(*nr_ledger)++] = (struct ledger_entry){
		.device_id = statement_number32(row, 2),
		.reason = statement_number32(row, 3),
		.count = statement_number(row, 4),
		.ns = statement_number(row, 5),
	};
	return 0;
}

static int take_ledger(struct collection *collection, struct statement *row)
{
	uint32_t epoch = statement_number32(row, 0), id = statement_number32(row, 1);
	struct roster_process *process = roster_process(collection->roster, id);

	if (epoch == 0 && process)
		return append_ledger(&process->ledger, &process->nr_ledger, row);
	if (epoch == 0 || epoch > collection->nr_sessions)
		return -EPROTO;
	struct agent_session *session = collection->sessions[epoch - 1];
	return append_ledger(&session->ledger, &session->nr_ledger, row);
}

static int take_epoch(struct collection *collection, struct statement *row)
{
	uint32_t size;
	const uint8_t *epoch = statement_bytes(row, 1, &size);

	if (size != WIRE_EPOCH_SIZE)
		return -EPROTO;
	struct agent_session *session = collection_session(collection, epoch);
	if (!session)
		return -ENOMEM;
	if (session->id != statement_number32(row, 0))
		return -EPROTO;
	session->host = statement_number32(row, 2);
	session->software = statement_number32(row, 3);
	session->writer = statement_number32(row, 7);
	if (!is_host(collection, session->host) ||
	    !is_writer(collection, statement_number32(row, 7)))
		return -EPROTO;
	session->received_seq = statement_number(row, 4);
	session->ended = statement_number32(row, 5) == STORE_EPOCH_ENDED;
	session->superseded = statement_number32(row, 5) == STORE_EPOCH_SUPERSEDED;
	session->spoke_ns = statement_number(row, 6);
	return 0;
}

static uint32_t limit_of(const struct collection *collection, uint32_t kind)
{
	struct catalog_size size = catalog_size(collection->catalog);

	switch (kind) {
	case SESSION_STRINGS:
		return size.strings;
	case SESSION_MODULES:
		return size.modules;
	case SESSION_CODES:
		return size.codes;
	case SESSION_FRAMES:
		return size.frames;
	case SESSION_NODES:
		return size.nodes;
	default:
		return roster_size(collection->roster).processes;
	}
}

static int take_epoch_ids(struct collection *collection, struct statement *row)
{
	uint32_t epoch = statement_number32(row, 0), kind = statement_number32(row, 1),
		 count = statement_number32(row, 3);
	uint32_t size;
	const uint8_t *bytes = statement_bytes(row, 4, &size);

	/* Each id takes at least one byte, so a damaged count cannot cause a large allocation. */
	if (epoch == 0 || epoch > collection->nr_sessions || kind >= SESSION_ID_KINDS ||
	    count > size ||
	    statement_number32(row, 2) != collection->sessions[epoch - 1]->ids[kind].count + 1)
		return -EPROTO;

	uint32_t *ids = malloc((count ? count : 1) * sizeof(*ids));
	int error = ids ? 0 : -ENOMEM;
	if (!error)
		error = block_decode_ids(bytes, size, ids, count);
	for (uint32_t i = 0; i < count && !error; i++) {
		if (ids[i] == 0 || ids[i] > limit_of(collection, kind))
			error = -EPROTO;
		else
			error = agent_session_add_id(collection->sessions[epoch - 1],
						     (enum session_id_kind)kind, ids[i]);
	}
	free(ids);
	return error;
}

/* *memory is the account of the process, which is made if it is missing. */
static int get_memory(struct collection *collection, uint32_t id, struct memory_account **memory)
{
	struct roster_process *process = roster_process(collection->roster, id);
	const struct memory_account_options options = {.track_changes = true};

	*memory = NULL;
	if (!process)
		return -EPROTO;
	if (!process->memory)
		process->memory = memory_account_create(&options);
	*memory = process->memory;
	return *memory ? 0 : -ENOMEM;
}

static int take_memory(struct collection *collection, struct statement *row)
{
	const struct memory_sums sums = {
		.device_id = statement_number32(row, 1),
		.space = statement_number32(row, 2),
		.allocs = statement_number(row, 3),
		.alloc_bytes = statement_number(row, 4),
		.frees = statement_number(row, 5),
		.free_bytes = statement_number(row, 6),
		.live_count = statement_number(row, 7),
		.live_bytes = statement_number(row, 8),
		.peak_bytes = statement_number(row, 9),
		.peak_ns = statement_number(row, 10),
		.first_ns = statement_number(row, 11),
		.last_ns = statement_number(row, 12),
		.unknown_frees = statement_number(row, 13),
		.unknown_bytes = statement_number(row, 14),
		.duplicates = statement_number(row, 15),
		.replaced = statement_number(row, 16),
		.untracked = statement_number(row, 17),
		.late = statement_number(row, 18),
	};
	struct memory_account *memory;
	int error = get_memory(collection, statement_number32(row, 0), &memory);

	return error ? error : memory_account_load_sums(memory, &sums);
}

static int take_memory_stack(struct collection *collection, struct statement *row)
{
	struct memory_account *memory;
	struct memory_row loaded;
	int error = get_memory(collection, statement_number32(row, 0), &memory);

	memset(&loaded, 0, sizeof(loaded));
	loaded.key.device_id = statement_number32(row, 1);
	loaded.key.tid = statement_number32(row, 2);
	loaded.key.stack_id = statement_number32(row, 3);
	loaded.key.kind = (uint8_t)statement_number32(row, 4);
	loaded.key.matched = (uint8_t)statement_number32(row, 5);
	loaded.live_count = statement_number(row, 6);
	loaded.live_bytes = statement_number(row, 7);
	loaded.peak_count = statement_number(row, 8);
	loaded.peak_bytes = statement_number(row, 9);
	if (loaded.key.stack_id > catalog_size(collection->catalog).nodes)
		return -EPROTO;
	return error ? error : memory_account_load_row(memory, &loaded);
}

static int load_slots(struct collection *collection, struct statement *row)
{
	struct memory_slot slots[MEMORY_SLOTS_BLOCK];
	uint32_t size, count = statement_number32(row, 3);
	const uint8_t *bytes = statement_bytes(row, 4, &size);
	struct memory_account *memory;
	int error = get_memory(collection, statement_number32(row, 0), &memory);

	if (error)
		return error;
	if (count > MEMORY_SLOTS_BLOCK || block_decode_slots(bytes, size, slots, count))
		return -EPROTO;
	for (uint32_t i = 0; i < count && !error; i++) {
		if (slots[i].index / MEMORY_SLOTS_BLOCK != statement_number(row, 2) ||
		    slots[i].event.stack_id > catalog_size(collection->catalog).nodes)
			return -EPROTO;
		error = memory_account_load_slot(memory, &slots[i]);
	}
	return error;
}

static int load_block(struct correlator *correlator, struct statement *row)
{
	struct launch launches[CORRELATOR_BLOCK_SIZE];
	struct waiting_records_entry records[CORRELATOR_BLOCK_SIZE];
	struct correlator_block block = {
		.kind = (enum correlator_block_kind)statement_number32(row, 1),
		.index = statement_number(row, 2),
		.count = statement_number32(row, 3),
		.launches = launches,
		.records = records,
	};
	uint32_t size;
	const uint8_t *bytes = statement_bytes(row, 4, &size);
	int error = -EPROTO;

	if (block.count > CORRELATOR_BLOCK_SIZE)
		return -EPROTO;
	if (block.kind == CORRELATOR_BLOCK_LAUNCHES)
		error = block_decode_launches(bytes, size, launches, block.count);
	else if (block.kind == CORRELATOR_BLOCK_RECORDS)
		error = block_decode_records(bytes, size, records, block.count);
	return error ? error : correlator_load(correlator, &block);
}

static int take_pending(struct collection *collection, struct statement *row)
{
	uint32_t id = statement_number32(row, 0);
	struct roster_process *process = roster_process(collection->roster, id);

	if (!process)
		return -EPROTO;
	if (statement_number32(row, 1) == STORE_PENDING_MEMORY)
		return load_slots(collection, row);
	int error = roster_process_correlate(process, id, collection->totals);
	return error ? error : load_block(process->correlator, row);
}

static int end_process(struct roster_process *process)
{
	int error = process->correlator ? correlator_load_end(process->correlator, &process->counts)
					: 0;

	if (!error && process->memory)
		error = memory_account_load_end(process->memory);
	return error == -EINVAL ? -EPROTO : error;
}

static int end_processes(struct collection *collection)
{
	int error = 0;

	for (uint32_t id = 1; id <= roster_size(collection->roster).processes && !error; id++)
		error = end_process(roster_process(collection->roster, id));
	return error;
}

static const struct store_table names[] = {
	{"SELECT * FROM strings ORDER BY id", take_string},
	{"SELECT * FROM writers ORDER BY id", take_writer},
	{"SELECT * FROM hosts ORDER BY id", take_host},
	{"SELECT * FROM devices ORDER BY id", take_device},
	{"SELECT * FROM processes ORDER BY id", take_process},
	{"SELECT * FROM modules ORDER BY id", take_module},
	{"SELECT * FROM codes ORDER BY id", take_code},
	{"SELECT * FROM frames ORDER BY id", take_frame},
	{"SELECT * FROM nodes ORDER BY id", take_node},
	{"SELECT * FROM process_devices ORDER BY process, device_id", take_process_device},
	{"SELECT * FROM process_notices ORDER BY process, position", take_process_notice},
	{"SELECT * FROM epochs ORDER BY id", take_epoch},
	{"SELECT * FROM epoch_ids ORDER BY epoch, kind, base", take_epoch_ids},
	{"SELECT * FROM ledger", take_ledger},
};

int store_loader_load_names(struct database *database, struct collection *collection,
			    enum store_loader_depth depth)
{
	return store_table_load(database, collection, names, depth);
}

static int load(struct database *database, struct collection *collection, bool is_closed)
{
	static const struct store_table tables[] = {
		{"SELECT * FROM memory", take_memory},
		{"SELECT * FROM memory_stacks", take_memory_stack},
		{"SELECT * FROM pending ORDER BY process, kind, block", take_pending},
	};
	static int (*const loads[])(struct database * database, struct collection * collection) = {
		store_streams_load, store_statistics_load, store_raw_load, store_kept_load_levels};
	int error = store_loader_load_names(database, collection, STORE_LOADER_ACCOUNTS);

	if (!error)
		error = store_busy_load(database, collection, is_closed);
	if (!error)
		error = store_table_load(database, collection, tables,
					 sizeof(tables) / sizeof(tables[0]));
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]) && !error; i++)
		error = loads[i](database, collection);
	/* What is logged of idle time goes on from here. Nobody continues a merged profile. */
	if (!error && collection->nr_writers == 1)
		error = store_idle_load(database, collection);
	if (!error && collection->nr_writers == 1)
		error = store_kept_load(database, collection);
	if (!error)
		error = store_collectives_load(database, collection);
	if (!error)
		error = end_processes(collection);
	if (!error)
		collection_saved(collection);
	return error;
}

int store_loader_load(struct database *database, struct collection *collection)
{
	return load(database, collection, false);
}

int store_loader_load_closed(struct database *database, struct collection *collection)
{
	return load(database, collection, true);
}
