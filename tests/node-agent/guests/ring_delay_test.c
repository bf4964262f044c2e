/* Records that an agent's pass leaves in the ring. */
#include "tests/support/cmocka_test.h"

#include "node-agent/guests/read_delay.h"
#include "proto/definition.h"
#include "ring_source_fixture.h"

/* Begins a pass that need not be whole, and reads it. Returns whether it left records. */
static bool pass_leaves_records(struct ring_source_fixture *fixture, uint64_t now_ns)
{
	ring_source_begin(fixture->source, false, now_ns);
	assert_int_equal(ring_source_read(fixture->source, fixture->builder), 0);
	assert_int_equal(batch_builder_flush(fixture->builder, 1, 0, 0), 0);
	return ring_source_delays(fixture->source);
}

static void describe_device(struct ring_source_fixture *fixture)
{
	const struct definition_device device = {.device_id = 0, .pci_bus = 0x17};

	assert_true(record_ring_define(fixture->guest, DEFINITION_DEVICE, &device, sizeof(device),
				       "H200", 4));
}

static void compare_clocks(struct ring_source_fixture *fixture)
{
	const struct definition_clock clock = {.monotonic_ns = 5, .cupti_ns = 7};

	assert_true(record_ring_define(fixture->guest, DEFINITION_CLOCK, &clock, sizeof(clock),
				       NULL, 0));
}

static void the_first_records_wait_for_clock_and_devices(void **state)
{
	struct ring_source_fixture *fixture = *state;

	ring_source_fixture_push_record(fixture, 5, 1);
	assert_true(pass_leaves_records(fixture, 10));
	describe_device(fixture);
	assert_true(pass_leaves_records(fixture, 20));
	compare_clocks(fixture);
	assert_true(pass_leaves_records(fixture, 30)); /* this pass reads them */
	assert_int_equal(fixture->nr_gpu, 0);
	assert_false(pass_leaves_records(fixture, 40));
	assert_int_equal(fixture->nr_gpu, 1);
}

static void the_first_records_wait_two_seconds_at_most(void **state)
{
	struct ring_source_fixture *fixture = *state;

	ring_source_fixture_push_record(fixture, 5, 1);
	assert_true(pass_leaves_records(fixture, 10));
	assert_true(pass_leaves_records(fixture, 9 + READ_DELAY_EARLY_NS));
	assert_false(pass_leaves_records(fixture, 10 + READ_DELAY_EARLY_NS + READ_DELAY_NS));
	ring_source_fixture_push_record(fixture, 6, 1);
	assert_false(pass_leaves_records(fixture, 10 + READ_DELAY_EARLY_NS + 2 * READ_DELAY_NS));
	assert_int_equal(fixture->nr_gpu, 2);
}

static void a_few_records_wait_while_definitions_are_read(void **state)
{
	struct ring_source_fixture *fixture = *state;
	const uint64_t old_ns = READ_DELAY_AGE_NS + READ_DELAY_NS;
	int lane = record_ring_claim_lane(fixture->guest);

	describe_device(fixture);
	compare_clocks(fixture);
	assert_false(pass_leaves_records(fixture, 1));
	assert_false(pass_leaves_records(fixture, old_ns));
	ring_source_fixture_define_name(fixture, 1, "kernel");
	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 5, RECORD_STACK_NONE);
	ring_source_fixture_push_record(fixture, 5, 1);
	assert_true(pass_leaves_records(fixture, old_ns + 1));
	assert_int_equal(fixture->nr_launches + fixture->nr_gpu, 0);
	assert_true(ring_source_text(fixture->source) > 0);
	ring_source_fixture_push_record(fixture, 6, 1);
	assert_true(pass_leaves_records(fixture, old_ns + READ_DELAY_NS - 1));
	assert_false(pass_leaves_records(fixture, old_ns + READ_DELAY_NS));
	assert_int_equal(fixture->nr_launches, 1);
	assert_int_equal(fixture->nr_gpu, 2);
	/* nothing waits behind a goodbye */
	ring_source_fixture_push_record(fixture, 7, 1);
	record_ring_finish(fixture->guest);
	assert_false(pass_leaves_records(fixture, old_ns + READ_DELAY_NS + 1));
	assert_int_equal(fixture->nr_gpu, 3);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, ring_source_fixture_set_up,                          \
					ring_source_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_few_records_wait_while_definitions_are_read),
		TEST(the_first_records_wait_for_clock_and_devices),
		TEST(the_first_records_wait_two_seconds_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
