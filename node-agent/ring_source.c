#include "ring_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "id_table.h"
#include "module_table.h"
#include "proto/definition.h"
#include "release_queue.h"
#include "stack_resolver.h"
#include "symbolizer.h"

enum phase {
	PHASE_DEFINITIONS,
	PHASE_LAUNCHES,
	PHASE_ACTIVITY,
	PHASE_DONE,
};

struct ring_source {
	struct record_ring *ring; /* owns */
	struct ring_source_outputs outputs;
	struct module_table *modules;  /* owns */
	struct stack_resolver *stacks; /* owns */
	struct release_queue releases;
	struct id_table names; /* guest's name id to string id */
	uint64_t text_room;    /* bytes of names and paths that may yet be taken */
	int64_t clock_offset_ns;
	bool clock_valid, activity_mad, definitions_mad;
	bool lane_mad[RECORD_RING_LANES_MAX];
	uint64_t nr_launches, nr_records;
	enum phase phase;
	uint32_t lane;
	struct record_ring_snapshot snapshot;
	_Alignas(8) uint8_t definition[DEFINITION_SIZE_MAX];
};

int ring_source_create(struct record_ring *ring, const struct ring_source_outputs *outputs,
		       pid_t pid, bool same_user, struct ring_source **source)
{
	struct ring_source *new_source = calloc(1, sizeof(*new_source));

	*source = NULL;
	if (!new_source) {
		record_ring_unmap(ring);
		return -ENOMEM;
	}
	new_source->ring = ring;
	new_source->outputs = *outputs;
	new_source->text_room = RING_SOURCE_NAMES_SIZE_MAX;
	new_source->phase = PHASE_DONE;
	new_source->modules = module_table_create(&new_source->outputs, pid, same_user);
	if (new_source->modules)
		new_source->stacks = stack_resolver_create(
			ring, &new_source->outputs, new_source->modules, &new_source->text_room);
	if (!new_source->stacks) {
		ring_source_destroy(new_source);
		return -ENOMEM;
	}
	*source = new_source;
	return 0;
}

void ring_source_destroy(struct ring_source *source)
{
	if (!source)
		return;
	stack_resolver_destroy(source->stacks);
	module_table_destroy(source->modules);
	record_ring_unmap(source->ring);
	release_queue_fini(&source->releases);
	id_table_fini(&source->names);
	free(source);
}

static void count(struct ring_source *source, uint32_t device_id, enum ledger_reason reason)
{
	process_ledger_count(source->outputs.ledger, device_id, reason, 1);
}

/* ---- definitions
 * ------------------------------------------------------------------------------------------- */

/* A guest that sends more text than any program has names gets no more of the agent's memory. */
static bool take_text(struct ring_source *source, size_t size)
{
	if (size > source->text_room)
		return false;
	source->text_room -= size;
	return true;
}

static int define_name(struct ring_source *source, const struct definition_name *name,
		       const char *text, size_t size)
{
	uint32_t string_id;

	if (name->name_id == RECORD_NAME_NONE || name->name_id > RING_SOURCE_NAMES_MAX ||
	    !take_text(source, size))
		return 0; /* its records count as LEDGER_NAME_LOST */
	int r = string_dictionary_intern(source->outputs.strings, text, size, &string_id);
	if (r)
		return r;
	return id_table_set(&source->names, name->name_id, string_id);
}

static int define_module(struct ring_source *source, const struct definition_module *module,
			 const char *path, size_t size)
{
	int r = take_text(source, size) ? module_table_add(source->modules, module, path, size)
					: -ENOSPC;

	if (r == -ENOMEM)
		return r;
	if (r)
		count(source, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST);
	return 0;
}

static int define_device(struct ring_source *source, const struct definition_device *device,
			 const char *name, size_t size)
{
	return process_description_add_device(source->outputs.description, device, name, size);
}

static int define_stream(struct ring_source *source, const struct definition_stream *stream,
			 const char *name, size_t size)
{
	const uint32_t known = DEFINITION_STREAM_PRIORITY | DEFINITION_STREAM_NON_BLOCKING |
			       DEFINITION_STREAM_DEFAULT | DEFINITION_STREAM_NAMED;
	struct definition_stream copy = *stream;

	copy.flags &= known;
	if (!take_text(source, size))
		copy.flags &= ~(uint32_t)DEFINITION_STREAM_NAMED;
	return process_description_add_stream(source->outputs.description, &copy, name, size);
}

static int define_clock(struct ring_source *source, const struct definition_clock *clock)
{
	source->clock_offset_ns = (int64_t)(clock->monotonic_ns - clock->cupti_ns);
	source->clock_valid = true;
	return 0;
}

/* What is good to know, but no reason to interrupt anybody. */
static bool is_fact(uint32_t code)
{
	return code == NOTICE_CUPTI_FOUND || code == NOTICE_PYTHON_FOUND ||
	       code == NOTICE_UNWIND_TABLES;
}

static int define_notice(struct ring_source *source, const struct definition_notice *head,
			 const char *text, size_t size)
{
	char line[PROCESS_NOTICE_SIZE + 1];

	size = strnlen(text, size < PROCESS_NOTICE_SIZE ? size : PROCESS_NOTICE_SIZE);
	for (size_t i = 0; i < size; i++)
		line[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
	line[size] = '\0';
	int r = process_description_add_notice(source->outputs.description, line, size);
	if (r == 1 && source->outputs.notice && !is_fact(head->code))
		source->outputs.notice(source->outputs.context, line);
	return r < 0 ? r : 0;
}

/* What finds no room is missing in the statistics, and nothing else. */
static int keep_statistic(struct ring_source *source, int r, uint64_t nr_lost)
{
	if (r == -ENOSPC)
		process_ledger_count(source->outputs.ledger, LEDGER_DEVICE_NONE,
				     LEDGER_STATISTIC_LOST, nr_lost);
	return r == -ENOSPC ? 0 : r;
}

static int define_api_statistic(struct ring_source *source,
				const struct definition_api_statistic *call, const char *name,
				size_t size)
{
	uint32_t string_id = STRING_NONE;
	int r = 0;

	if (!source->outputs.statistics)
		return 0;
	if (call->domain != STATISTICS_DRIVER && call->domain != STATISTICS_RUNTIME) {
		count(source, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING);
		return 0;
	}
	if (!process_statistics_has_call(source->outputs.statistics, call)) {
		r = take_text(source, size) ? string_dictionary_intern(source->outputs.strings,
								       name, size, &string_id)
					    : -ENOSPC;
		if (r)
			return keep_statistic(source, r, 1);
	}
	r = process_statistics_take_call(source->outputs.statistics, call, string_id);
	return keep_statistic(source, r, 1);
}

static int define_kernel_config(struct ring_source *source,
				const struct definition_kernel_config *sums)
{
	struct definition_kernel_config bounded = *sums;
	uint32_t name_id = sums->config.name_id;

	if (!source->outputs.statistics)
		return 0;
	if (bounded.config.device_id >= RECORD_DEVICES_MAX)
		bounded.config.device_id = RECORD_DEVICES_MAX - 1;
	if (name_id != RECORD_NAME_NONE)
		name_id = name_id <= RING_SOURCE_NAMES_MAX ? id_table_get(&source->names, name_id)
							   : STRING_NONE;
	return keep_statistic(
		source,
		process_statistics_take_config(source->outputs.statistics, &bounded, name_id), 1);
}

static uint32_t head_size(uint32_t type)
{
	switch (type) {
	case DEFINITION_NAME:
		return sizeof(struct definition_name);
	case DEFINITION_MODULE:
		return sizeof(struct definition_module);
	case DEFINITION_DEVICE:
		return sizeof(struct definition_device);
	case DEFINITION_CLOCK:
		return sizeof(struct definition_clock);
	case DEFINITION_NOTICE:
		return sizeof(struct definition_notice);
	case DEFINITION_WINDOW:
		return sizeof(struct definition_window);
	case DEFINITION_API_STATISTIC:
		return sizeof(struct definition_api_statistic);
	case DEFINITION_KERNEL_CONFIG:
		return sizeof(struct definition_kernel_config);
	case DEFINITION_STREAM:
		return sizeof(struct definition_stream);
	default:
		return UINT32_MAX;
	}
}

static int define(struct ring_source *source, uint32_t type, uint32_t size)
{
	const void *head = source->definition;
	uint32_t head_bytes = head_size(type);

	if (size < head_bytes) {
		count(source, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING);
		return 0;
	}
	const char *text = (const char *)source->definition + head_bytes;
	size_t text_size = size - head_bytes;
	switch (type) {
	case DEFINITION_NAME:
		return define_name(source, head, text, text_size);
	case DEFINITION_MODULE:
		return define_module(source, head, text, text_size);
	case DEFINITION_DEVICE:
		return define_device(source, head, text, text_size);
	case DEFINITION_CLOCK:
		return define_clock(source, head);
	case DEFINITION_STREAM:
		return define_stream(source, head, text, text_size);
	case DEFINITION_NOTICE:
		return define_notice(source, head, text, text_size);
	case DEFINITION_API_STATISTIC:
		return define_api_statistic(source, head, text, text_size);
	case DEFINITION_KERNEL_CONFIG:
		return define_kernel_config(source, head);
	default:
		return 0; /* DEFINITION_WINDOW: the records carry their window's number */
	}
}

/* A full dictionary costs names, never the agent. */
static int tolerate(int r)
{
	return r == -ENOSPC ? 0 : r;
}

static int read_definitions(struct ring_source *source)
{
	for (;;) {
		uint32_t type, size;
		int r = record_ring_read_definition(source->ring, &source->snapshot, &type,
						    source->definition, sizeof(source->definition),
						    &size);

		if (r == -EMSGSIZE) {
			count(source, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING);
			continue;
		}
		if (r == -EPROTO && !source->definitions_mad) {
			source->definitions_mad = true;
			count(source, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING);
		}
		if (r != 1)
			return 0;
		r = tolerate(define(source, type, size));
		if (r)
			return r;
	}
}

/* ---- launches
 * ---------------------------------------------------------------------------------------------- */

static int translate_launch(struct ring_source *source, struct launch_record *launch)
{
	launch->flags &= RECORD_LAUNCH_FAILED | RECORD_LAUNCH_MANY | RECORD_LAUNCH_HOST;
	launch->reserved = 0;
	/* It says that a launch came to nothing, and needs no stack. */
	if (launch->flags & RECORD_LAUNCH_FAILED) {
		launch->stack_id = STACK_NODE_NONE;
		return 0;
	}
	int r = stack_resolver_node(source->stacks, launch->stack_id, launch->cbid,
				    &launch->stack_id);
	if (r == 0 && launch->stack_id == STACK_NODE_NONE)
		count(source, LEDGER_DEVICE_NONE, LEDGER_STACK_TABLE_FULL);
	return r;
}

/* 1: the batch is full; 0: all lanes are read; -errno. */
static int read_launches(struct ring_source *source, struct batch_builder *builder)
{
	while (source->lane < source->snapshot.lanes) {
		uint32_t room;
		struct launch_record *launches = batch_builder_launch_room(builder, &room);

		if (room == 0)
			return 1;
		int got = record_ring_read_launches(source->ring, &source->snapshot, source->lane,
						    launches, room);
		if (got < 0 && !source->lane_mad[source->lane]) {
			source->lane_mad[source->lane] = true;
			count(source, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING);
		}
		if (got <= 0) {
			source->lane++;
			continue;
		}
		for (int i = 0; i < got; i++) {
			int r = translate_launch(source, &launches[i]);

			if (r)
				return r;
		}
		batch_builder_commit_launches(builder, (uint32_t)got);
		source->nr_launches += (uint32_t)got;
	}
	return 0;
}

/* ---- GPU records
 * ------------------------------------------------------------------------------------------- */

static void translate_name(struct ring_source *source, struct gpu_record *record)
{
	if (record->name_id == RECORD_NAME_NONE)
		return;
	record->name_id = record->name_id <= RING_SOURCE_NAMES_MAX
				  ? id_table_get(&source->names, record->name_id)
				  : STRING_NONE;
	if (record->name_id == STRING_NONE)
		count(source, record->device_id, LEDGER_NAME_LOST);
}

/* One without a stack was counted by the guest, if it should have had one. */
static int translate_capture(struct ring_source *source, struct gpu_record *record)
{
	if (record->capture_stack_id == RECORD_STACK_NONE)
		return 0;
	int r = stack_resolver_capture(source->stacks, record->capture_stack_id,
				       &record->capture_stack_id);
	if (r == 0 && record->capture_stack_id == STACK_NODE_NONE)
		count(source, record->device_id, LEDGER_CAPTURE_UNKNOWN);
	return r;
}

/* 1: it is kept; 0: no guest writes this; -ENOMEM. */
static int translate_record(struct ring_source *source, struct gpu_record *record)
{
	if (record->device_id >= RECORD_DEVICES_MAX &&
	    (record->device_id != RECORD_DEVICE_NONE || record->kind <= RECORD_GPU_GRAPH))
		record->device_id = RECORD_DEVICES_MAX - 1;
	if (record->kind >= RECORD_GPU_KINDS || record->start_ns == 0 ||
	    record->start_ns > record->end_ns) {
		count(source, record->device_id, LEDGER_UNTRUSTED_RING);
		return 0;
	}
	translate_name(source, record);
	int r = translate_capture(source, record);
	return r ? r : 1;
}

static int read_activity(struct ring_source *source, struct batch_builder *builder)
{
	for (;;) {
		uint32_t room, kept = 0;
		struct gpu_record *records = batch_builder_gpu_room(builder, &room);

		if (room == 0)
			return 1;
		int got = record_ring_read_activity(source->ring, &source->snapshot, records, room);
		if (got < 0 && !source->activity_mad) {
			source->activity_mad = true;
			count(source, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING);
		}
		if (got <= 0)
			return 0;
		for (int i = 0; i < got; i++) {
			int r = translate_record(source, &records[i]);

			if (r < 0)
				return r;
			if (r == 0)
				continue;
			if (kept != (uint32_t)i)
				records[kept] = records[i];
			kept++;
		}
		batch_builder_commit_gpu(builder, kept);
		source->nr_records += kept;
	}
}

/* ---- passes
 * ------------------------------------------------------------------------------------------------
 */

bool ring_source_begin(struct ring_source *source)
{
	record_ring_snapshot(source->ring, &source->snapshot);
	source->phase = PHASE_DEFINITIONS;
	source->lane = 0;
	return source->snapshot.finished;
}

int ring_source_read(struct ring_source *source, struct batch_builder *builder)
{
	int r = 0;

	while (r == 0 && source->phase != PHASE_DONE) {
		if (source->phase == PHASE_DEFINITIONS)
			r = read_definitions(source);
		else if (source->phase == PHASE_LAUNCHES)
			r = read_launches(source, builder);
		else
			r = read_activity(source, builder);
		if (r == 0)
			source->phase++;
	}
	return r;
}

int ring_source_mark(struct ring_source *source, uint64_t seq)
{
	int r = release_queue_push(&source->releases, source->ring, seq);

	/* What was read is in the publisher's window now; the guest must not run out of room for its sake. */
	record_ring_release_crowded(source->ring);
	return r;
}

void ring_source_release(struct ring_source *source, uint64_t seq)
{
	release_queue_pop(&source->releases, source->ring, seq);
	record_ring_unmark(source->ring, seq);
}

bool ring_source_predecessor(const struct ring_source *source,
			     uint8_t epoch[static RECORD_RING_EPOCH])
{
	return record_ring_owner(source->ring, epoch);
}

void ring_source_take_over(struct ring_source *source,
			   const uint8_t epoch[static RECORD_RING_EPOCH], bool after,
			   uint64_t durable_seq)
{
	struct record_ring_gap gap = {0};

	if (after)
		record_ring_resume(source->ring, durable_seq, &gap);
	record_ring_own(source->ring, epoch);
	/* Given back because the lanes ran full: so that is what they count as. */
	if (gap.launches)
		process_ledger_count(source->outputs.ledger, LEDGER_DEVICE_NONE,
				     LEDGER_LAUNCH_RING_FULL, gap.launches);
	if (gap.records)
		process_ledger_count(source->outputs.ledger, LEDGER_DEVICE_NONE,
				     LEDGER_RECORD_RING_FULL, gap.records);
}

void ring_source_begin_anew(struct ring_source *source,
			    const uint8_t epoch[static RECORD_RING_EPOCH])
{
	struct ledger_entry entries[(RECORD_DEVICES_MAX + 1) * LEDGER_REASONS];
	uint32_t nr;

	record_ring_own(source->ring, epoch);
	record_ring_skip(source->ring);
	nr = record_ring_ledger(source->ring, entries, sizeof(entries) / sizeof(*entries));
	process_ledger_set_base(source->outputs.ledger, entries, nr);
}

bool ring_source_is_own(const struct ring_source *source,
			const uint8_t epoch[static RECORD_RING_EPOCH])
{
	uint8_t owner[RECORD_RING_EPOCH];

	return record_ring_owner(source->ring, owner) && memcmp(owner, epoch, sizeof(owner)) == 0;
}

int ring_source_announce(struct ring_source *source, uint64_t seq)
{
	return record_ring_mark(source->ring, seq);
}

bool ring_source_can_announce(const struct ring_source *source)
{
	return record_ring_can_mark(source->ring);
}

void ring_source_beat(struct ring_source *source, uint64_t now_ns)
{
	record_ring_beat(source->ring, now_ns);
}

void ring_source_command(struct ring_source *source, const struct record_ring_command *command)
{
	record_ring_command(source->ring, command);
}

uint32_t ring_source_capture(const struct ring_source *source, uint32_t *nr_windows)
{
	return record_ring_capture(source->ring, nr_windows);
}

bool ring_source_update_ledger(struct ring_source *source)
{
	struct ledger_entry entries[(RECORD_DEVICES_MAX + 1) * LEDGER_REASONS];
	uint32_t nr = record_ring_ledger(source->ring, entries, sizeof(entries) / sizeof(*entries));

	return process_ledger_update(source->outputs.ledger, entries, nr);
}

bool ring_source_clock(const struct ring_source *source, int64_t *offset_ns)
{
	*offset_ns = source->clock_offset_ns;
	return source->clock_valid;
}

uint64_t ring_source_launches(const struct ring_source *source)
{
	return source->nr_launches;
}

uint64_t ring_source_records(const struct ring_source *source)
{
	return source->nr_records;
}
