#include "node-agent/guest_process.h"

#include "cmocka_test.h"

#include <unistd.h>

#include "guest_fixture.h"
#include "node-agent/fair_shares.h"
#include "node-agent/probe_stacks.h"
#include "node-agent/process_ledger.h"
#include "node-agent/ring_ownership.h"
#include "node-agent/ring_source.h"
#include "node-agent/user_shares.h"

static struct string_dictionary *strings;
static struct stack_dictionary *stacks;
static struct user_shares *shares;
static struct fair_shares process_ids;
static struct publisher *publisher;
static struct batch_builder *builder;
static struct device_list devices;
static struct record_ring *ring; /* the guest's view */
static struct guest_process *process;
static struct probe_stacks *probe;
static uint32_t nr_processes, lane;

static int on_module(void *context, const struct symbolizer_module *module)
{
	(void)context;
	(void)module;
	return 0;
}

static void on_notice(void *context, const char *text)
{
	(void)context;
	(void)text;
}

static int send_message(void *context, struct message *message)
{
	(void)context;
	return publisher_send(publisher, message);
}

static void create_process(void)
{
	static const uint8_t epoch[RECORD_RING_EPOCH] = {1};
	static struct guest_process_scope scope;
	struct guest_hello hello = guest_fixture_hello(1);
	struct guest_arrival arrival = {.uid = getuid(), .hello = &hello};
	int fd;

	assert_int_equal(record_ring_create(&guest_fixture_sizes, &ring, &fd), 0);
	assert_int_equal(record_ring_map(fd, &arrival.ring), 0);
	close(fd);
	scope = (struct guest_process_scope){
		.strings = strings,
		.stacks = stacks,
		.shares = shares,
		.process_ids = &process_ids,
		.builder = builder,
		.publisher = publisher,
		.devices = &devices,
		.nr_processes = &nr_processes,
		.module = on_module,
		.notice = on_notice,
		.epoch = epoch,
	};
	assert_int_equal(guest_process_create(0, &arrival, &scope, &process), 0);
	lane = (uint32_t)record_ring_claim_lane(ring);
}

static int set_up(void **state)
{
	const struct publisher_options options = {.window_bytes = 1u << 20};
	char *error = NULL;

	(void)state;
	strings = string_dictionary_create();
	stacks = stack_dictionary_create();
	shares = user_shares_create(strings, stacks);
	assert_int_equal(publisher_create(&options, &publisher, &error), 0);
	builder = batch_builder_create(strings, stacks, send_message, NULL);
	probe = probe_stacks_create();
	create_process();
	guest_process_set_probe(process, probe);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	guest_process_destroy(process);
	probe_stacks_destroy(probe);
	record_ring_destroy(ring);
	batch_builder_destroy(builder);
	publisher_destroy(publisher);
	user_shares_destroy(shares);
	fair_shares_forget(&process_ids);
	stack_dictionary_destroy(stacks);
	string_dictionary_destroy(strings);
	return 0;
}

static void launch(uint32_t correlation_id)
{
	const struct launch_record record = {.correlation_id = correlation_id,
					     .stack_id = RECORD_STACK_PROBE};

	assert_true(record_ring_push_launch(ring, lane, &record));
}

/* Its event of the kernel is read. */
static void read_stack(uint32_t correlation_id)
{
	const uint64_t addresses[] = {0x1101};

	assert_int_equal(probe_stacks_put(probe, 0, correlation_id, addresses, 1, 1), 0);
}

static uint64_t probe_lost(void)
{
	uint32_t nr;
	const struct ledger_entry *entries =
		process_ledger_entries(guest_process_ledger(process), &nr);

	for (uint32_t i = 0; i < nr; i++)
		if (entries[i].reason == LEDGER_PROBE_LOST)
			return entries[i].count;
	return 0;
}

static void a_launch_after_the_kernels_events_were_read_waits_for_the_next_pass(void **state)
{
	(void)state;
	launch(1);
	assert_true(guest_process_begin(process, 0));
	read_stack(1);
	launch(2);
	assert_int_equal(guest_process_pass(process, 0), 0);
	assert_int_equal(guest_process_launches(process), 1);
	/* A second call of the same turn: another process was removed, and this one took its place. */
	assert_int_equal(guest_process_pass(process, 0), 0);
	assert_int_equal(guest_process_launches(process), 1);
	assert_true(guest_process_begin(process, 0));
	read_stack(2);
	assert_int_equal(guest_process_pass(process, 0), 0);
	assert_int_equal(guest_process_launches(process), 2);
	assert_int_equal(probe_lost(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_launch_after_the_kernels_events_were_read_waits_for_the_next_pass, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
