#include "node-agent/guests/guest_process.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest_fixture.h"
#include "node-agent/base/fair_shares.h"
#include "node-agent/dictionary/user_shares.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/predecessor.h"
#include "node-agent/guests/probe_stacks.h"
#include "node-agent/guests/process_ledger.h"
#include "node-agent/guests/ring_ownership.h"
#include "node-agent/guests/ring_source.h"

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
static struct guest_register *reg; /* NULL: none */
static uint32_t nr_processes, lane;

static bool is_late;
static uint32_t nr_reads, nr_late_notices;

bool __wrap_process_description_is_late(const struct process_description *description);
void __wrap_process_description_read_late(struct process_description *description);
int __real_process_description_add_notice(struct process_description *description, const char *text,
					  size_t size);
int __wrap_process_description_add_notice(struct process_description *description, const char *text,
					  size_t size);

bool __wrap_process_description_is_late(const struct process_description *description)
{
	(void)description;
	return is_late;
}

void __wrap_process_description_read_late(struct process_description *description)
{
	(void)description;
	nr_reads++;
}

int __wrap_process_description_add_notice(struct process_description *description, const char *text,
					  size_t size)
{
	nr_late_notices += strstr(text, "its memory could not be read") != NULL;
	return __real_process_description_add_notice(description, text, size);
}

static uint32_t nr_messages; /* with samples of kernels */
static uint64_t nr_samples;

int __real_publisher_send(struct publisher *to, struct message *message);
int __wrap_publisher_send(struct publisher *to, struct message *message);

int __wrap_publisher_send(struct publisher *to, struct message *message)
{
	if (message->type != MESSAGE_SAMPLES)
		return __real_publisher_send(to, message);
	assert_true(batch_builder_is_flushed(builder)); /* their names are known */
	assert_int_equal(message->samples.process_id, nr_processes);
	nr_messages++;
	for (uint32_t i = 0; i < message->samples.nr_samples; i++)
		nr_samples += message->samples.samples[i].duration_ns;
	return __real_publisher_send(to, message);
}

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

/* predecessors: NULL: a process of an agent that `run` has made. */
static void create_process(struct predecessor_table *predecessors)
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
		.predecessors = predecessors,
		.reg = reg,
	};
	assert_int_equal(guest_process_create(0, &arrival, &scope, &process), 0);
	lane = (uint32_t)record_ring_claim_lane(ring);
}

static void destroy_process(void)
{
	guest_process_destroy(process);
	record_ring_destroy(ring);
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
	create_process(NULL);
	guest_process_set_probe(process, probe);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	destroy_process();
	probe_stacks_destroy(probe);
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

static uint64_t counted(enum ledger_reason reason)
{
	uint32_t nr;
	const struct ledger_entry *entries =
		process_ledger_entries(guest_process_ledger(process), &nr);

	for (uint32_t i = 0; i < nr; i++)
		if (entries[i].reason == reason)
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
	assert_int_equal(counted(LEDGER_PROBE_LOST), 0);
}

/* One pass, of a process that is gone. */
static void pass(uint64_t now_ns)
{
	guest_process_begin(process, now_ns);
	assert_int_equal(guest_process_pass(process, now_ns), 0);
}

static void an_end_without_a_goodbye_waits_for_word_of_a_stop(void **state)
{
	(void)state;
	guest_process_end(process, true);
	pass(1);
	assert_false(guest_process_is_over(process));
	pass(GUEST_PROCESS_VERDICT_NS);
	assert_false(guest_process_is_over(process));
	guest_process_stop(process, LEDGER_INTERRUPTED_END);
	pass(GUEST_PROCESS_VERDICT_NS);
	assert_true(guest_process_is_over(process));
	assert_int_equal(counted(LEDGER_INTERRUPTED_END), 1);
	assert_int_equal(counted(LEDGER_UNCLEAN_END), 0);
}

static void what_could_not_be_read_is_read_again_and_missed_at_the_end(void **state)
{
	(void)state;
	nr_reads = nr_late_notices = 0;
	is_late = true;
	pass(GUEST_PROCESS_LEDGER_INTERVAL_NS);
	pass(2 * GUEST_PROCESS_LEDGER_INTERVAL_NS);
	assert_int_equal(nr_reads, 2);
	assert_int_equal(nr_late_notices, 0);
	guest_process_end(process, false);
	pass(3 * GUEST_PROCESS_LEDGER_INTERVAL_NS);
	assert_true(guest_process_is_over(process));
	assert_int_equal(nr_late_notices, 1);
	is_late = false;
}

static void an_end_waits_no_longer_than_the_verdict(void **state)
{
	(void)state;
	guest_process_end(process, true);
	pass(1);
	pass(1 + GUEST_PROCESS_VERDICT_NS);
	assert_true(guest_process_is_over(process));
	assert_int_equal(counted(LEDGER_UNCLEAN_END), 1);
}

static void an_agent_that_goes_on_for_others_is_told_of_no_stop(void **state)
{
	const struct publisher_options own = {.endpoint = "ipc:///nonexistent/aggregator"};
	struct predecessor_table *predecessors = predecessor_table_create(&own);

	(void)state;
	destroy_process();
	create_process(predecessors);
	guest_process_end(process, true);
	pass(1);
	assert_true(guest_process_is_over(process));
	assert_int_equal(counted(LEDGER_UNCLEAN_END), 1);
	predecessor_table_destroy(predecessors);
}

static void samples_of_kernels_come_in_messages_of_their_own(void **state)
{
	static struct definition_kernel_sample entries[4096];
	const struct definition_kernel_samples head = {.nr_entries = 4096};

	(void)state;
	nr_messages = 0;
	nr_samples = 0;
	for (uint32_t i = 0; i < 4096; i++)
		entries[i] = (struct definition_kernel_sample){16 * i, 0, 1 + i % 3};
	for (int i = 0; i < 5; i++)
		assert_true(record_ring_define(ring, DEFINITION_KERNEL_SAMPLES, &head, sizeof(head),
					       entries, sizeof(entries)));
	launch(1);
	assert_true(guest_process_begin(process, 0));
	assert_int_equal(guest_process_pass(process, 0), 0);
	assert_int_equal(nr_messages, 2);
	assert_int_equal(nr_samples, 5 * (4096 / 3 * 6 + 1));
	assert_int_equal(guest_process_launches(process), 1);
	assert_true(guest_process_begin(process, 0));
	assert_int_equal(guest_process_pass(process, 0), 0);
	assert_int_equal(nr_messages, 2);
}

static void count_left(void *context, const struct guest_register_entry *entry)
{
	(void)entry;
	++*(uint32_t *)context;
}

/* An agent that was killed has left it there. */
static void a_guest_that_found_no_place_stays_in_the_register(void **state)
{
	const struct guest_hello hello = guest_fixture_hello(1);
	char directory[] = "/tmp/guest-process.XXXXXX", path[64];
	uint32_t nr_left = 0;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/agent", directory);
	assert_int_equal(guest_register_open(path, &reg), 0);
	guest_register_add(reg, 0, getuid(), &hello);
	for (int taken_in = 0; taken_in < 2; taken_in++) {
		destroy_process();
		create_process(NULL);
		if (taken_in)
			guest_process_register(process, &hello);
		destroy_process();
		guest_register_stored(reg, 0);
		nr_left = 0;
		guest_register_each(reg, count_left, &nr_left);
		create_process(NULL); /* tear_down() expects one */
		assert_int_equal(nr_left, !taken_in);
	}
	guest_register_close(reg);
	reg = NULL;
	assert_int_equal(rmdir(directory), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_launch_after_the_kernels_events_were_read_waits_for_the_next_pass),
		TEST(an_end_without_a_goodbye_waits_for_word_of_a_stop),
		TEST(what_could_not_be_read_is_read_again_and_missed_at_the_end),
		TEST(an_end_waits_no_longer_than_the_verdict),
		TEST(an_agent_that_goes_on_for_others_is_told_of_no_stop),
		TEST(samples_of_kernels_come_in_messages_of_their_own),
		TEST(a_guest_that_found_no_place_stays_in_the_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
