#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "node-agent/base/device_topology.h"
#include "node-agent/guests/process_placement.h"
#include "tests/support/fake_nvml/fake_nvml.h"

#define S       1000000000ull
#define WAIT_MS 20000u

static struct numa_map map;
static struct string_dictionary *strings;
static struct process_placement *placement;
static struct device_list devices; /* empty, unless a test fills it */

static int set_up(void **state)
{
	(void)state;
	map = (struct numa_map){.nr_nodes = 2, .nr_devices = 1};
	for (uint32_t cpu = 0; cpu < NUMA_MAP_CPUS; cpu++)
		map.node_of_cpu[cpu] = 3; /* wherever this test runs */
	map.devices[0] = (struct numa_map_device){.pci_bus = 0x17, .node = 1, .cpus = "8-15"};
	strings = string_dictionary_create();
	placement = process_placement_create(
		&(struct process_placement_sources){.map = &map, .devices = &devices}, getpid());
	assert_non_null(placement);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	process_placement_destroy(placement);
	string_dictionary_destroy(strings);
	device_list_fini(&devices);
	return 0;
}

static void the_cpu_is_the_field_behind_any_name(void **state)
{
	static const char fields[] = " R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 "
				     "23 24 25 26 27 28 29 30 31 "
				     "32 33 34 35";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "4711 (a b) c)%s 77 0 0\n", fields);
	assert_int_equal(process_placement_parse(text), 77);
	snprintf(text, sizeof(text), "4711 (python3)%s 4096 0 0\n", fields);
	assert_int_equal(process_placement_parse(text), -1);
	snprintf(text, sizeof(text), "4711 (python3)%s\n", fields);
	assert_int_equal(process_placement_parse(text), -1);
	assert_int_equal(process_placement_parse(""), -1);
	assert_int_equal(process_placement_parse("1 (x) R"), -1);
}

static void threads_that_launched_are_looked_at_once_a_second(void **state)
{
	struct message message;
	uint64_t counts[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		process_placement_launch(placement, (uint32_t)getpid());
		process_placement_look(placement, (10 + (uint64_t)i) * S);
		process_placement_launch(placement, (uint32_t)getpid());
		process_placement_look(placement, (10 + (uint64_t)i) * S + S / 2);
		assert_int_equal(process_placement_message(placement, strings, 1, &message), 1);
		assert_int_equal(message.placement.nr_threads, 1);
		assert_int_equal(message.placement.threads[0].tid, getpid());
		assert_int_equal(message.placement.threads[0].numa_node, 3);
		counts[i] = message.placement.threads[0].count;
	}
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[2], 3);
}

static void a_thread_that_launches_no_more_is_not_looked_at(void **state)
{
	struct message message;

	(void)state;
	process_placement_launch(placement, (uint32_t)getpid());
	process_placement_look(placement, S);
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 1);
	process_placement_look(placement, 5 * S);
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 0);
}

static void a_thread_that_is_gone_is_nowhere(void **state)
{
	struct message message;

	(void)state;
	process_placement_launch(placement, UINT32_MAX);
	process_placement_look(placement, S);
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 0);
}

static void devices_are_found_by_their_place_on_the_bus(void **state)
{
	struct message message;

	(void)state;
	process_placement_device(placement, 0, 0, 0x17, 0);
	process_placement_device(placement, 1, 0, 0x18, 0);
	process_placement_device(placement, 0, 0, 0x17, 0); /* once more */
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 1);
	assert_int_equal(message.placement.nr_devices, 2);
	assert_int_equal(message.placement.devices[0].numa_node, 1);
	assert_true(message.placement.devices[0].cpus != 0);
	assert_int_equal(message.placement.devices[1].numa_node, PLACEMENT_NODE_NONE);
	assert_int_equal(message.placement.devices[1].cpus, 0);
}

static void more_threads_than_there_is_room_for_are_left_out(void **state)
{
	(void)state;
	for (uint32_t tid = 1; tid < 2 * PROCESS_PLACEMENT_THREADS; tid++)
		process_placement_launch(placement, tid);
	process_placement_look(placement, S);
}

/* Replaces the placement by one that records links. */
static struct link_reader *begin_links(const struct numa_map *with)
{
	struct link_reader *reader = link_reader_create();

	fake_nvml_reset();
	process_placement_destroy(placement);
	placement = process_placement_create(
		&(struct process_placement_sources){
			.map = with, .links = reader, .devices = &devices},
		getpid());
	assert_non_null(placement);
	return reader;
}

static void end_links(struct link_reader *reader)
{
	process_placement_destroy(placement);
	placement = NULL;
	link_reader_destroy(reader, WAIT_MS);
}

static void links_come_when_they_are_read(void **state)
{
	struct message message;
	struct nvml_link link;

	(void)state;
	struct link_reader *reader = begin_links(NULL);
	fake_nvml_hang(true);
	process_placement_device(placement, 0, 0, 0x17, 0);
	process_placement_device(placement, 1, 0, 0xfe, 0); /* NVML does not see it */
	process_placement_device(placement, 2, 0, 0x18, 0);
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 0);
	fake_nvml_hang(false);
	while (link_reader_find(reader, 0, 0x17, 0, &link) == -EAGAIN ||
	       link_reader_find(reader, 0, 0xfe, 0, &link) == -EAGAIN ||
	       link_reader_find(reader, 0, 0x18, 0, &link) == -EAGAIN)
		sched_yield();
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 1);
	assert_int_equal(message.placement.nr_devices, 0); /* there is no map */
	assert_int_equal(message.placement.nr_threads, 0);
	assert_int_equal(message.placement.nr_links, 2);
	assert_int_equal(message.placement.links[0].device_id, 0);
	assert_int_equal(message.placement.links[0].link, DEVICE_LINK_NVLINK);
	assert_int_equal(message.placement.links[0].bytes_per_second, 478116000000);
	assert_int_equal(message.placement.links[1].device_id, 2);
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 0);
	end_links(reader);
}

static void invented_gpus_take_no_place_of_the_nodes_gpus(void **state)
{
	const struct device_list_entry gpu = {.pci_bus = 0x17};
	struct message message;
	struct nvml_link link;

	(void)state;
	assert_int_equal(device_list_add(&devices, &gpu), 0);
	struct link_reader *reader = begin_links(&map);
	for (uint32_t bus = 0; bus < 2 * LINK_READER_DEVICES; bus++)
		process_placement_device(placement, 0, 9, bus, 0);
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 1);
	assert_int_equal(message.placement.nr_links, 0);
	process_placement_device(placement, 1, 0, 0x17, 0);
	while (link_reader_find(reader, 0, 0x17, 0, &link) == -EAGAIN)
		sched_yield();
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 1);
	assert_int_equal(message.placement.nr_links, 1);
	assert_int_equal(message.placement.links[0].device_id, 1);
	assert_int_equal(fake_nvml.nr_finds, 1);
	end_links(reader);
}

static void a_link_that_is_known_comes_with_the_places(void **state)
{
	struct message message;
	struct nvml_link link;

	(void)state;
	struct link_reader *reader = begin_links(&map);
	while (link_reader_find(reader, 0, 0x17, 0, &link) == -EAGAIN)
		sched_yield();
	process_placement_device(placement, 5, 0, 0x17, 0);
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 1);
	assert_int_equal(message.placement.nr_devices, 1);
	assert_int_equal(message.placement.nr_links, 1);
	assert_int_equal(message.placement.links[0].device_id, 5);
	process_placement_device(placement, 5, 0, 0xfe, 0); /* it is another GPU now */
	while (link_reader_find(reader, 0, 0xfe, 0, &link) == -EAGAIN)
		sched_yield();
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 1);
	assert_int_equal(message.placement.nr_links, 0);
	end_links(reader);
}

/* Waits until the message has telemetry with so many readings. */
static void await_telemetry(struct message *message, uint64_t readings)
{
	do
		while (process_placement_message(placement, strings, 1, message) == 0)
			sched_yield();
	while (message->placement.nr_telemetry == 0 ||
	       message->placement.telemetry->readings < readings);
}

static void telemetry_comes_alone_once_the_rest_was_sent(void **state)
{
	struct telemetry_reader *reader = telemetry_reader_create(1);
	const struct process_placement_sources sources = {
		.map = &map, .telemetry = reader, .devices = &devices};
	struct message message;

	(void)state;
	fake_nvml_reset();
	process_placement_destroy(placement);
	placement = process_placement_create(&sources, getpid());
	process_placement_used(placement, 5); /* described later */
	process_placement_device(placement, 5, 0, 0x17, 0);
	process_placement_device(placement, 6, 0, 0x18, 0);
	await_telemetry(&message, 1);
	await_telemetry(&message, 3);
	assert_int_equal(message.placement.nr_devices, 0);
	assert_int_equal(message.placement.nr_telemetry, 1);
	const struct device_telemetry *telemetry = message.placement.telemetry;
	assert_int_equal(telemetry->device_id, 5);
	assert_int_equal(telemetry->refusal, TELEMETRY_ANSWERS);
	assert_int_equal(telemetry->energy_mj, (telemetry->readings - 1) * 125000);
	assert_int_equal(fake_nvml.nr_finds, 1); /* the other device does no work */
	process_placement_used(placement, 6);
	process_placement_used(placement, 6);
	do
		await_telemetry(&message, 0);
	while (message.placement.telemetry[message.placement.nr_telemetry - 1].device_id != 6);
	process_placement_device(placement, 5, 0, 0xfe, 0); /* it is another GPU now */
	do
		await_telemetry(&message, 0);
	while (message.placement.telemetry->refusal == TELEMETRY_ANSWERS);
	assert_int_equal(message.placement.telemetry->refusal, TELEMETRY_NO_DEVICE);
	process_placement_destroy(placement);
	placement = NULL;
	telemetry_reader_destroy(reader, WAIT_MS);
	assert_int_equal(fake_nvml.nr_open, 0);
}

static void without_a_map_no_thread_is_looked_at(void **state)
{
	struct message message;

	(void)state;
	process_placement_destroy(placement);
	placement = process_placement_create(
		&(struct process_placement_sources){.devices = &devices}, 0);
	process_placement_device(placement, 0, 0, 0x17, 0);
	process_placement_launch(placement, (uint32_t)getpid());
	process_placement_look(placement, S);
	assert_int_equal(process_placement_message(placement, strings, 1, &message), 0);
}

static void nothing_is_done_for_nobody(void **state)
{
	struct message message;

	(void)state;
	process_placement_device(NULL, 0, 0, 0, 0);
	process_placement_launch(NULL, 1);
	process_placement_used(NULL, 1);
	process_placement_look(NULL, S);
	assert_int_equal(process_placement_message(NULL, NULL, 1, &message), 0);
	process_placement_destroy(NULL);
}

static void hwloc_tells_which_cpus_are_where(void **state)
{
	static struct numa_map made;

	(void)state;
	setenv("HWLOC_SYNTHETIC", "numa:2 core:2 pu:2", 1);
	assert_int_equal(device_topology_map(&made), 0);
	unsetenv("HWLOC_SYNTHETIC");
	assert_int_equal(made.nr_nodes, 2);
	assert_int_equal(made.node_of_cpu[0], 0);
	assert_int_equal(made.node_of_cpu[3], 0);
	assert_int_equal(made.node_of_cpu[4], 1);
	assert_int_equal(made.node_of_cpu[7], 1);
	assert_int_equal(made.node_of_cpu[8], NUMA_NODE_NONE);
	assert_int_equal(made.nr_devices, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_cpu_is_the_field_behind_any_name),
		TEST(threads_that_launched_are_looked_at_once_a_second),
		TEST(a_thread_that_launches_no_more_is_not_looked_at),
		TEST(a_thread_that_is_gone_is_nowhere),
		TEST(devices_are_found_by_their_place_on_the_bus),
		TEST(more_threads_than_there_is_room_for_are_left_out),
		TEST(links_come_when_they_are_read),
		TEST(invented_gpus_take_no_place_of_the_nodes_gpus),
		TEST(a_link_that_is_known_comes_with_the_places),
		TEST(telemetry_comes_alone_once_the_rest_was_sent),
		TEST(without_a_map_no_thread_is_looked_at),
		TEST(nothing_is_done_for_nobody),
		TEST(hwloc_tells_which_cpus_are_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
