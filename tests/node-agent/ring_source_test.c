#include "cmocka_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/ring_source.h"
#include "node-agent/symbolizer.h"
#include "proto/batch_encode.h"
#include "proto/definition.h"

static const struct record_ring_sizes sizes = {
	.launch_lanes = 4,
	.launch_lane_records = 1u << 10,
	.activity_records = 1u << 11,
	.definition_bytes = 1u << 19,
	.stacks = 1u << 10,
	.stack_words = 1u << 14,
};

/* One guest with its source, and what came out of it. */
struct fixture {
	struct record_ring *guest;
	int ring_fd;
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct device_list devices;
	struct process_description *description;
	struct process_ledger *ledger;
	struct ring_source *source;
	struct batch_builder *builder;
	struct batch_encoder *encoder;
	uint64_t seq;
	struct launch_record launches[64];
	struct gpu_record gpu[64];
	uint32_t nr_launches, nr_gpu;
	char notice[1024];
	uint32_t nr_notices, nr_modules;
};

static int sink(void *context, struct message *message)
{
	struct fixture *fixture = context;
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
	struct fixture *fixture = context;

	assert_true(module->module_id > 0);
	fixture->nr_modules++;
	return 0;
}

static void on_notice(void *context, const char *text)
{
	struct fixture *fixture = context;

	fixture->nr_notices++;
	snprintf(fixture->notice, sizeof(fixture->notice), "%s", text);
}

/* Maps the guest's ring anew, as if the process had just arrived. */
static void open_source(struct fixture *fixture, pid_t pid)
{
	struct guest_hello hello = {.magic = HANDSHAKE_MAGIC};
	struct record_ring *ring;

	fixture->description =
		process_description_create(1, 0, &hello, fixture->strings, &fixture->devices);
	fixture->ledger = process_ledger_create();
	struct ring_source_outputs outputs = {
		.strings = fixture->strings,
		.stacks = fixture->stacks,
		.description = fixture->description,
		.ledger = fixture->ledger,
		.module = on_module,
		.notice = on_notice,
		.context = fixture,
	};
	assert_int_equal(record_ring_map(fixture->ring_fd, &ring), 0);
	assert_int_equal(ring_source_create(ring, &outputs, pid, pid > 0, &fixture->source), 0);
}

static void close_source(struct fixture *fixture)
{
	ring_source_destroy(fixture->source);
	process_description_destroy(fixture->description);
	process_ledger_destroy(fixture->ledger);
	fixture->source = NULL;
}

static struct fixture *fixture_create(void)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->strings = string_dictionary_create();
	fixture->stacks = stack_dictionary_create();
	fixture->encoder = batch_encoder_create();
	fixture->builder = batch_builder_create(fixture->strings, fixture->stacks, sink, fixture);
	assert_int_equal(record_ring_create(&sizes, &fixture->guest, &fixture->ring_fd), 0);
	open_source(fixture, 0);
	return fixture;
}

static void fixture_destroy(struct fixture *fixture)
{
	close_source(fixture);
	record_ring_destroy(fixture->guest);
	close(fixture->ring_fd);
	batch_builder_destroy(fixture->builder);
	batch_encoder_destroy(fixture->encoder);
	stack_dictionary_destroy(fixture->stacks);
	string_dictionary_destroy(fixture->strings);
	free(fixture);
}

static int set_up(void **state)
{
	*state = fixture_create();
	return 0;
}

static int tear_down(void **state)
{
	fixture_destroy(*state);
	return 0;
}

/* One pass; true if the guest had said goodbye. */
static bool pass(struct fixture *fixture)
{
	bool finished = ring_source_begin(fixture->source);
	int64_t clock_offset_ns;
	int r;

	do {
		r = ring_source_read(fixture->source, fixture->builder);
		assert_true(r >= 0);
		bool valid = ring_source_clock(fixture->source, &clock_offset_ns);
		assert_int_equal(batch_builder_flush(fixture->builder, 1, clock_offset_ns, valid),
				 0);
		assert_int_equal(ring_source_mark(fixture->source, fixture->seq), 0);
	} while (r == 1);
	return finished;
}

static uint64_t ledger_count(struct fixture *fixture, uint32_t device_id, enum ledger_reason reason)
{
	uint32_t count;

	ring_source_update_ledger(fixture->source);
	const struct ledger_entry *entries = process_ledger_entries(fixture->ledger, &count);
	for (uint32_t i = 0; i < count; i++)
		if (entries[i].device_id == device_id && entries[i].reason == (uint32_t)reason)
			return entries[i].count;
	return 0;
}

static void define_name(struct fixture *fixture, uint32_t name_id, const char *name)
{
	struct definition_name head = {.name_id = name_id};

	assert_true(record_ring_define(fixture->guest, DEFINITION_NAME, &head, sizeof(head), name,
				       (uint32_t)strlen(name)));
}

static void define_module(struct fixture *fixture, uint64_t start, uint64_t end, uint32_t flags,
			  const char *path)
{
	struct definition_module head = {.start = start, .end = end, .bias = start, .flags = flags};

	assert_true(record_ring_define(fixture->guest, DEFINITION_MODULE, &head, sizeof(head), path,
				       (uint32_t)strlen(path)));
}

static void push_launch(struct fixture *fixture, uint32_t lane, uint32_t correlation_id,
			uint32_t stack_id)
{
	struct launch_record launch = {
		.time_ns = 5, .correlation_id = correlation_id, .stack_id = stack_id, .window = 1};

	assert_true(record_ring_push_launch(fixture->guest, lane, &launch));
}

static void push_record(struct fixture *fixture, uint32_t correlation_id, uint32_t name_id)
{
	struct gpu_record record = {.start_ns = 100,
				    .end_ns = 200,
				    .correlation_id = correlation_id,
				    .name_id = name_id,
				    .window = 1};

	assert_int_equal(record_ring_push_activity(fixture->guest, &record, 1), 1);
}

static void ids_become_the_agents_own(void **state)
{
	struct fixture *fixture = *state;
	uint64_t frames[] = {0x1101, 0x1201, 0x2001};
	int lane = record_ring_claim_lane(fixture->guest);
	uint32_t other;

	string_dictionary_intern(fixture->strings, "other", 5, &other);
	define_module(fixture, 0x1000, 0x2000, DEFINITION_MODULE_MAIN, "/bin/app");
	define_module(fixture, 0x2000, 0x3000, 0, "/lib/libc.so");
	define_name(fixture, 9, "gemm");
	uint32_t stack = record_ring_add_stack(fixture->guest, frames, 3);
	push_launch(fixture, (uint32_t)lane, 77, stack);
	push_record(fixture, 77, 9);
	assert_false(pass(fixture));

	assert_int_equal(fixture->nr_launches, 1);
	assert_int_equal(fixture->nr_gpu, 1);
	assert_int_equal(fixture->nr_modules, 2);
	assert_int_equal(fixture->launches[0].correlation_id, 77);
	const struct message_text *name =
		string_dictionary_texts(fixture->strings, fixture->gpu[0].name_id);
	assert_int_equal(name->size, 4);
	assert_memory_equal(name->data, "gemm", 4);
	const struct message_node *leaf =
		stack_dictionary_nodes(fixture->stacks, fixture->launches[0].stack_id);
	const struct message_frame *frame = stack_dictionary_frames(fixture->stacks, leaf->frame);
	assert_int_equal(frame->offset, 0x100); /* the call, not the address it returns to */
	assert_int_equal(ring_source_launches(fixture->source), 1);
	assert_int_equal(ring_source_records(fixture->source), 1);
}

static void an_address_outside_of_all_modules_is_kept_plain(void **state)
{
	struct fixture *fixture = *state;
	uint64_t frames[] = {0x7f0000001001};
	int lane = record_ring_claim_lane(fixture->guest);

	push_launch(fixture, (uint32_t)lane, 1, record_ring_add_stack(fixture->guest, frames, 1));
	pass(fixture);
	assert_int_equal(stack_dictionary_frames(fixture->stacks, 1)->module,
			 MESSAGE_FRAME_NO_MODULE);
	assert_true(stack_dictionary_frames(fixture->stacks, 1)->offset == 0x7f0000001000);
}

static void a_file_that_nobody_announced_is_found_in_proc(void **state)
{
	struct fixture *fixture = *state;
	uint64_t frames[] = {(uint64_t)(uintptr_t)open_source + 5};
	int lane = record_ring_claim_lane(fixture->guest);
	const struct message_frame *frame;
	struct link_map *map;
	char own_path[4096] = "";
	Dl_info info;

	assert_true(dladdr1((void *)open_source, &info, (void **)&map, RTLD_DL_LINKMAP));
	assert_true(readlink("/proc/self/exe", own_path, sizeof(own_path) - 1) > 0);
	close_source(fixture);
	open_source(fixture, getpid());
	push_launch(fixture, (uint32_t)lane, 1, record_ring_add_stack(fixture->guest, frames, 1));
	pass(fixture);
	frame = stack_dictionary_frames(fixture->stacks, 1);
	assert_int_equal(frame->module, 1);
	assert_true(frame->offset == (uint64_t)(uintptr_t)open_source + 4 - map->l_addr);
	const struct message_text *path = string_dictionary_texts(
		fixture->strings, stack_dictionary_modules(fixture->stacks, 1)->path);
	assert_int_equal(path->size, strlen(own_path));
	assert_memory_equal(path->data, own_path, path->size);
	assert_true(stack_dictionary_modules(fixture->stacks, 1)->build_id_size > 0);
}

static void a_full_batch_is_continued_within_the_pass(void **state)
{
	struct fixture *fixture = *state;
	int lane = record_ring_claim_lane(fixture->guest);

	for (uint32_t round = 0; round < 30; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			push_launch(fixture, (uint32_t)lane, i, 0);
			push_record(fixture, i, 0);
		}
		pass(fixture);
		ring_source_release(fixture->source, fixture->seq);
	}
	assert_int_equal(ring_source_launches(fixture->source), 30000);
	assert_int_equal(ring_source_records(fixture->source), 30000);
	assert_int_equal(ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_LAUNCHES), 30000);
	assert_int_equal(ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_LAUNCH_RING_FULL), 0);
}

static void push_records(struct fixture *fixture, uint32_t count)
{
	struct gpu_record record = {.start_ns = 1, .end_ns = 2};

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(record_ring_push_activity(fixture->guest, &record, 1), 1);
}

static void room_in_a_lane_comes_back_when_it_is_acknowledged(void **state)
{
	struct fixture *fixture = *state;
	uint32_t half = sizes.activity_records / 2;

	push_records(fixture, half);
	pass(fixture);
	assert_int_equal(record_ring_activity_room(fixture->guest), half);
	ring_source_release(fixture->source, fixture->seq - 1);
	assert_int_equal(record_ring_activity_room(fixture->guest), half);
	ring_source_release(fixture->source, fixture->seq);
	assert_int_equal(record_ring_activity_room(fixture->guest), sizes.activity_records);
}

static void room_in_a_crowded_lane_comes_back_when_it_is_read(void **state)
{
	struct fixture *fixture = *state;

	push_records(fixture, sizes.activity_records / 2 + 1);
	pass(fixture);
	assert_int_equal(record_ring_activity_room(fixture->guest), sizes.activity_records);
	/* The late acknowledgement of what was released before gives no room twice. */
	push_records(fixture, 10);
	ring_source_release(fixture->source, fixture->seq);
	assert_int_equal(record_ring_activity_room(fixture->guest), sizes.activity_records - 10);
	pass(fixture);
	assert_int_equal(ring_source_records(fixture->source), sizes.activity_records / 2 + 11);
}

static void the_newest_clock_and_the_goodbye_are_seen(void **state)
{
	struct fixture *fixture = *state;
	struct definition_clock clock = {.monotonic_ns = 100, .cupti_ns = 1000};
	int64_t offset_ns;

	assert_false(ring_source_clock(fixture->source, &offset_ns));
	record_ring_define(fixture->guest, DEFINITION_CLOCK, &clock, sizeof(clock), NULL, 0);
	clock.monotonic_ns = 300;
	record_ring_define(fixture->guest, DEFINITION_CLOCK, &clock, sizeof(clock), NULL, 0);
	record_ring_finish(fixture->guest);
	assert_true(pass(fixture));
	assert_true(ring_source_clock(fixture->source, &offset_ns));
	assert_int_equal(offset_ns, -700);
}

static void devices_and_notices_reach_the_description(void **state)
{
	struct fixture *fixture = *state;
	struct definition_device device = {.device_id = 1, .pci_bus = 0x17};
	struct definition_notice notice = {.code = NOTICE_NO_CUPTI};
	struct message message;

	record_ring_define(fixture->guest, DEFINITION_DEVICE, &device, sizeof(device), "H200", 4);
	for (int i = 0; i < 3; i++)
		record_ring_define(fixture->guest, DEFINITION_NOTICE, &notice, sizeof(notice),
				   "no\x1b[31m libcupti\n", 17);
	pass(fixture);
	assert_int_equal(fixture->nr_notices, 1);
	assert_string_equal(fixture->notice, "no [31m libcupti ");
	process_description_message(fixture->description, &message);
	assert_int_equal(message.process.nr_devices, 1);
	assert_int_equal(message.process.devices[0].index, MESSAGE_INDEX_NONE);
	assert_memory_equal(
		string_dictionary_texts(fixture->strings, message.process.devices[0].pci)->data,
		"0000:17:00.0", 12);
	assert_int_equal(message.process.nr_notices, 1);
}

static void a_launch_with_an_unknown_stack_is_kept_and_counted(void **state)
{
	struct fixture *fixture = *state;
	int lane = record_ring_claim_lane(fixture->guest);

	push_launch(fixture, (uint32_t)lane, 1, 999);
	push_launch(fixture, (uint32_t)lane, 2, 0xffffffffu);
	pass(fixture);
	assert_int_equal(fixture->nr_launches, 2);
	assert_int_equal(fixture->launches[0].stack_id, STACK_NODE_NONE);
	assert_int_equal(ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_STACK_TABLE_FULL), 2);
}

static void a_record_with_an_unknown_name_is_kept_and_counted(void **state)
{
	struct fixture *fixture = *state;

	push_record(fixture, 1, 4);
	push_record(fixture, 2, 0xffffffffu);
	push_record(fixture, 3, RECORD_NAME_NONE);
	pass(fixture);
	assert_int_equal(fixture->nr_gpu, 3);
	assert_int_equal(fixture->gpu[1].name_id, STRING_NONE);
	assert_int_equal(ledger_count(fixture, 0, LEDGER_NAME_LOST), 2);
}

static void records_that_no_guest_writes_are_counted_and_left_out(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_record records[] = {
		{.start_ns = 0, .end_ns = 5},
		{.start_ns = 6, .end_ns = 5},
		{.start_ns = 1, .end_ns = 2, .kind = 77},
		{.start_ns = 1, .end_ns = 2, .device_id = 1000, .correlation_id = 4},
	};

	assert_int_equal(record_ring_push_activity(fixture->guest, records, 4), 4);
	pass(fixture);
	assert_int_equal(fixture->nr_gpu, 1);
	assert_int_equal(fixture->gpu[0].device_id, RECORD_DEVICES_MAX - 1);
	assert_int_equal(fixture->gpu[0].correlation_id, 4);
	assert_int_equal(ledger_count(fixture, 0, LEDGER_UNTRUSTED_RING), 3);
}

static void short_and_unknown_definitions_are_skipped(void **state)
{
	struct fixture *fixture = *state;
	uint8_t bytes[8] = {1};

	for (uint32_t type = 0; type < 10; type++)
		record_ring_define(fixture->guest, type, bytes, 2, NULL, 0);
	define_name(fixture, 1, "after");
	push_record(fixture, 1, 1);
	pass(fixture);
	assert_int_equal(fixture->nr_gpu, 1);
	assert_int_not_equal(fixture->gpu[0].name_id, STRING_NONE);
	assert_int_equal(ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING), 10);
}

static void modules_beyond_the_limit_are_counted(void **state)
{
	struct fixture *fixture = *state;

	define_module(fixture, 0x2000, 0x1000, 0, "/reversed");
	define_module(fixture, 0x1000, 0x2000, 0, "");
	pass(fixture);
	assert_int_equal(ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST), 2);
	assert_int_equal(fixture->nr_modules, 0);
}

static uint32_t next_random(uint32_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 17;
	*random ^= *random << 5;
	return *random;
}

/* Fills the ring with what a guest writes, then writes garbage over a part of its memory; header
 * sizes included. */
static void spoil(struct fixture *fixture, uint8_t *memory, size_t size, uint32_t *random)
{
	uint32_t mode = next_random(random) % 4;
	uint32_t count = 1 + next_random(random) % 4096;
	/* The first pages hold counters and lanes; what follows holds records and definitions. */
	size_t span = mode < 2 ? 4096 : mode == 2 ? 65536 : size;

	(void)fixture;
	for (uint32_t i = 0; i < count; i++) {
		size_t at = next_random(random) % span;
		uint32_t value = next_random(random);

		if (mode == 1 && value % 2) /* plausible counters do more harm than wild ones */
			*(uint64_t *)(memory + at / 8 * 8) = value % 4096;
		else
			memory[at] = (uint8_t)value;
	}
}

static void fill(struct fixture *fixture, uint32_t round)
{
	uint64_t frames[] = {0x1101 + round, 0x1201, 0x2001};
	int lane = record_ring_claim_lane(fixture->guest);

	if (lane < 0)
		return;
	define_module(fixture, 0x1000, 0x2000, DEFINITION_MODULE_MAIN, "/bin/app");
	define_name(fixture, 1, "gemm");
	uint32_t stack = record_ring_add_stack(fixture->guest, frames, 3);
	for (uint32_t i = 0; i < 100; i++) {
		push_launch(fixture, (uint32_t)lane, i, stack);
		push_record(fixture, i, 1);
	}
}

static void garbage_in_shared_memory_harms_only_its_own_process(void **state)
{
	struct fixture *honest = *state;
	uint32_t random = 2463534242u, mapped = 0;
	int lane = record_ring_claim_lane(honest->guest);

	for (uint32_t round = 0; round < 300; round++) {
		struct fixture *hostile = fixture_create();
		struct stat status;

		assert_int_equal(fstat(hostile->ring_fd, &status), 0);
		size_t size = (size_t)status.st_size;
		uint8_t *memory =
			mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, hostile->ring_fd, 0);
		assert_true(memory != MAP_FAILED);
		fill(hostile, round);
		if (round % 2)
			pass(hostile);
		spoil(hostile, memory, size, &random);
		for (int i = 0; i < 3; i++) {
			pass(hostile);
			ring_source_release(hostile->source, hostile->seq);
			ring_source_update_ledger(hostile->source);
			spoil(hostile, memory, size, &random);
		}
		/* An agent that comes later sees the garbage at the handshake already. */
		struct record_ring *ring;
		if (record_ring_map(hostile->ring_fd, &ring) == 0) {
			mapped++;
			record_ring_unmap(ring);
			close_source(hostile);
			open_source(hostile, 0);
			pass(hostile);
		}
		munmap(memory, size);
		fixture_destroy(hostile);

		push_launch(honest, (uint32_t)lane, round, 0);
		push_record(honest, round, 0);
		pass(honest);
		ring_source_release(honest->source, honest->seq);
	}
	assert_true(mapped > 0);
	assert_int_equal(ring_source_launches(honest->source), 300);
	assert_int_equal(ring_source_records(honest->source), 300);
	assert_int_equal(ledger_count(honest, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_become_the_agents_own),
		TEST(an_address_outside_of_all_modules_is_kept_plain),
		TEST(a_file_that_nobody_announced_is_found_in_proc),
		TEST(a_full_batch_is_continued_within_the_pass),
		TEST(room_in_a_lane_comes_back_when_it_is_acknowledged),
		TEST(room_in_a_crowded_lane_comes_back_when_it_is_read),
		TEST(the_newest_clock_and_the_goodbye_are_seen),
		TEST(devices_and_notices_reach_the_description),
		TEST(a_launch_with_an_unknown_stack_is_kept_and_counted),
		TEST(a_record_with_an_unknown_name_is_kept_and_counted),
		TEST(records_that_no_guest_writes_are_counted_and_left_out),
		TEST(short_and_unknown_definitions_are_skipped),
		TEST(modules_beyond_the_limit_are_counted),
		TEST(garbage_in_shared_memory_harms_only_its_own_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
