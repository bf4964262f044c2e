#include "tests/support/cmocka_test.h"

#include "node-agent/guests/ring_definitions.h"
#include "proto/definition.h"
#include "ring_source_fixture.h"

static const struct message_frame *frame_of_launch(const struct ring_source_fixture *fixture,
						   uint32_t i)
{
	const struct message_node *leaf =
		stack_dictionary_nodes(fixture->stacks, fixture->launches[i].stack_id);

	/* The leaf is the driver's function. */
	leaf = stack_dictionary_nodes(fixture->stacks, leaf->parent);
	return stack_dictionary_frames(fixture->stacks, leaf->frame);
}

static void define_unload(struct ring_source_fixture *fixture, uint64_t start, uint64_t end,
			  uint32_t nr_stacks)
{
	const struct definition_unload unload = {start, end, nr_stacks, 0};

	assert_true(record_ring_define(fixture->guest, DEFINITION_UNLOAD, &unload, sizeof(unload),
				       NULL, 0));
}

/* All definitions of a pass are read before its launches. */
static void stacks_have_the_files_of_their_time(void **state)
{
	struct ring_source_fixture *fixture = *state;
	const uint64_t frames[] = {0x7f0000001011};
	uint32_t lane = (uint32_t)record_ring_claim_lane(fixture->guest), stacks[4];
	const struct message_frame *of[4];

	for (uint32_t i = 0; i < 4; i++) {
		char path[] = "/lib/0.so";

		path[5] = (char)('0' + i);
		if (i < 2)
			ring_source_fixture_define_module(fixture, 0x7f0000001000 - 0x1000 * i,
							  0x7f0000002000, 0, path);
		stacks[i] = record_ring_add_stack(fixture->guest, frames, 1);
		if (i < 2)
			define_unload(fixture, 0x7f0000001000 - 0x1000 * i, 0x7f0000002000,
				      stacks[i]);
		if (i == 2) /* after the stack, as when the guest notices later */
			ring_source_fixture_define_module(fixture, 0x7f0000001000, 0x7f0000003000,
							  0, path);
	}
	for (uint32_t i = 0; i < 4; i++)
		ring_source_fixture_push_launch(fixture, lane, i + 1, stacks[i]);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_launches, 4);
	for (uint32_t i = 0; i < 4; i++)
		of[i] = frame_of_launch(fixture, i);
	assert_int_equal(of[0]->offset, 0x10);
	assert_int_equal(of[1]->offset, 0x1010);
	assert_int_not_equal(of[0]->module, of[1]->module);
	assert_ptr_equal(of[2], of[3]);
}

static void unloaded_code_has_no_name(void **state)
{
	struct ring_source_fixture *fixture = *state;
	const uint64_t frames[] = {0x7f0000001011};
	uint32_t lane = (uint32_t)record_ring_claim_lane(fixture->guest);

	ring_source_fixture_define_module(fixture, 0x7f0000001000, 0x7f0000002000, 0, "/lib/a.so");
	define_unload(fixture, 0x7f0000001000, 0x7f0000002000, 0);
	ring_source_fixture_push_launch(fixture, lane, 1,
					record_ring_add_stack(fixture->guest, frames, 1));
	ring_source_fixture_pass(fixture);
	assert_int_equal(frame_of_launch(fixture, 0)->module, MESSAGE_FRAME_NO_MODULE);
	assert_true(frame_of_launch(fixture, 0)->offset == 0x7f0000001010);
}

static void an_unloading_of_no_addresses_is_counted(void **state)
{
	struct ring_source_fixture *fixture = *state;

	define_unload(fixture, 0x2000, 0x2000, 0);
	ring_source_fixture_pass(fixture);
	assert_int_equal(
		ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST),
		1);
}

/* More often than a process may announce files. */
static void a_library_that_comes_and_goes_keeps_its_name(void **state)
{
	struct ring_source_fixture *fixture = *state;
	const struct definition_module head = {.start = 0x7f0000001000,
					       .end = 0x7f0000002000,
					       .bias = 0x7f0000001000,
					       .build_id_size = 1,
					       .build_id = {7},
					       .identity = 99};
	const uint64_t frames[] = {0x7f0000001011};
	uint32_t lane = (uint32_t)record_ring_claim_lane(fixture->guest);

	for (uint32_t i = 0; i <= RING_DEFINITIONS_MODULES_MAX; i++) {
		assert_true(record_ring_define(fixture->guest, DEFINITION_MODULE, &head,
					       sizeof(head), "/lib/a.so", 9));
		if (i < RING_DEFINITIONS_MODULES_MAX)
			define_unload(fixture, head.start, head.end, 0);
		if (i % 64 == 0) {
			ring_source_fixture_pass(fixture);
			ring_ownership_acknowledged(&fixture->ownership, fixture->seq);
		}
	}
	ring_source_fixture_push_launch(fixture, lane, 1,
					record_ring_add_stack(fixture->guest, frames, 1));
	ring_source_fixture_pass(fixture);
	assert_int_equal(
		ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST),
		0);
	assert_int_equal(frame_of_launch(fixture, 0)->offset, 0x10);
	assert_int_equal(stack_dictionary_nr_modules(fixture->stacks), 1);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, ring_source_fixture_set_up,                          \
					ring_source_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stacks_have_the_files_of_their_time),
		TEST(unloaded_code_has_no_name),
		TEST(an_unloading_of_no_addresses_is_counted),
		TEST(a_library_that_comes_and_goes_keeps_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
