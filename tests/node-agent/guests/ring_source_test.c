#include "tests/support/cmocka_test.h"

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

#include "node-agent/guests/probe_stacks.h"
#include "node-agent/guests/ring_definitions.h"
#include "proto/definition.h"
#include "proto/stack_word.h"
#include "ring_source_fixture.h"

static void ids_become_the_agents_own(void **state)
{
	struct ring_source_fixture *fixture = *state;
	uint64_t frames[] = {0x1101, 0x1201, 0x2001};
	int lane = record_ring_claim_lane(fixture->guest);
	uint32_t other;

	string_dictionary_intern(fixture->strings, "other", 5, &other);
	ring_source_fixture_define_module(fixture, 0x1000, 0x2000, DEFINITION_MODULE_MAIN,
					  "/bin/app");
	ring_source_fixture_define_module(fixture, 0x2000, 0x3000, 0, "/lib/libc.so");
	ring_source_fixture_define_name(fixture, 9, "gemm");
	uint32_t stack = record_ring_add_stack(fixture->guest, frames, 3);
	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 77, stack);
	ring_source_fixture_push_record(fixture, 77, 9);
	assert_false(ring_source_fixture_pass(fixture));

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
	assert_int_not_equal(frame->code, MESSAGE_FRAME_NATIVE); /* the driver's function */
	leaf = stack_dictionary_nodes(fixture->stacks, leaf->parent);
	frame = stack_dictionary_frames(fixture->stacks, leaf->frame);
	assert_int_equal(frame->offset, 0x100); /* the call, not the address it returns to */
	assert_int_equal(ring_source_launches(fixture->source), 1);
	assert_int_equal(ring_source_records(fixture->source), 1);
}

static void much_text_comes_in_several_messages_and_before_the_records(void **state)
{
	struct ring_source_fixture *fixture = *state;
	char name[1024];
	uint32_t nr_full = 0;
	int r;

	for (uint32_t id = 1; id <= 350; id++) {
		memset(name, 'n', sizeof(name) - 1);
		name[snprintf(name, 16, "%u", id)] = 'n';
		name[sizeof(name) - 1] = '\0';
		ring_source_fixture_define_name(fixture, id, name);
	}
	ring_source_fixture_push_record(fixture, 77, 350);
	assert_int_equal(ring_source_text(fixture->source), 0);
	ring_source_begin(fixture->source, true, 0);
	while ((r = ring_source_read(fixture->source, fixture->builder)) == 1) {
		nr_full++;
		assert_in_range(ring_source_text(fixture->source),
				nr_full * RING_DEFINITIONS_TEXT_AT_ONCE,
				nr_full * (RING_DEFINITIONS_TEXT_AT_ONCE + sizeof(name) + 64));
		assert_false(batch_builder_has_records(fixture->builder));
	}
	assert_int_equal(r, 0);
	assert_int_equal(nr_full, 2);
	assert_int_equal(batch_builder_flush(fixture->builder, 1, 0, 0), 0);
	assert_int_equal(fixture->nr_gpu, 1);
	assert_int_equal(string_dictionary_texts(fixture->strings, fixture->gpu[0].name_id)->size,
			 sizeof(name) - 1);
}

static void a_file_that_no_process_has_is_counted_and_not_entered(void **state)
{
	struct ring_source_fixture *fixture = *state;
	const struct definition_module wrong[] = {
		{.start = 0x1000, .end = 0x2000, .build_id_size = DEFINITION_BUILD_ID_MAX + 1},
		{.start = 0x1000, .end = UINT64_MAX, .build_id_size = 20},
		{.start = 0x2000, .end = 0x1000, .build_id_size = 20},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_true(record_ring_define(fixture->guest, DEFINITION_MODULE, &wrong[i],
					       sizeof(wrong[i]), "/lib/a.so", 9));
	ring_source_fixture_pass(fixture);
	assert_int_equal(stack_dictionary_nr_modules(fixture->stacks), 0);
	assert_int_equal(
		ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST),
		3);
}

static void an_address_outside_of_all_modules_is_kept_plain(void **state)
{
	struct ring_source_fixture *fixture = *state;
	uint64_t frames[] = {0x7f0000001001};
	int lane = record_ring_claim_lane(fixture->guest);

	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 1,
					record_ring_add_stack(fixture->guest, frames, 1));
	ring_source_fixture_pass(fixture);
	assert_int_equal(stack_dictionary_frames(fixture->stacks, 1)->module,
			 MESSAGE_FRAME_NO_MODULE);
	assert_true(stack_dictionary_frames(fixture->stacks, 1)->offset == 0x7f0000001000);
}

static void a_file_that_nobody_announced_is_found_in_proc(void **state)
{
	struct ring_source_fixture *fixture = *state;
	uint64_t frames[] = {(uint64_t)(uintptr_t)ring_source_fixture_open_source + 5};
	int lane = record_ring_claim_lane(fixture->guest);
	const struct message_frame *frame;
	struct link_map *map;
	char own_path[4096] = "";
	Dl_info info;

	assert_true(dladdr1((void *)ring_source_fixture_open_source, &info, (void **)&map,
			    RTLD_DL_LINKMAP));
	assert_true(readlink("/proc/self/exe", own_path, sizeof(own_path) - 1) > 0);
	ring_source_fixture_close_source(fixture);
	ring_source_fixture_open_source(fixture, getpid());
	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 1,
					record_ring_add_stack(fixture->guest, frames, 1));
	ring_source_fixture_pass(fixture);
	frame = stack_dictionary_frames(fixture->stacks, 1);
	assert_int_equal(frame->module, 1);
	assert_true(frame->offset ==
		    (uint64_t)(uintptr_t)ring_source_fixture_open_source + 4 - map->l_addr);
	const struct message_text *path = string_dictionary_texts(
		fixture->strings, stack_dictionary_modules(fixture->stacks, 1)->path);
	assert_int_equal(path->size, strlen(own_path));
	assert_memory_equal(path->data, own_path, path->size);
	assert_true(stack_dictionary_modules(fixture->stacks, 1)->build_id_size > 0);
}

static void a_full_batch_is_continued_within_the_pass(void **state)
{
	struct ring_source_fixture *fixture = *state;
	int lane = record_ring_claim_lane(fixture->guest);

	for (uint32_t round = 0; round < 30; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			ring_source_fixture_push_launch(fixture, (uint32_t)lane, i, 0);
			ring_source_fixture_push_record(fixture, i, 0);
		}
		ring_source_fixture_pass(fixture);
		ring_ownership_acknowledged(&fixture->ownership, fixture->seq);
	}
	assert_int_equal(ring_source_launches(fixture->source), 30000);
	assert_int_equal(ring_source_records(fixture->source), 30000);
	assert_int_equal(
		ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_LAUNCHES),
		30000);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE,
							  LEDGER_LAUNCH_RING_FULL),
			 0);
}

static void push_records(struct ring_source_fixture *fixture, uint32_t count)
{
	struct gpu_record record = {.start_ns = 1, .end_ns = 2};

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(record_ring_push_activity(fixture->guest, &record, 1), 1);
}

static void room_in_a_lane_comes_back_when_it_is_acknowledged(void **state)
{
	struct ring_source_fixture *fixture = *state;
	uint32_t half = ring_source_fixture_sizes.activity_records / 2;

	push_records(fixture, half);
	ring_source_fixture_pass(fixture);
	assert_int_equal(record_ring_activity_room(fixture->guest), half);
	ring_ownership_acknowledged(&fixture->ownership, fixture->seq - 1);
	assert_int_equal(record_ring_activity_room(fixture->guest), half);
	ring_ownership_acknowledged(&fixture->ownership, fixture->seq);
	assert_int_equal(record_ring_activity_room(fixture->guest),
			 ring_source_fixture_sizes.activity_records);
}

static void room_in_a_crowded_lane_comes_back_when_it_is_read(void **state)
{
	struct ring_source_fixture *fixture = *state;

	push_records(fixture, ring_source_fixture_sizes.activity_records / 2 + 1);
	ring_source_fixture_pass(fixture);
	assert_int_equal(record_ring_activity_room(fixture->guest),
			 ring_source_fixture_sizes.activity_records);
	/* The late acknowledgement of what was released before gives no room twice. */
	push_records(fixture, 10);
	ring_ownership_acknowledged(&fixture->ownership, fixture->seq);
	assert_int_equal(record_ring_activity_room(fixture->guest),
			 ring_source_fixture_sizes.activity_records - 10);
	ring_source_fixture_pass(fixture);
	assert_int_equal(ring_source_records(fixture->source),
			 ring_source_fixture_sizes.activity_records / 2 + 11);
}

static void a_launch_with_an_unknown_stack_is_kept_and_counted(void **state)
{
	struct ring_source_fixture *fixture = *state;
	int lane = record_ring_claim_lane(fixture->guest);

	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 1, 999);
	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 2, RECORD_STACKS_MAX + 1);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_launches, 2);
	assert_int_equal(fixture->launches[0].stack_id, STACK_NODE_NONE);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE,
							  LEDGER_STACK_TABLE_FULL),
			 2);
}

/* The guest has counted it. */
static void a_launch_that_found_the_stack_table_full_has_a_stack_that_says_so(void **state)
{
	struct ring_source_fixture *fixture = *state;
	int lane = record_ring_claim_lane(fixture->guest);

	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 1, RECORD_STACK_FULL);
	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 2, RECORD_STACK_FULL);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_launches, 2);
	assert_int_not_equal(fixture->launches[0].stack_id, STACK_NODE_NONE);
	assert_int_equal(fixture->launches[1].stack_id, fixture->launches[0].stack_id);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE,
							  LEDGER_STACK_TABLE_FULL),
			 0);
}

static uint64_t probe_lost(struct ring_source_fixture *fixture)
{
	return ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_PROBE_LOST);
}

static void launches_have_the_stacks_that_came_by_the_probe(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct probe_stacks *probe = probe_stacks_create();
	const uint64_t addresses[] = {0x1101, 0x1201};
	int lane = record_ring_claim_lane(fixture->guest);
	const struct launch_record other = {
		.correlation_id = 1, .tid = 12345, .cbid = 0, .stack_id = RECORD_STACK_PROBE};

	ring_source_set_probe(fixture->source, probe);
	assert_true(record_ring_is_probed(fixture->guest));
	ring_source_fixture_define_module(fixture, 0x1000, 0x2000, DEFINITION_MODULE_MAIN,
					  "/bin/app");
	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 1, RECORD_STACK_PROBE);
	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 2, RECORD_STACK_PROBE);
	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 3, RECORD_STACK_PROBE);
	record_ring_push_launch(fixture->guest, (uint32_t)lane, &other);
	for (uint32_t id = 1; id <= 2; id++)
		assert_int_equal(probe_stacks_put(probe, 0, id, addresses, 2, 1), 0);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_launches, 4);
	/* The driver's function, and the frames outwards of it: of return addresses. */
	const struct message_node *node =
		stack_dictionary_nodes(fixture->stacks, fixture->launches[0].stack_id);
	node = stack_dictionary_nodes(fixture->stacks, node->parent);
	assert_int_equal(stack_dictionary_frames(fixture->stacks, node->frame)->offset, 0x100);
	node = stack_dictionary_nodes(fixture->stacks, node->parent);
	assert_int_equal(stack_dictionary_frames(fixture->stacks, node->frame)->offset, 0x200);
	assert_int_equal(fixture->launches[1].stack_id, fixture->launches[0].stack_id);
	/* No event of this id; and one of another thread. */
	assert_int_not_equal(fixture->launches[2].stack_id, STACK_NODE_NONE);
	assert_int_not_equal(fixture->launches[2].stack_id, fixture->launches[0].stack_id);
	assert_int_equal(fixture->launches[3].stack_id, fixture->launches[2].stack_id);
	assert_int_equal(probe_lost(fixture), 2);
	assert_int_equal(probe_stacks_waiting(probe), 0);
	ring_source_leave_probe(fixture->source);
	assert_false(record_ring_is_probed(fixture->guest));
	ring_source_set_probe(fixture->source, NULL);
	probe_stacks_destroy(probe);
}

static void a_guest_that_says_so_without_a_probe_has_lost_its_stacks(void **state)
{
	struct ring_source_fixture *fixture = *state;
	int lane = record_ring_claim_lane(fixture->guest);

	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 1, RECORD_STACK_PROBE);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_launches, 1);
	assert_int_not_equal(fixture->launches[0].stack_id, STACK_NODE_NONE);
	assert_int_equal(probe_lost(fixture), 1);
}

static void a_record_with_an_unknown_name_is_kept_and_counted(void **state)
{
	struct ring_source_fixture *fixture = *state;

	ring_source_fixture_push_record(fixture, 1, 4);
	ring_source_fixture_push_record(fixture, 2, 0xffffffffu);
	ring_source_fixture_push_record(fixture, 3, RECORD_NAME_NONE);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_gpu, 3);
	assert_int_equal(fixture->gpu[1].name_id, STRING_NONE);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, 0, LEDGER_NAME_LOST), 2);
}

static void push_capture(struct ring_source_fixture *fixture, uint32_t capture_stack_id,
			 uint8_t kind)
{
	struct gpu_record record = {.start_ns = 100,
				    .end_ns = 200,
				    .graph_id = 3,
				    .kind = kind,
				    .window = 1,
				    .capture_stack_id = capture_stack_id};

	assert_int_equal(record_ring_push_activity(fixture->guest, &record, 1), 1);
}

static void the_stack_of_a_capture_becomes_the_agents_own(void **state)
{
	struct ring_source_fixture *fixture = *state;
	uint64_t frames[] = {0x1101, 0x1201};
	uint32_t stack = record_ring_add_stack(fixture->guest, frames, 2);

	ring_source_fixture_define_module(fixture, 0x1000, 0x2000, DEFINITION_MODULE_MAIN,
					  "/bin/app");
	push_capture(fixture, stack, RECORD_GPU_KERNEL);
	push_capture(fixture, stack, RECORD_GPU_MEMCPY);
	push_capture(fixture, RECORD_STACK_FULL, RECORD_GPU_KERNEL);
	push_capture(fixture, RECORD_STACK_NONE, RECORD_GPU_GRAPH);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_gpu, 4);
	const struct message_node *leaf =
		stack_dictionary_nodes(fixture->stacks, fixture->gpu[0].capture_stack_id);
	assert_int_equal(stack_dictionary_frames(fixture->stacks, leaf->frame)->offset, 0x100);
	assert_int_equal(fixture->gpu[1].capture_stack_id, fixture->gpu[0].capture_stack_id);
	assert_int_not_equal(fixture->gpu[2].capture_stack_id, STACK_NODE_NONE);
	assert_int_not_equal(fixture->gpu[2].capture_stack_id, fixture->gpu[0].capture_stack_id);
	assert_int_equal(fixture->gpu[3].capture_stack_id, STACK_NODE_NONE);
	assert_int_equal(fixture->gpu[3].kind, RECORD_GPU_GRAPH);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, 0, LEDGER_CAPTURE_UNKNOWN), 0);
}

static void a_record_with_an_unknown_capture_is_kept_and_counted(void **state)
{
	struct ring_source_fixture *fixture = *state;

	push_capture(fixture, 999, RECORD_GPU_KERNEL);
	push_capture(fixture, RECORD_STACKS_MAX + 1, RECORD_GPU_MEMSET);
	push_capture(fixture, RECORD_STACKS_MAX + 1, RECORD_GPU_GRAPH);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_gpu, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(fixture->gpu[i].capture_stack_id, STACK_NODE_NONE);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, 0, LEDGER_CAPTURE_UNKNOWN), 3);
}

static void records_that_no_guest_writes_are_counted_and_left_out(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct gpu_record records[] = {
		{.start_ns = 0, .end_ns = 5},
		{.start_ns = 6, .end_ns = 5},
		{.start_ns = 1, .end_ns = 2, .kind = 77},
		{.start_ns = 1, .end_ns = 2, .device_id = 1000, .correlation_id = 4},
		{.start_ns = 1, .end_ns = 2, .device_id = RECORD_DEVICE_NONE},
		{.start_ns = 1,
		 .end_ns = 2,
		 .device_id = RECORD_DEVICE_NONE,
		 .kind = RECORD_GPU_SYNC},
		{.start_ns = 1, .end_ns = 2, .device_id = 1000, .kind = RECORD_GPU_SYNC},
	};

	assert_int_equal(record_ring_push_activity(fixture->guest, records, 7), 7);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_gpu, 4);
	/* No GPU at all is for what is no work of one. */
	assert_int_equal(fixture->gpu[1].device_id, RECORD_DEVICES_MAX - 1);
	assert_int_equal(fixture->gpu[2].device_id, RECORD_DEVICE_NONE);
	assert_int_equal(fixture->gpu[3].device_id, RECORD_DEVICES_MAX - 1);
	assert_int_equal(fixture->gpu[0].device_id, RECORD_DEVICES_MAX - 1);
	assert_int_equal(fixture->gpu[0].correlation_id, 4);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, 0, LEDGER_UNTRUSTED_RING), 3);
}

static uint32_t next_random(uint32_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 17;
	*random ^= *random << 5;
	return *random;
}

/* Fills the ring with what a guest writes, then writes garbage over a part of its memory; header
 * ring_source_fixture_sizes included. */
static void spoil(struct ring_source_fixture *fixture, uint8_t *memory, size_t size,
		  uint32_t *random)
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

static void a_record_longer_than_any_is_left_out(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct gpu_record record = {
		.start_ns = 1, .end_ns = 1 + RING_SOURCE_DURATION_MAX_NS, .window = 1};

	record_ring_push_activity(fixture->guest, &record, 1);
	record.end_ns++;
	record_ring_push_activity(fixture->guest, &record, 1);
	record.end_ns = UINT64_MAX;
	record_ring_push_activity(fixture->guest, &record, 1);
	ring_source_fixture_pass(fixture);
	assert_int_equal(ring_source_records(fixture->source), 1);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, 0, LEDGER_UNTRUSTED_RING), 2);
}

static void counters_that_no_guest_has_are_counted_once_and_not_added(void **state)
{
	struct ring_source_fixture *fixture = *state;

	record_ring_count(fixture->guest, 0, LEDGER_RECORDS, 5, 50);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, 0, LEDGER_RECORDS), 5);
	record_ring_count(fixture->guest, 0, LEDGER_RECORD_RING_FULL, UINT64_MAX - 3, 0);
	record_ring_count(fixture->guest, 0, LEDGER_RECORDS, 1, 10);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			ring_source_fixture_ledger_count(fixture, 0, LEDGER_RECORD_RING_FULL), 0);
		assert_int_equal(ring_source_fixture_ledger_count(fixture, 0, LEDGER_RECORDS), 5);
		assert_int_equal(ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE,
								  LEDGER_UNTRUSTED_RING),
				 1);
	}
}

static void fill(struct ring_source_fixture *fixture, uint32_t round)
{
	uint64_t frames[] = {0x1101 + round, 0x1201, 0x2001, 0, 0};
	int lane = record_ring_claim_lane(fixture->guest);

	if (lane < 0)
		return;
	frames[3] = stack_word_python(record_ring_add_code(fixture->guest, "train.py", 8, "f", 1),
				      round);
	frames[4] = stack_word_mark(STACK_MARK_MISSING);
	ring_source_fixture_define_module(fixture, 0x1000, 0x2000, DEFINITION_MODULE_MAIN,
					  "/bin/app");
	ring_source_fixture_define_name(fixture, 1, "gemm");
	uint32_t stack = record_ring_add_stack(fixture->guest, frames, 5);
	for (uint32_t i = 0; i < 100; i++) {
		ring_source_fixture_push_launch(fixture, (uint32_t)lane, i, stack);
		ring_source_fixture_push_record(fixture, i, 1);
		if (i % 10 == 0)
			push_capture(fixture, stack, RECORD_GPU_KERNEL);
	}
}

static void garbage_in_shared_memory_harms_only_its_own_process(void **state)
{
	struct ring_source_fixture *honest = *state;
	uint32_t random = 2463534242u, mapped = 0;
	int lane = record_ring_claim_lane(honest->guest);

	for (uint32_t round = 0; round < 300; round++) {
		struct ring_source_fixture *hostile = ring_source_fixture_create();
		struct stat status;

		assert_int_equal(fstat(hostile->ring_fd, &status), 0);
		size_t size = (size_t)status.st_size;
		uint8_t *memory =
			mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, hostile->ring_fd, 0);
		assert_true(memory != MAP_FAILED);
		fill(hostile, round);
		if (round % 2)
			ring_source_fixture_pass(hostile);
		spoil(hostile, memory, size, &random);
		for (int i = 0; i < 3; i++) {
			ring_source_fixture_pass(hostile);
			ring_ownership_acknowledged(&hostile->ownership, hostile->seq);
			ring_source_update_ledger(hostile->source);
			spoil(hostile, memory, size, &random);
		}
		/* An agent that comes later sees the garbage at the handshake already. */
		struct record_ring *ring;
		if (record_ring_map(hostile->ring_fd, &ring) == 0) {
			mapped++;
			record_ring_unmap(ring);
			ring_source_fixture_close_source(hostile);
			ring_source_fixture_open_source(hostile, 0);
			ring_source_fixture_pass(hostile);
		}
		munmap(memory, size);
		ring_source_fixture_destroy(hostile);

		ring_source_fixture_push_launch(honest, (uint32_t)lane, round, 0);
		ring_source_fixture_push_record(honest, round, 0);
		ring_source_fixture_pass(honest);
		ring_ownership_acknowledged(&honest->ownership, honest->seq);
	}
	assert_true(mapped > 0);
	assert_int_equal(ring_source_launches(honest->source), 300);
	assert_int_equal(ring_source_records(honest->source), 300);
	assert_int_equal(
		ring_source_fixture_ledger_count(honest, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING),
		0);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, ring_source_fixture_set_up,                          \
					ring_source_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_become_the_agents_own),
		TEST(much_text_comes_in_several_messages_and_before_the_records),
		TEST(a_file_that_no_process_has_is_counted_and_not_entered),
		TEST(an_address_outside_of_all_modules_is_kept_plain),
		TEST(a_file_that_nobody_announced_is_found_in_proc),
		TEST(a_full_batch_is_continued_within_the_pass),
		TEST(room_in_a_lane_comes_back_when_it_is_acknowledged),
		TEST(room_in_a_crowded_lane_comes_back_when_it_is_read),
		TEST(a_launch_with_an_unknown_stack_is_kept_and_counted),
		TEST(a_launch_that_found_the_stack_table_full_has_a_stack_that_says_so),
		TEST(launches_have_the_stacks_that_came_by_the_probe),
		TEST(a_guest_that_says_so_without_a_probe_has_lost_its_stacks),
		TEST(a_record_with_an_unknown_name_is_kept_and_counted),
		TEST(the_stack_of_a_capture_becomes_the_agents_own),
		TEST(a_record_with_an_unknown_capture_is_kept_and_counted),
		TEST(records_that_no_guest_writes_are_counted_and_left_out),
		TEST(a_record_longer_than_any_is_left_out),
		TEST(counters_that_no_guest_has_are_counted_once_and_not_added),
		TEST(garbage_in_shared_memory_harms_only_its_own_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
