/* One agent reads a ring, dies at some point, and the next goes on: nothing twice, nothing left out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/definition.h"
#include "proto/ring/record_ring.h"

static const struct record_ring_sizes small = {
	.launch_lanes = 4,
	.launch_lane_records = 64,
	.activity_records = 64,
	.definition_bytes = 1u << 18,
	.stacks = 64,
	.stack_words = 1024,
	.codes = 16,
	.code_words = 256,
	.log_bytes = 4096,
};
static const uint8_t first_agent[RECORD_RING_EPOCH] = "the first agent";
static const uint8_t second_agent[RECORD_RING_EPOCH] = "the second one";

static struct record_ring *guest, *reader;
static int fd, lane;
static uint32_t next_launch, next_record;

static int set_up(void **state)
{
	(void)state;
	next_launch = next_record = 0;
	assert_int_equal(record_ring_create(&small, &guest, &fd), 0);
	lane = record_ring_claim_lane(guest);
	assert_int_equal(record_ring_map(fd, &reader), 0);
	record_ring_own(reader, first_agent);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_ring_unmap(reader);
	record_ring_destroy(guest);
	close(fd);
	return 0;
}

static void produce(uint32_t launches, uint32_t records)
{
	for (uint32_t i = 0; i < launches; i++) {
		struct launch_record launch = {.correlation_id = ++next_launch};

		assert_true(record_ring_push_launch(guest, (uint32_t)lane, &launch));
	}
	for (uint32_t i = 0; i < records; i++) {
		struct gpu_record record = {.correlation_id = ++next_record};

		assert_int_equal(record_ring_push_activity(guest, &record, 1), 1);
	}
}

static void define_name(uint32_t name_id)
{
	struct definition_name name = {.name_id = name_id};

	assert_true(record_ring_define(guest, DEFINITION_NAME, &name, sizeof(name), "kernel", 6));
}

/* Reads all there is; the first launch's and record's number, 0: there was none. */
static void read_all(uint32_t *launch, uint32_t *record)
{
	static struct record_ring_snapshot snapshot;
	struct launch_record launches[64];
	struct gpu_record records[64];

	record_ring_snapshot(reader, &snapshot);
	int nr = record_ring_read_launches(reader, &snapshot, (uint32_t)lane, launches, 64);
	*launch = nr > 0 ? launches[0].correlation_id : 0;
	nr = record_ring_read_activity(reader, &snapshot, records, 64);
	*record = nr > 0 ? records[0].correlation_id : 0;
}

/* Everything read goes into message seq. */
static void send_as(uint64_t seq)
{
	uint32_t launch, record;

	read_all(&launch, &record);
	assert_int_equal(record_ring_mark(reader, seq), 0);
}

static void release_and_acknowledge(uint64_t seq)
{
	struct record_ring_position position;

	assert_int_equal(record_ring_position(reader, &position), 0);
	record_ring_release(reader, &position);
	free(position.launch);
	record_ring_unmark(reader, seq);
}

/* The agent dies; another maps the ring. */
static void map_again(void)
{
	record_ring_unmap(reader);
	assert_int_equal(record_ring_map(fd, &reader), 0);
}

static void assert_owner(const uint8_t *agent)
{
	uint8_t owner[RECORD_RING_EPOCH];

	assert_true(record_ring_owner(reader, owner));
	assert_memory_equal(owner, agent, sizeof(owner));
}

/* It hears that the store has messages up to durable_seq. */
static void take_over(uint64_t durable_seq)
{
	map_again();
	assert_owner(first_agent);
	record_ring_resume(reader, durable_seq);
	record_ring_own(reader, second_agent);
	assert_owner(second_agent);
}

static uint64_t lost(enum ledger_reason reason)
{
	static struct ledger_entry entries[(RECORD_DEVICES_MAX + 1) * LEDGER_REASONS];
	int nr = record_ring_ledger(reader, entries, sizeof(entries) / sizeof(*entries));
	uint64_t count = 0;

	assert_true(nr >= 0);
	for (int i = 0; i < nr; i++)
		if (entries[i].reason == reason)
			count += entries[i].count;
	return count;
}

static void next_agent_begins_after_the_last_message_that_arrived(void **state)
{
	uint32_t launch, record;

	(void)state;
	produce(10, 5);
	send_as(1);
	produce(10, 5);
	send_as(2);
	produce(10, 5);
	send_as(3);
	take_over(2);
	read_all(&launch, &record);
	assert_int_equal(launch, 21);
	assert_int_equal(record, 11);
	assert_int_equal(lost(LEDGER_LAUNCH_RING_FULL) + lost(LEDGER_RECORD_RING_FULL), 0);
}

static void nothing_arrived_means_from_the_beginning(void **state)
{
	uint32_t launch, record;

	(void)state;
	produce(10, 5);
	send_as(4);
	take_over(3);
	read_all(&launch, &record);
	assert_int_equal(launch, 1);
	assert_int_equal(record, 1);
}

static void message_stored_without_its_acknowledgement_is_not_read_again(void **state)
{
	uint32_t launch, record;

	(void)state;
	produce(10, 5);
	send_as(1);
	release_and_acknowledge(1);
	produce(10, 5);
	send_as(2);
	take_over(2);
	read_all(&launch, &record);
	assert_int_equal(launch, 0);
	assert_int_equal(record, 0);
	produce(1, 1);
	read_all(&launch, &record);
	assert_int_equal(launch, 21);
	assert_int_equal(record, 11);
}

/* 40 of each kind are read, sent as message 2 and given back at once. */
static void crowd(void)
{
	produce(10, 5);
	send_as(1);
	release_and_acknowledge(1);
	produce(40, 40);
	send_as(2);
	assert_int_equal(record_ring_release_crowded(reader), 2);
}

static void what_a_crowded_lane_gave_back_unacknowledged_is_counted(void **state)
{
	(void)state;
	crowd();
	take_over(1);
	assert_int_equal(lost(LEDGER_LAUNCH_RING_FULL), 40);
	assert_int_equal(lost(LEDGER_RECORD_RING_FULL), 40);
}

static void assert_passed_on(uint64_t want_launches, uint64_t want_records)
{
	uint64_t launches, records;

	record_ring_passed_on(reader, &launches, &records);
	assert_int_equal(launches, want_launches);
	assert_int_equal(records, want_records);
}

static void what_earlier_agents_passed_on_is_known_without_what_is_gone(void **state)
{
	(void)state;
	assert_passed_on(0, 0);
	crowd();
	produce(3, 2);
	send_as(3);
	take_over(1);
	assert_passed_on(10, 5);
	send_as(1);
	map_again();
	record_ring_resume(reader, 1);
	assert_passed_on(13, 7);
}

static void what_is_gone_stays_counted_for_every_agent_that_follows(void **state)
{
	static const uint8_t third_agent[RECORD_RING_EPOCH] = "the third";

	(void)state;
	crowd();
	take_over(1);
	map_again();
	assert_owner(second_agent);
	record_ring_resume(reader, 0);
	record_ring_own(reader, third_agent);
	assert_int_equal(lost(LEDGER_LAUNCH_RING_FULL), 40);
	assert_int_equal(lost(LEDGER_RECORD_RING_FULL), 40);
}

static void agent_killed_while_it_takes_over_leaves_the_same_to_the_next(void **state)
{
	uint32_t launch, record;

	(void)state;
	crowd();
	produce(3, 2);
	send_as(3);
	map_again();
	record_ring_resume(reader, 1);
	map_again();
	assert_owner(first_agent);
	record_ring_resume(reader, 1);
	record_ring_own(reader, second_agent);
	assert_int_equal(lost(LEDGER_LAUNCH_RING_FULL), 40);
	assert_int_equal(lost(LEDGER_RECORD_RING_FULL), 40);
	read_all(&launch, &record);
	assert_int_equal(launch, 51);
	assert_int_equal(record, 46);
}

static void ring_that_is_mapped_twice_is_left_as_it_is(void **state)
{
	struct record_ring *again;
	uint32_t launch, record;

	(void)state;
	produce(10, 5);
	send_as(1);
	assert_int_equal(record_ring_map(fd, &again), 0);
	record_ring_unmap(again);
	assert_owner(first_agent);
	produce(1, 1);
	read_all(&launch, &record);
	assert_int_equal(launch, 11);
	assert_int_equal(record, 6);
}

static void what_others_released_since_the_ring_was_mapped_is_not_read_again(void **state)
{
	struct record_ring *old = reader;
	uint32_t launch, record;

	(void)state;
	assert_int_equal(record_ring_map(fd, &reader), 0);
	struct record_ring *late = reader;
	reader = old;
	produce(10, 5);
	read_all(&launch, &record);
	release_and_acknowledge(1);
	reader = late;
	produce(1, 1);
	record_ring_begin(reader);
	record_ring_own(reader, second_agent);
	read_all(&launch, &record);
	assert_int_equal(launch, 11);
	assert_int_equal(record, 6);
	record_ring_unmap(old);
}

static void lane_claimed_after_a_mark_is_read_from_its_beginning(void **state)
{
	static struct record_ring_snapshot snapshot;
	struct launch_record launch = {.correlation_id = 77}, got;

	(void)state;
	send_as(1);
	int later = record_ring_claim_lane(guest);
	assert_true(later > lane);
	assert_true(record_ring_push_launch(guest, (uint32_t)later, &launch));
	take_over(1);
	record_ring_snapshot(reader, &snapshot);
	assert_int_equal(record_ring_read_launches(reader, &snapshot, (uint32_t)later, &got, 1), 1);
	assert_int_equal(got.correlation_id, 77);
}

static void definitions_of_the_past_come_from_the_log(void **state)
{
	static struct record_ring_snapshot snapshot;
	_Alignas(8) uint8_t body[64];
	struct definition_name name;
	struct definition_clock clock = {.monotonic_ns = 1};
	uint32_t type, size, seen = 0;

	(void)state;
	define_name(1);
	assert_true(record_ring_define(guest, DEFINITION_CLOCK, &clock, sizeof(clock), NULL, 0));
	define_name(2);
	record_ring_snapshot(reader, &snapshot);
	while (record_ring_read_definition(reader, &snapshot, &type, body, sizeof(body), &size) > 0)
		seen++;
	assert_int_equal(seen, 3);
	release_and_acknowledge(1);
	define_name(3);
	take_over(0);
	record_ring_snapshot(reader, &snapshot);
	for (uint32_t id = 1; id <= 3; id++) {
		assert_int_equal(record_ring_read_definition(reader, &snapshot, &type, body,
							     sizeof(body), &size),
				 1);
		memcpy(&name, body, sizeof(name));
		assert_int_equal(type, DEFINITION_NAME);
		assert_int_equal(name.name_id, id);
	}
}

/* ---- samples of kernels: definitions that add up */

static void define_numbered(enum definition_type type, uint64_t number)
{
	assert_true(record_ring_define(guest, type, &number, sizeof(number), NULL, 0));
}

/* Reads all definitions behind the log. Their numbers, in decimal: samples as they are, others negative. */
static const char *read_numbers(void)
{
	static struct record_ring_snapshot snapshot;
	static char text[256];
	_Alignas(8) uint8_t body[64];
	uint64_t number;
	uint32_t type, size;

	*text = '\0';
	record_ring_snapshot(reader, &snapshot);
	for (int r; (r = record_ring_read_definition(reader, &snapshot, &type, body, sizeof(body),
						     &size)) != 0;) {
		size_t used = strlen(text);

		if (r == -EMSGSIZE)
			continue;
		memcpy(&number, body, sizeof(number));
		if (type == DEFINITION_KERNEL_SAMPLES || type == DEFINITION_CUBIN)
			snprintf(text + used, sizeof(text) - used, "%s%d ",
				 type == DEFINITION_CUBIN ? "-" : "", (int)number);
	}
	return text;
}

static void samples_that_were_sent_do_not_come_again(void **state)
{
	(void)state;
	define_numbered(DEFINITION_CUBIN, 1);
	define_numbered(DEFINITION_KERNEL_SAMPLES, 2);
	assert_string_equal(read_numbers(), "-1 2 ");
	assert_int_equal(record_ring_mark(reader, 1), 0);
	define_numbered(DEFINITION_KERNEL_SAMPLES, 3);
	define_numbered(DEFINITION_CUBIN, 4);
	assert_string_equal(read_numbers(), "3 -4 ");
	assert_int_equal(record_ring_mark(reader, 2), 0);
	define_numbered(DEFINITION_KERNEL_SAMPLES, 5);
	take_over(1);
	assert_string_equal(read_numbers(), "-1 3 -4 5 ");
	/* That agent's only message did not arrive. */
	assert_int_equal(record_ring_mark(reader, 1), 0);
	map_again();
	record_ring_resume(reader, 0);
	assert_string_equal(read_numbers(), "-1 3 -4 5 ");
}

static void samples_that_no_message_carried_come_again(void **state)
{
	(void)state;
	define_numbered(DEFINITION_KERNEL_SAMPLES, 1);
	assert_string_equal(read_numbers(), "1 ");
	assert_int_equal(record_ring_mark(reader, 1), 0);
	take_over(0);
	assert_string_equal(read_numbers(), "1 ");
}

/* Killed with the mark gone, or the owner: the next agent reads from the released position. */
static void agent_killed_while_it_takes_over_gives_no_sample_twice(void **state)
{
	uint8_t owner[RECORD_RING_EPOCH];

	(void)state;
	define_numbered(DEFINITION_KERNEL_SAMPLES, 1);
	define_numbered(DEFINITION_CUBIN, 2);
	assert_string_equal(read_numbers(), "1 -2 ");
	assert_int_equal(record_ring_mark(reader, 1), 0);
	define_numbered(DEFINITION_KERNEL_SAMPLES, 3);
	map_again();
	record_ring_resume(reader, 1);
	record_ring_own(reader, (const uint8_t[RECORD_RING_EPOCH]){0});
	map_again();
	assert_false(record_ring_owner(reader, owner));
	record_ring_begin(reader);
	assert_string_equal(read_numbers(), "-2 3 ");
}

static void samples_before_a_new_start_are_skipped(void **state)
{
	(void)state;
	define_numbered(DEFINITION_KERNEL_SAMPLES, 1);
	define_numbered(DEFINITION_CUBIN, 2);
	map_again();
	record_ring_skip(reader);
	define_numbered(DEFINITION_KERNEL_SAMPLES, 3);
	assert_string_equal(read_numbers(), "-2 3 ");
}

static void samples_are_not_in_the_log(void **state)
{
	(void)state;
	define_numbered(DEFINITION_KERNEL_SAMPLES, 1);
	define_numbered(DEFINITION_CUBIN, 2);
	assert_string_equal(read_numbers(), "1 -2 ");
	release_and_acknowledge(1);
	take_over(0);
	assert_string_equal(read_numbers(), "");
}

static void masses_leave_a_quarter_of_the_lane(void **state)
{
	static const uint8_t piece[1000];
	uint64_t used = 0;

	(void)state;
	for (; record_ring_spares(guest, sizeof(piece)); used += 8 + sizeof(piece))
		assert_true(
			record_ring_define(guest, DEFINITION_CUBIN, piece, sizeof(piece), NULL, 0));
	assert_true(used > small.definition_bytes / 4 * 3 - 8 - sizeof(piece));
	assert_true(used <= small.definition_bytes / 4 * 3 + 8);
	assert_true(record_ring_spares(guest, 0));
	assert_string_equal(read_numbers(), "");
	assert_false(record_ring_spares(guest, sizeof(piece)));
	release_and_acknowledge(1);
	assert_true(record_ring_spares(guest, small.definition_bytes / 4 * 3));
	assert_false(record_ring_spares(guest, small.definition_bytes / 4 * 3 + 1));
}

static void full_log_takes_no_more_and_leaves_the_lane_alone(void **state)
{
	static struct record_ring_snapshot snapshot;
	_Alignas(8) uint8_t body[64];
	uint32_t type, size, seen = 0;

	(void)state;
	for (uint32_t id = 1; id <= 1000; id++)
		define_name(id);
	record_ring_snapshot(reader, &snapshot);
	while (record_ring_read_definition(reader, &snapshot, &type, body, sizeof(body), &size) > 0)
		seen++;
	assert_int_equal(seen, 1000);
}

static void marks_run_out_and_come_back(void **state)
{
	uint64_t seq = 1;

	(void)state;
	for (; record_ring_can_mark(reader); seq++)
		assert_int_equal(record_ring_mark(reader, seq), 0);
	assert_int_equal(seq, RECORD_RING_MARKS);
	assert_int_equal(record_ring_mark(reader, seq), -EBUSY);
	record_ring_unmark(reader, seq - 2);
	assert_true(record_ring_can_mark(reader));
	for (uint32_t i = 0; i < 5 * RECORD_RING_MARKS; i++, seq++) {
		assert_int_equal(record_ring_mark(reader, seq), 0);
		record_ring_unmark(reader, seq);
	}
}

static void beat_is_what_the_agent_said_last(void **state)
{
	(void)state;
	assert_int_equal(record_ring_last_beat(guest), 0);
	record_ring_beat(reader, 123456);
	assert_int_equal(record_ring_last_beat(guest), 123456);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(next_agent_begins_after_the_last_message_that_arrived),
		TEST(nothing_arrived_means_from_the_beginning),
		TEST(message_stored_without_its_acknowledgement_is_not_read_again),
		TEST(what_a_crowded_lane_gave_back_unacknowledged_is_counted),
		TEST(what_earlier_agents_passed_on_is_known_without_what_is_gone),
		TEST(what_is_gone_stays_counted_for_every_agent_that_follows),
		TEST(agent_killed_while_it_takes_over_leaves_the_same_to_the_next),
		TEST(ring_that_is_mapped_twice_is_left_as_it_is),
		TEST(what_others_released_since_the_ring_was_mapped_is_not_read_again),
		TEST(lane_claimed_after_a_mark_is_read_from_its_beginning),
		TEST(definitions_of_the_past_come_from_the_log),
		TEST(samples_that_were_sent_do_not_come_again),
		TEST(samples_that_no_message_carried_come_again),
		TEST(agent_killed_while_it_takes_over_gives_no_sample_twice),
		TEST(samples_before_a_new_start_are_skipped),
		TEST(samples_are_not_in_the_log),
		TEST(masses_leave_a_quarter_of_the_lane),
		TEST(full_log_takes_no_more_and_leaves_the_lane_alone),
		TEST(marks_run_out_and_come_back),
		TEST(beat_is_what_the_agent_said_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
