/* Collectives from a guest's ring, as they become messages. */
#include "tests/support/cmocka_test.h"

#include <string.h>

#include "node-agent/guests/ring_collectives.h"
#include "proto/batch/message.h"
#include "proto/collective.h"
#include "ring_source_fixture.h"

static void define(struct ring_source_fixture *fixture, uint32_t communicator_id, uint64_t key)
{
	const struct definition_communicator head = {
		.key = key, .communicator_id = communicator_id, .rank = 1, .nr_ranks = 4};

	assert_true(record_ring_define(fixture->guest, DEFINITION_COMMUNICATOR, &head, sizeof(head),
				       NULL, 0));
}

static void push(struct ring_source_fixture *fixture, struct collective_record record)
{
	assert_true(record_ring_push_collective(fixture->guest, &record));
}

/* As the agent: whatever comes first comes alone. false: the pass is complete. */
static bool next(struct ring_source_fixture *fixture, struct message *message)
{
	int r = ring_source_read(fixture->source, fixture->builder);

	assert_true(r >= 0);
	assert_int_equal(ring_source_has_alone(fixture->source), r == 1);
	return ring_source_alone(fixture->source, 1, message);
}

static void calls_become_a_message_with_their_communicators(void **state)
{
	struct ring_source_fixture *fixture = *state;
	const uint64_t words[] = {0x1234};
	struct message message;

	define(fixture, 1, 77);
	push(fixture,
	     (struct collective_record){.start_ns = 5,
					.duration_ns = 6,
					.sequence = 7,
					.function_sequence = 8,
					.count = 10,
					.stream = 11,
					.communicator_id = 1,
					.tid = 12,
					.peer = 3,
					.stack_id = record_ring_add_stack(fixture->guest, words, 1),
					.correlation_id = 13,
					.function = COLLECTIVE_BROADCAST,
					.data_type = COLLECTIVE_FLOAT64,
					.reduce_op = COLLECTIVE_OP_NONE});
	ring_source_begin(fixture->source, true, 0);
	assert_true(next(fixture, &message));
	assert_int_equal(message.type, MESSAGE_COLLECTIVES);
	assert_int_equal(message.collectives.nr_communicators, 1);
	const struct communicator *communicator = message.collectives.communicators;
	assert_int_equal(communicator->key, 77);
	assert_int_equal(communicator->communicator_id, 1);
	assert_int_equal(communicator->rank, 1);
	assert_int_equal(communicator->nr_ranks, 4);
	assert_int_equal(communicator->origin, COMMUNICATOR_PROFILER);
	assert_int_equal(message.collectives.nr_collectives, 1);
	const struct collective *call = message.collectives.collectives;
	assert_int_equal(call->start_ns, 5);
	assert_int_equal(call->duration_ns, 6);
	assert_int_equal(call->sequence, 7);
	assert_int_equal(call->function_sequence, 8);
	assert_int_equal(call->count, 10);
	assert_int_equal(call->bytes, 80);
	assert_int_equal(call->stream, 11);
	assert_int_equal(call->communicator_id, 1);
	assert_int_equal(call->tid, 12);
	assert_int_equal(call->peer, 3);
	assert_int_not_equal(call->stack_id, STACK_NODE_NONE);
	assert_int_equal(call->correlation_id, 13);
	assert_int_equal(call->function, COLLECTIVE_BROADCAST);
	assert_false(next(fixture, &message));
}

static void launches_come_after_collectives_and_not_with_them(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct message message;
	int lane = record_ring_claim_lane(fixture->guest);

	assert_true(lane >= 0);
	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 1, RECORD_STACK_NONE);
	push(fixture, (struct collective_record){.function = COLLECTIVE_SEND});
	ring_source_begin(fixture->source, true, 0);
	assert_true(next(fixture, &message));
	assert_false(batch_builder_has_records(fixture->builder));
	assert_false(next(fixture, &message));
	assert_true(batch_builder_has_records(fixture->builder));
}

static void more_than_a_message_holds_comes_in_several(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct message message;
	uint32_t total = 0;

	ring_source_fixture_pass(fixture);
	for (uint32_t i = 0; i < ring_source_fixture_sizes.collectives; i++)
		push(fixture, (struct collective_record){.count = i});
	ring_source_begin(fixture->source, true, 0);
	while (next(fixture, &message)) {
		assert_true(message.collectives.nr_collectives <= RING_COLLECTIVES_MAX);
		for (uint32_t i = 0; i < message.collectives.nr_collectives; i++)
			assert_int_equal(message.collectives.collectives[i].count, total++);
	}
	assert_int_equal(total, ring_source_fixture_sizes.collectives);
}

static void what_no_guest_writes_is_counted_and_bounded(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct message message;

	define(fixture, 2, 5); /* a gap */
	define(fixture, 0, 5);
	define(fixture, UINT32_MAX, 5);
	assert_true(
		record_ring_define(fixture->guest, DEFINITION_COMMUNICATOR, "short", 5, NULL, 0));
	push(fixture, (struct collective_record){.function = COLLECTIVE_GROUP});
	push(fixture, (struct collective_record){.function = 200});
	push(fixture, (struct collective_record){.communicator_id = 9,
						 .stack_id = 0x12345,
						 .data_type = 99,
						 .reduce_op = 99,
						 .count = UINT64_MAX});
	ring_source_begin(fixture->source, true, 0);
	assert_true(next(fixture, &message));
	assert_int_equal(message.collectives.nr_communicators, 0);
	assert_int_equal(message.collectives.nr_collectives, 1);
	const struct collective *call = message.collectives.collectives;
	assert_int_equal(call->communicator_id, 0);
	assert_int_equal(call->data_type, COLLECTIVE_TYPE_NONE);
	assert_int_equal(call->reduce_op, COLLECTIVE_OP_NONE);
	assert_int_equal(call->bytes, 0);
	assert_int_equal(call->duration_ns, 1);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE,
							  LEDGER_COLLECTIVE_LOST),
			 2);
	assert_true(ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE,
						     LEDGER_UNTRUSTED_RING) >= 6);
}

static void a_communicator_that_comes_again_replaces_itself(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct message message;

	define(fixture, 1, 0);
	define(fixture, 2, 6);
	define(fixture, 1, 5);
	ring_source_begin(fixture->source, true, 0);
	assert_true(next(fixture, &message));
	assert_int_equal(message.collectives.nr_communicators, 3);
	assert_int_equal(message.collectives.communicators[2].communicator_id, 1);
	assert_int_equal(message.collectives.communicators[2].key, 5);
	push(fixture, (struct collective_record){.communicator_id = 2});
	assert_false(next(fixture, &message));
	ring_source_begin(fixture->source, true, 0);
	assert_true(next(fixture, &message));
	assert_int_equal(message.collectives.collectives[0].communicator_id, 2);
}

static void stacks_that_others_walk_are_none(void **state)
{
	struct ring_source_fixture *fixture = *state;
	const uint32_t none[] = {RECORD_STACK_NONE, RECORD_STACK_PROBE, RECORD_STACK_FULL};
	struct message message;

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		push(fixture, (struct collective_record){.stack_id = none[i], .cbid = 1});
	ring_source_begin(fixture->source, true, 0);
	assert_true(next(fixture, &message));
	assert_int_equal(message.collectives.nr_collectives, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(message.collectives.collectives[i].stack_id, STACK_NODE_NONE);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, ring_source_fixture_set_up,                          \
					ring_source_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(calls_become_a_message_with_their_communicators),
		TEST(launches_come_after_collectives_and_not_with_them),
		TEST(more_than_a_message_holds_comes_in_several),
		TEST(what_no_guest_writes_is_counted_and_bounded),
		TEST(a_communicator_that_comes_again_replaces_itself),
		TEST(stacks_that_others_walk_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
