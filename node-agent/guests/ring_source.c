#include "ring_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest_counts.h"
#include "probe_stacks.h"
#include "read_delay.h"
#include "ring_definitions.h"
#include "stack_resolver.h"

#include "node-agent/dictionary/user_shares.h"

enum phase {
	PHASE_DEFINITIONS,
	PHASE_COLLECTIVES,
	PHASE_LAUNCHES,
	PHASE_ACTIVITY,
	PHASE_DONE,
};

struct ring_source {
	struct record_ring *ring; /* owns */
	struct ring_outputs outputs;
	struct ring_definitions definitions;
	struct stack_resolver *stacks; /* owns */
	struct probe_stacks *probe;    /* borrowed; NULL: none */
	struct guest_counts counts;
	bool activity_mad;
	bool abandoned;
	bool lane_mad[RECORD_RING_LANES_MAX];
	uint64_t nr_launches, nr_records;
	enum phase phase;
	uint64_t used_devices; /* 1 << CUDA ordinal of each device with a record */
	struct read_delay delay;
	bool delays;             /* this pass reads definitions alone */
	uint64_t lines_until_ns; /* 0: no end has waited for lines */
	uint32_t lane;
	struct record_ring_snapshot snapshot;
};

int ring_source_create(struct record_ring *ring, const struct ring_outputs *outputs, pid_t pid,
		       uid_t user, struct ring_source **source)
{
	struct ring_source *new_source = calloc(1, sizeof(*new_source));

	*source = NULL;
	if (!new_source) {
		record_ring_unmap(ring);
		return -ENOMEM;
	}
	new_source->ring = ring;
	new_source->outputs = *outputs;
	new_source->phase = PHASE_DONE;
	if (ring_definitions_init(&new_source->definitions, &new_source->outputs, pid, user) == 0)
		new_source->stacks = stack_resolver_create(ring, &new_source->outputs,
							   new_source->definitions.modules,
							   &new_source->definitions.text_room);
	if (!new_source->stacks) {
		ring_source_destroy(new_source);
		return -ENOMEM;
	}
	ring_samples_set_stacks(new_source->definitions.samples, new_source->stacks);
	new_source->definitions.stacks = new_source->stacks;
	*source = new_source;
	return 0;
}

void ring_source_destroy(struct ring_source *source)
{
	if (!source)
		return;
	stack_resolver_destroy(source->stacks);
	ring_definitions_fini(&source->definitions);
	record_ring_unmap(source->ring);
	guest_counts_fini(&source->counts);
	free(source);
}

void ring_source_set_probe(struct ring_source *source, struct probe_stacks *probe)
{
	source->probe = probe;
	record_ring_probe(source->ring, probe != NULL);
}

void ring_source_leave_probe(struct ring_source *source)
{
	record_ring_probe(source->ring, false);
}

static void count(struct ring_source *source, uint32_t device_id, enum ledger_reason reason)
{
	process_ledger_count(source->outputs.ledger, device_id, reason, 1);
}

/* Without memory, the counters keep their last values. */
static void read_counts(struct ring_source *source)
{
	if (guest_counts_read(&source->counts, source->ring) == -EPROTO)
		count(source, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING);
}

/* ---- launches -------------------------------------------------------------------------------- */

static int find_probed(struct ring_source *source, const struct launch_record *launch,
		       uint32_t *node_id)
{
	uint32_t depth, number = PROBE_STACKS_NONE;

	if (source->probe)
		number = probe_stacks_take(source->probe, launch->tid, launch->correlation_id);
	if (number == PROBE_STACKS_FULL)
		return stack_resolver_node(source->stacks, RECORD_STACK_FULL, launch->cbid,
					   node_id);
	if (number == PROBE_STACKS_NONE) {
		count(source, LEDGER_DEVICE_NONE, LEDGER_PROBE_LOST);
		return stack_resolver_lost(source->stacks, launch->cbid, node_id);
	}
	const uint64_t *words = probe_stacks_words(source->probe, number, &depth);
	return stack_resolver_words(source->stacks, number, words, depth, launch->cbid, node_id);
}

/* The ranges of a mark are a stack without a call. */
static int translate_mark(struct ring_source *source, struct launch_record *launch)
{
	const bool has_ranges = launch->stack_id != RECORD_STACK_NONE;
	int r = stack_resolver_capture(source->stacks, launch->stack_id, &launch->stack_id);

	launch->reserved = 0;
	if (r == 0 && has_ranges && launch->stack_id == STACK_NODE_NONE)
		count(source, LEDGER_DEVICE_NONE, LEDGER_STACK_TABLE_FULL);
	return r;
}

static int translate_launch(struct ring_source *source, struct launch_record *launch)
{
	/* Other flags beside it are none of a guest's. */
	if (launch->flags == (RECORD_LAUNCH_HOST | RECORD_LAUNCH_MARK))
		return translate_mark(source, launch);
	launch->flags &= RECORD_LAUNCH_FAILED | RECORD_LAUNCH_MANY | RECORD_LAUNCH_HOST;
	launch->reserved = 0;
	/* The launch failed, and needs no stack. */
	if (launch->flags & RECORD_LAUNCH_FAILED) {
		launch->stack_id = STACK_NODE_NONE;
		return 0;
	}
	process_placement_launch(source->outputs.placement, launch->tid);
	const bool is_counted = launch->stack_id == RECORD_STACK_FULL; /* by the guest */
	int r = launch->stack_id == RECORD_STACK_PROBE
			? find_probed(source, launch, &launch->stack_id)
			: stack_resolver_node(source->stacks, launch->stack_id, launch->cbid,
					      &launch->stack_id);
	if (r == 0 && launch->stack_id == STACK_NODE_NONE && !is_counted)
		count(source, LEDGER_DEVICE_NONE, LEDGER_STACK_TABLE_FULL);
	return r;
}

/* Sends times between windows as marks. Returns whether all are in the batch. */
static bool send_pauses(struct ring_definitions *definitions, struct batch_builder *builder)
{
	uint32_t room, sent = 0;
	struct launch_record *marks = batch_builder_launch_room(builder, &room);

	for (; sent < definitions->nr_pauses && 2 * sent + 2 <= room; sent++) {
		const struct ring_pause *pause = &definitions->pauses[sent];
		struct launch_record mark = {.time_ns = pause->begin_ns,
					     .cbid = RECORD_MARK_WINDOW_END,
					     .window = pause->window,
					     .flags = RECORD_LAUNCH_HOST | RECORD_LAUNCH_MARK};

		marks[(size_t)2 * sent] = mark;
		mark.time_ns = pause->end_ns;
		mark.cbid = RECORD_MARK_WINDOW;
		marks[(size_t)2 * sent + 1] = mark;
	}
	batch_builder_commit_launches(builder, 2 * sent);
	definitions->nr_pauses -= sent;
	memmove(definitions->pauses, definitions->pauses + sent,
		definitions->nr_pauses * sizeof(*definitions->pauses));
	return definitions->nr_pauses == 0;
}

/* Returns 1 when the batch is full; 0 when all lanes are read; or -errno. */
static int read_launches(struct ring_source *source, struct batch_builder *builder)
{
	if (source->definitions.nr_pauses && !send_pauses(&source->definitions, builder))
		return 1;
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

/* ---- GPU records ----------------------------------------------------------------------------- */

static void translate_name(struct ring_source *source, struct gpu_record *record)
{
	if (record->name_id == RECORD_NAME_NONE)
		return;
	record->name_id = ring_definitions_name(&source->definitions, record->name_id);
	if (record->name_id == STRING_NONE)
		count(source, record->device_id, LEDGER_NAME_LOST);
}

/* The guest has counted captures whose stack is missing. */
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

static void note_device(struct ring_source *source, uint32_t device_id)
{
	if (device_id >= RECORD_DEVICES_MAX || (source->used_devices >> device_id & 1))
		return;
	source->used_devices |= 1ull << device_id;
	process_placement_used(source->outputs.placement, device_id);
}

/* Returns 1: the record is kept; 0: no guest writes such a record; -ENOMEM. */
static int translate_record(struct ring_source *source, struct gpu_record *record)
{
	if (record->device_id >= RECORD_DEVICES_MAX &&
	    (record->device_id != RECORD_DEVICE_NONE || record->kind <= RECORD_GPU_GRAPH))
		record->device_id = RECORD_DEVICES_MAX - 1;
	if (record->kind >= RECORD_GPU_KINDS || record->start_ns == 0 ||
	    record->start_ns > record->end_ns ||
	    record->end_ns - record->start_ns > RING_SOURCE_DURATION_MAX_NS) {
		count(source, record->device_id, LEDGER_UNTRUSTED_RING);
		return 0;
	}
	note_device(source, record->device_id);
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

/* ---- collectives, samples: messages of their own, so that a mark in the ring covers one message's records */

/* Returns 1: samples wait to be sent, or there may be more definitions; 0: all are read; -ENOMEM. */
static int read_definitions(struct ring_source *source)
{
	int r = ring_samples_step(source->definitions.samples);

	if (r == 0)
		r = ring_definitions_read(&source->definitions, source->ring, &source->snapshot);
	return r ? r : ring_samples_waits(source->definitions.samples);
}

/* Returns 1: some wait to be sent; 0: all are read; -ENOMEM. */
static int read_collectives(struct ring_source *source)
{
	int r = ring_collectives_read(source->definitions.collectives, source->ring,
				      &source->snapshot, source->abandoned, source->stacks);

	return r ? r : ring_collectives_waits(source->definitions.collectives);
}

bool ring_source_alone(struct ring_source *source, uint32_t process_id, struct message *message)
{
	if (ring_collectives_take(source->definitions.collectives, message)) {
		message->collectives.process_id = process_id;
		return true;
	}
	if (!ring_samples_take(source->definitions.samples, message))
		return false;
	message->samples.process_id = process_id;
	return true;
}

bool ring_source_has_alone(const struct ring_source *source)
{
	return ring_collectives_waits(source->definitions.collectives) ||
	       ring_samples_waits(source->definitions.samples);
}

bool ring_source_waits_for_lines(struct ring_source *source, uint64_t now_ns)
{
	if (!ring_samples_wait_for_lines(source->definitions.samples))
		return false;
	if (!source->lines_until_ns)
		source->lines_until_ns = now_ns + RING_SOURCE_LINES_NS;
	if (now_ns >= source->lines_until_ns)
		ring_samples_give_up(source->definitions.samples);
	return true;
}

void ring_source_abandon(struct ring_source *source)
{
	source->abandoned = true;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* The guest's helper thread tells the clock and the devices. */
static bool is_described(const struct ring_source *source)
{
	return ring_source_lacks_cupti(source) ||
	       (source->definitions.clock_valid &&
		process_description_has_devices(source->outputs.description));
}

bool ring_source_begin(struct ring_source *source, bool whole, uint64_t now_ns)
{
	record_ring_snapshot(source->ring, &source->snapshot);
	uint64_t unread = record_ring_unread(source->ring, &source->snapshot);

	source->delays = read_delay_waits(&source->delay, unread, is_described(source), now_ns) &&
			 !whole && !source->snapshot.finished;
	source->phase = PHASE_DEFINITIONS;
	source->lane = 0;
	return source->snapshot.finished;
}

bool ring_source_delays(const struct ring_source *source)
{
	return source->delays;
}

/* Pauses go with launches. Where there is no room for more of them, they go before definitions, which wait for it. */
static int read_definitions_behind_pauses(struct ring_source *source, struct batch_builder *builder)
{
	if (source->definitions.nr_pauses == RING_DEFINITIONS_PAUSES &&
	    !send_pauses(&source->definitions, builder))
		return 1;
	return read_definitions(source);
}

static int read_on(struct ring_source *source, struct batch_builder *builder)
{
	int r = 0;

	while (r == 0 && source->phase != PHASE_DONE) {
		if (source->phase == PHASE_DEFINITIONS)
			r = read_definitions_behind_pauses(source, builder);
		else if (source->phase == PHASE_COLLECTIVES)
			r = read_collectives(source);
		else if (source->phase == PHASE_LAUNCHES)
			r = read_launches(source, builder);
		else
			r = read_activity(source, builder);
		if (r == 0)
			source->phase = source->delays ? PHASE_DONE : source->phase + 1;
	}
	return r;
}

int ring_source_read(struct ring_source *source, struct batch_builder *builder)
{
	struct user_share *share = source->outputs.share;

	if (share)
		user_share_begin(share);
	int r = read_on(source, builder);
	/* The records still count. New names in them are lost, and the loss is counted. */
	if (share && !user_share_end(share)) {
		source->definitions.text_room = 0;
		stack_resolver_close(source->stacks);
		ring_samples_close(source->definitions.samples);
	}
	return r;
}

uint64_t ring_source_text(const struct ring_source *source)
{
	return RING_OUTPUTS_NAMES_SIZE_MAX - source->definitions.text_room;
}

int ring_source_forget(struct ring_source *source)
{
	ring_samples_came_late(source->definitions.samples);
	read_counts(source);
	return process_ledger_set_base(source->outputs.ledger, source->counts.entries,
				       source->counts.nr);
}

bool ring_source_has_open_window(const struct ring_source *source)
{
	return source->definitions.window_open && !source->definitions.given_up;
}

bool ring_source_lacks_cupti(const struct ring_source *source)
{
	return source->definitions.lacks_cupti;
}

int ring_source_update_ledger(struct ring_source *source)
{
	read_counts(source);
	return process_ledger_update(source->outputs.ledger, source->counts.entries,
				     source->counts.nr);
}

bool ring_source_clock(const struct ring_source *source, int64_t *offset_ns)
{
	*offset_ns = source->definitions.clock_offset_ns;
	return source->definitions.clock_valid;
}

uint64_t ring_source_launches(const struct ring_source *source)
{
	return source->nr_launches;
}

uint64_t ring_source_records(const struct ring_source *source)
{
	return source->nr_records;
}
