#include "ring_source_fixture.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/cubin/cubin_cache.h"
#include "node-agent/symbols/symbolizer.h"
#include "proto/definition.h"

const struct record_ring_sizes ring_source_fixture_sizes = {
	.launch_lanes = 4,
	.launch_lane_records = 1u << 10,
	.activity_records = 1u << 11,
	.definition_bytes = 1u << 19,
	.stacks = 1u << 10,
	.stack_words = 1u << 14,
	.codes = 16,
	.code_words = 1u << 10,
	.log_bytes = 1u << 16,
	.collectives = 8192,
};

static int sink(void *context, struct message *message)
{
	struct ring_source_fixture *fixture = context;
	const uint8_t *frame;
	size_t size;

	message->events.seq = ++fixture->seq; /* the first element of every sequenced message */
	assert_int_equal(batch_encode(fixture->encoder, message, &frame, &size), 0);
	if (message->type != MESSAGE_EVENTS)
		return 0;
	for (uint32_t i = 0; i < message->events.nr_launches; i++)
		if (fixture->nr_launches < 64)
			fixture->launches[fixture->nr_launches++] = message->events.launches[i];
	for (uint32_t i = 0; i < message->events.nr_gpu; i++)
		if (fixture->nr_gpu < 64)
			fixture->gpu[fixture->nr_gpu++] = message->events.gpu[i];
	return 0;
}

static int on_module(void *context, const struct symbolizer_module *module)
{
	struct ring_source_fixture *fixture = context;

	assert_true(module->module_id > 0);
	fixture->nr_modules++;
	return 0;
}

static void on_notice(void *context, const char *text)
{
	struct ring_source_fixture *fixture = context;

	fixture->nr_notices++;
	snprintf(fixture->notice, sizeof(fixture->notice), "%s", text);
}

static const uint8_t epoch[RECORD_RING_EPOCH] = {1};

/* Maps the guest's ring anew, as if the process had just arrived. */
void ring_source_fixture_open_source(struct ring_source_fixture *fixture, pid_t pid)
{
	struct guest_hello hello = {.magic = HANDSHAKE_MAGIC};
	struct record_ring *ring;

	fixture->description =
		process_description_create(1, 0, &hello, fixture->strings, &fixture->devices);
	fixture->ledger = process_ledger_create();
	fixture->statistics = process_statistics_create();
	struct ring_outputs outputs = {
		.strings = fixture->strings,
		.stacks = fixture->stacks,
		.description = fixture->description,
		.ledger = fixture->ledger,
		.statistics = fixture->statistics,
		.cubins = fixture->cubins,
		.module = on_module,
		.notice = on_notice,
		.context = fixture,
	};
	assert_int_equal(record_ring_map(fixture->ring_fd, &ring), 0);
	assert_int_equal(ring_source_create(ring, &outputs, pid, geteuid(), &fixture->source), 0);
	ring_ownership_init(&fixture->ownership, ring, epoch);
	if (fixture->stored_seq)
		ring_ownership_take_after(&fixture->ownership, *fixture->stored_seq);
	else
		ring_ownership_take(&fixture->ownership);
}

void ring_source_fixture_close_source(struct ring_source_fixture *fixture)
{
	ring_ownership_fini(&fixture->ownership);
	ring_source_destroy(fixture->source);
	process_description_destroy(fixture->description);
	process_ledger_destroy(fixture->ledger);
	process_statistics_destroy(fixture->statistics);
	fixture->source = NULL;
}

struct ring_source_fixture *ring_source_fixture_create(void)
{
	struct ring_source_fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->strings = string_dictionary_create();
	fixture->stacks = stack_dictionary_create();
	fixture->cubins = cubin_cache_create(NULL);
	fixture->encoder = batch_encoder_create();
	fixture->builder = batch_builder_create(fixture->strings, fixture->stacks, sink, fixture);
	assert_int_equal(
		record_ring_create(&ring_source_fixture_sizes, &fixture->guest, &fixture->ring_fd),
		0);
	ring_source_fixture_open_source(fixture, 0);
	return fixture;
}

void ring_source_fixture_destroy(struct ring_source_fixture *fixture)
{
	ring_source_fixture_close_source(fixture);
	record_ring_destroy(fixture->guest);
	close(fixture->ring_fd);
	batch_builder_destroy(fixture->builder);
	batch_encoder_destroy(fixture->encoder);
	cubin_cache_destroy(fixture->cubins);
	stack_dictionary_destroy(fixture->stacks);
	string_dictionary_destroy(fixture->strings);
	free(fixture);
}

int ring_source_fixture_set_up(void **state)
{
	*state = ring_source_fixture_create();
	return 0;
}

int ring_source_fixture_tear_down(void **state)
{
	ring_source_fixture_destroy(*state);
	return 0;
}

/* One ring_source_fixture_pass; true if the guest had said goodbye. */
bool ring_source_fixture_pass(struct ring_source_fixture *fixture)
{
	bool finished = ring_source_begin(fixture->source, true, 0);
	int64_t clock_offset_ns;
	int r;

	do {
		r = ring_source_read(fixture->source, fixture->builder);
		assert_true(r >= 0);
		bool valid = ring_source_clock(fixture->source, &clock_offset_ns);
		assert_int_equal(batch_builder_flush(fixture->builder, 1, clock_offset_ns, valid),
				 0);
		assert_int_equal(ring_ownership_sent(&fixture->ownership, fixture->seq), 0);
	} while (r == 1);
	return finished;
}

uint64_t ring_source_fixture_ledger_count(struct ring_source_fixture *fixture, uint32_t device_id,
					  enum ledger_reason reason)
{
	uint32_t count;

	ring_source_update_ledger(fixture->source);
	const struct ledger_entry *entries = process_ledger_entries(fixture->ledger, &count);
	for (uint32_t i = 0; i < count; i++)
		if (entries[i].device_id == device_id && entries[i].reason == (uint32_t)reason)
			return entries[i].count;
	return 0;
}

void ring_source_fixture_define_name(struct ring_source_fixture *fixture, uint32_t name_id,
				     const char *name)
{
	struct definition_name head = {.name_id = name_id};

	assert_true(record_ring_define(fixture->guest, DEFINITION_NAME, &head, sizeof(head), name,
				       (uint32_t)strlen(name)));
}

void ring_source_fixture_define_module(struct ring_source_fixture *fixture, uint64_t start,
				       uint64_t end, uint32_t flags, const char *path)
{
	struct definition_module head = {.start = start,
					 .end = end,
					 .bias = start,
					 .flags = flags,
					 .build_id_size = 1,
					 .build_id = {(uint8_t)(start >> 12)}};

	assert_true(record_ring_define(fixture->guest, DEFINITION_MODULE, &head, sizeof(head), path,
				       (uint32_t)strlen(path)));
}

void ring_source_fixture_push_launch(struct ring_source_fixture *fixture, uint32_t lane,
				     uint32_t correlation_id, uint32_t stack_id)
{
	struct launch_record launch = {
		.time_ns = 5, .correlation_id = correlation_id, .stack_id = stack_id, .window = 1};

	assert_true(record_ring_push_launch(fixture->guest, lane, &launch));
}

void ring_source_fixture_push_record(struct ring_source_fixture *fixture, uint32_t correlation_id,
				     uint32_t name_id)
{
	struct gpu_record record = {.start_ns = 100,
				    .end_ns = 200,
				    .correlation_id = correlation_id,
				    .name_id = name_id,
				    .window = 1};

	assert_int_equal(record_ring_push_activity(fixture->guest, &record, 1), 1);
}

const char *ring_source_fixture_text(struct ring_source_fixture *fixture, uint32_t string_id)
{
	static char texts[4][64];
	static uint32_t turn;
	const struct message_text *text;

	if (string_id == 0)
		return "-";
	text = string_dictionary_texts(fixture->strings, string_id);
	turn = (turn + 1) % 4;
	snprintf(texts[turn], sizeof(texts[0]), "%.*s", (int)text->size, text->data);
	return texts[turn];
}

const char *ring_source_fixture_stack(struct ring_source_fixture *fixture, uint32_t node_id)
{
	static char stack[512];

	*stack = '\0';
	while (node_id) {
		const struct message_node *node = stack_dictionary_nodes(fixture->stacks, node_id);
		const struct message_frame *frame =
			stack_dictionary_frames(fixture->stacks, node->frame);
		const struct message_code *code =
			stack_dictionary_codes(fixture->stacks, frame->code);
		size_t used = strlen(stack);

		assert_int_not_equal(code->name, 0);
		if (code->file)
			snprintf(stack + used, sizeof(stack) - used, "%s%s:%d:%s",
				 used ? " < " : "", ring_source_fixture_text(fixture, code->file),
				 (int)frame->offset, ring_source_fixture_text(fixture, code->name));
		else
			snprintf(stack + used, sizeof(stack) - used, "%s%s", used ? " < " : "",
				 ring_source_fixture_text(fixture, code->name));
		node_id = node->parent;
	}
	return stack;
}
