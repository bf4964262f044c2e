#include "aggregator/profile/session_modules.h"

#include "tests/support/cmocka_test.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/placement_log.h"
#include "aggregator/profile/roster.h"

static struct collection *collection;
static struct agent_session *session;
static uint32_t process_id, device;

/* An agent that has defined a string, the collection's 5, and a process whose CUDA ordinal 1 is a device. */
static int set_up(void **state)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	struct roster_ordinal ordinal = {.device_id = 1};

	(void)state;
	collection = collection_create();
	session = collection_session(collection, epoch);
	assert_int_equal(roster_add_process(collection->roster, &(struct roster_identity){.pid = 1},
					    &process_id),
			 0);
	assert_int_equal(
		roster_add_device(collection->roster, &(struct roster_device){.host = 1}, &device),
		0);
	ordinal.device = device;
	assert_int_equal(roster_process_set_devices(roster_process(collection->roster, process_id),
						    &ordinal, 1),
			 0);
	agent_session_add_id(session, SESSION_STRINGS, 5);
	agent_session_add_id(session, SESSION_PROCESSES, process_id);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	collection_destroy(collection);
	return 0;
}

static int apply(const struct message_placement *placement)
{
	const struct message message = {.placement = *placement};
	const char *reason = NULL;
	int result = session_placement_apply(session, collection, &message, &reason);

	assert_non_null(reason);
	return result;
}

/* Counts of the agent's state, which has them in samples, move to dropped. */
static void samples_without_time_are_dropped(void **state)
{
	const struct counter_state counter_state = {
		.device_id = 1, .samples = 9, .kept = 8, .dropped = 1};
	const struct counter_sample samples[] = {{.device_id = 1, .begin_ns = 5, .end_ns = 1},
						 {.device_id = 1, .begin_ns = 6, .end_ns = 6},
						 {.device_id = 1, .begin_ns = 6, .end_ns = 7}};
	const struct message_placement message = {.process_id = 1,
						  .nr_counter_states = 1,
						  .counter_states = &counter_state,
						  .nr_counters = 3,
						  .counters = samples};
	uint32_t count;

	(void)state;
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(apply(&message), 0);
		const struct counter_sample *counters =
			placement_log_counters(collection->placements, &count);
		assert_int_equal(count, 1);
		assert_int_equal(counters->end_ns, 7);
		const struct counter_state *told =
			placement_log_counter_states(collection->placements, &count);
		assert_int_equal(count, 1);
		assert_int_equal(told->samples, 9 - 2 * i);
		assert_int_equal(told->kept, 8 - 2 * i);
		assert_int_equal(told->dropped, 1 + 2 * i);
		placement_log_saved(collection->placements);
	}
}

static void ids_of_a_placement_are_translated(void **state)
{
	const struct message_placed_device placed = {1, 3, 1};
	const struct message_placed_thread ran = {4711, 3, 9};
	const struct message_link link = {1, DEVICE_LINK_NVLINK, 478116000000};
	const struct device_telemetry sums = {.device_id = 1, .begin_ns = 7, .energy_mj = 5000};
	const struct counter_state counter_state = {.device_id = 1, .samples = 77};
	const struct counter_sample sample = {.device_id = 1, .begin_ns = 1, .end_ns = 2};
	uint32_t count;

	(void)state;
	assert_int_equal(apply(&(struct message_placement){.process_id = 1,
							   .nr_telemetry = 1,
							   .telemetry = &sums,
							   .nr_counter_states = 1,
							   .counter_states = &counter_state,
							   .nr_counters = 1,
							   .counters = &sample,
							   .nr_devices = 1,
							   .devices = &placed,
							   .nr_threads = 1,
							   .threads = &ran,
							   .nr_links = 1,
							   .links = &link}),
			 0);
	const struct placement_device *devices =
		placement_log_devices(collection->placements, &count);
	assert_int_equal(count, 1);
	assert_int_equal(devices->device, device);
	assert_int_equal(devices->numa_node, 3);
	assert_int_equal(devices->cpus, 5);
	const struct placement_thread *threads =
		placement_log_threads(collection->placements, &count);
	assert_int_equal(count, 1);
	assert_int_equal(threads->process, process_id);
	assert_int_equal(threads->count, 9);
	const struct placement_link *links = placement_log_links(collection->placements, &count);
	assert_int_equal(count, 1);
	assert_int_equal(links->device, device);
	assert_int_equal(links->link, DEVICE_LINK_NVLINK);
	assert_int_equal(links->bytes_per_second, 478116000000);
	const struct device_telemetry *telemetry =
		placement_log_telemetry(collection->placements, &count);
	assert_int_equal(count, 1);
	assert_int_equal(telemetry->device_id, device);
	assert_int_equal(telemetry->energy_mj, 5000);
	const struct counter_state *told =
		placement_log_counter_states(collection->placements, &count);
	assert_int_equal(count, 1);
	assert_int_equal(told->device_id, device);
	assert_int_equal(told->samples, 77);
	const struct counter_sample *counters =
		placement_log_counters(collection->placements, &count);
	assert_int_equal(count, 1);
	assert_int_equal(counters->device_id, device);
	assert_int_equal(counters->end_ns, 2);
	placement_log_saved(collection->placements);
	placement_log_counters(collection->placements, &count);
	assert_int_equal(count, 0);
	placement_log_counter_states(collection->placements, &count);
	assert_int_equal(count, 0);
	placement_log_links(collection->placements, &count);
	assert_int_equal(count, 0);
	placement_log_telemetry(collection->placements, &count);
	assert_int_equal(count, 0);
}

static void what_is_not_defined_is_refused(void **state)
{
	const struct message_placed_device placed[] = {{2, 3, 1}, {1, 3, 2}};
	const struct message_link links[] = {{1, DEVICE_LINK_PCIE, 1}, {2, DEVICE_LINK_PCIE, 1}};
	uint32_t count;

	(void)state;
	assert_int_equal(apply(&(struct message_placement){.process_id = 0}), REFUSE_UNDEFINED);
	assert_int_equal(apply(&(struct message_placement){.process_id = 2}), REFUSE_UNDEFINED);
	for (int i = 0; i < 2; i++)
		assert_int_equal(apply(&(struct message_placement){
					 .process_id = 1, .nr_devices = 1, .devices = &placed[i]}),
				 REFUSE_UNDEFINED);
	assert_int_equal(
		apply(&(struct message_placement){.process_id = 1, .nr_links = 2, .links = links}),
		REFUSE_UNDEFINED);
	assert_int_equal(apply(&(struct message_placement){
				 .process_id = 1,
				 .nr_telemetry = 1,
				 .telemetry = &(struct device_telemetry){.device_id = 2}}),
			 REFUSE_UNDEFINED);
	assert_int_equal(apply(&(struct message_placement){
				 .process_id = 1,
				 .nr_counter_states = 1,
				 .counter_states = &(struct counter_state){.device_id = 2}}),
			 REFUSE_UNDEFINED);
	assert_int_equal(apply(&(struct message_placement){
				 .process_id = 1,
				 .nr_counters = 1,
				 .counters = &(struct counter_sample){.device_id = 2}}),
			 REFUSE_UNDEFINED);
	placement_log_devices(collection->placements, &count);
	assert_int_equal(count, 0);
	placement_log_links(collection->placements, &count);
	assert_int_equal(count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_without_time_are_dropped),
		TEST(ids_of_a_placement_are_translated),
		TEST(what_is_not_defined_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
