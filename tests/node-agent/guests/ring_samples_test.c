/* Samples of running kernels from a guest's ring, as they become messages. */
#include "node-agent/guests/ring_samples.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/cubin/cubin_cache.h"
#include "proto/batch/message.h"
#include "proto/host_sample.h"
#include "proto/kernel_refusal.h"
#include "ring_source_fixture.h"
#include "samples_fixture.h"

#define CRC        SAMPLES_FIXTURE_CRC
#define PIECE      SAMPLES_FIXTURE_PIECE
#define ENTRIES    SAMPLES_FIXTURE_ENTRIES
#define CUBIN_SIZE SAMPLES_FIXTURE_CUBIN_SIZE

/* ---- what samples become */

static void samples_have_lines_and_inlined_functions(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample a[] = {{0, 0, 5}, {16, 1, 7}, {0x40, 0, 1}},
						     b[] = {{32, 1, UINT32_MAX}};

	samples_fixture_reason(fixture, 0, "long_scoreboard");
	samples_fixture_reason(fixture, 1, "barrier");
	samples_fixture_cubin(fixture);
	samples_fixture_define(fixture, CRC, 3, "a", a, 3);
	samples_fixture_define(fixture, CRC, 0, "b", b, 1);
	const struct host_sample *samples = samples_fixture_take_all(fixture, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(samples[i].time_ns, 1000);
		assert_int_equal(samples[i].kind, HOST_SAMPLE_KERNEL);
		assert_int_equal(samples[i].tid, i < 3 ? 3 : 0);
		assert_int_equal(samples[i].cpu, 0);
		assert_int_equal(samples[i].command_id, 0);
	}
	assert_int_equal(samples[0].duration_ns, 5);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[0].stack_id),
			    "/src/one.cu:10:a < a");
	assert_string_equal(ring_source_fixture_text(fixture, samples[0].name_id),
			    "long scoreboard");
	assert_int_equal(samples[1].duration_ns, 7);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[1].stack_id),
			    "two.h:11:leaf < /src/one.cu:10:a < a");
	assert_string_equal(ring_source_fixture_text(fixture, samples[1].name_id), "barrier");
	assert_string_equal(ring_source_fixture_stack(fixture, samples[2].stack_id), "+0x40 < a");
	assert_int_equal(samples[3].duration_ns, UINT32_MAX);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[3].stack_id),
			    "/src/one.cu:50:b < b");
	assert_int_equal(samples_fixture_untrusted(fixture) + samples_fixture_code_lost(fixture),
			 0);
	samples_fixture_take_all(fixture, 0);
}

static void a_guest_with_reasons_was_to_sample(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct message message;

	samples_fixture_reason(fixture, 0, "long_scoreboard");
	samples_fixture_reason(fixture, 1, "barrier");
	samples_fixture_take_all(fixture, 0);
	process_description_message(fixture->description, &message);
	assert_int_equal(message.process.nr_notices, 1);
	assert_string_equal(ring_source_fixture_text(fixture, message.process.notices[0]),
			    KERNEL_NOTICE);
}

static void samples_without_known_code_have_offsets(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample entries[] = {{0x1a0, 0, 1},
								  {UINT32_MAX, 0, 2}};

	samples_fixture_define(fixture, CRC, 0, "a", entries, 2);
	samples_fixture_define(fixture, CRC, 0, "a", entries, 1);
	samples_fixture_define(fixture, CRC + 1, 0, "a", entries, 1);
	samples_fixture_define(fixture, CRC, 0, "", entries, 1);
	const struct host_sample *samples = samples_fixture_take_all(fixture, 5);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[0].stack_id), "+0x1a0 < a");
	assert_string_equal(ring_source_fixture_stack(fixture, samples[1].stack_id),
			    "+0xffffffff < a");
	assert_int_equal(samples[2].stack_id, samples[0].stack_id);
	assert_int_equal(samples[3].stack_id, samples[0].stack_id);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[4].stack_id),
			    "+0x1a0 < <unknown>");
	/* nobody has defined the reason */
	assert_int_equal(samples[0].name_id, 0);
	samples_fixture_reason(fixture, 0, "barrier");
	samples_fixture_define(fixture, CRC, 0, "a", entries, 1);
	samples = samples_fixture_take_all(fixture, 1);
	assert_string_equal(ring_source_fixture_text(fixture, samples[0].name_id), "barrier");
	assert_int_equal(samples_fixture_untrusted(fixture), 0);
}

static uint64_t no_code(struct ring_source_fixture *fixture, uint32_t device_id)
{
	return ring_source_fixture_ledger_count(fixture, device_id, LEDGER_KERNEL_SAMPLE_NO_CODE);
}

static void samples_whose_code_was_never_told_are_counted_after_an_attach(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample two[] = {{0, 0, 5}, {16, 0, 7}};
	static const uint8_t bytes[64];

	samples_fixture_define(fixture, CRC, 1, "a", two, 2);
	samples_fixture_take_all(fixture, 2);
	assert_int_equal(no_code(fixture, 1),
			 0); /* it is there from the beginning: code without lines */
	assert_int_equal(ring_source_forget(fixture->source), 0);
	samples_fixture_define(fixture, CRC, 1, "a", two, 2);
	samples_fixture_define(fixture, CRC, UINT32_MAX, "a", two, 1);
	samples_fixture_take_all(fixture, 3);
	assert_int_equal(no_code(fixture, 1), 12);
	assert_int_equal(no_code(fixture, RECORD_DEVICES_MAX - 1), 5);
	samples_fixture_cubin(fixture);
	samples_fixture_piece(fixture, 5, sizeof(bytes), 0, bytes, sizeof(bytes)); /* damaged */
	samples_fixture_define(fixture, CRC, 1, "a", two, 2);
	samples_fixture_define(fixture, 5, 1, "a", two, 2);
	samples_fixture_take_all(fixture, 4);
	assert_int_equal(no_code(fixture, 1), 12);
}

static void define_at(struct ring_source_fixture *fixture, uint64_t crc, uint64_t time_ns)
{
	static const struct definition_kernel_sample entry = {0, 0, 5};
	const struct definition_kernel_samples head = {
		.time_ns = time_ns, .cubin_crc = crc, .device_id = 2, .nr_entries = 1};
	uint8_t tail[sizeof(entry) + 1];

	memcpy(tail, &entry, sizeof(entry));
	tail[sizeof(entry)] = 'a';
	assert_true(record_ring_define(fixture->guest, DEFINITION_KERNEL_SAMPLES, &head,
				       sizeof(head), tail, sizeof(tail)));
}

static void samples_wait_for_the_rest_of_their_code(void **state)
{
	struct ring_source_fixture *fixture = *state;
	uint8_t *image = samples_fixture_image();

	samples_fixture_piece(fixture, CRC, CUBIN_SIZE, 0, image, PIECE);
	define_at(fixture, CRC, 1000);
	samples_fixture_take_all(fixture, 0);
	assert_true(ring_source_waits_for_lines(fixture->source, 1));
	samples_fixture_cubin(fixture);
	samples_fixture_take_all(fixture, 0); /* the next pass begins with what waits */
	const struct host_sample *samples = samples_fixture_take_all(fixture, 1);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[0].stack_id),
			    "/src/one.cu:10:a < a");
	assert_int_equal(no_code(fixture, 2), 0);
	free(image);
}

static void samples_of_code_that_never_gets_whole_are_counted(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const uint8_t bytes[64];

	samples_fixture_piece(fixture, CRC, 128, 0, bytes, sizeof(bytes));
	define_at(fixture, CRC, 1000);
	define_at(fixture, CRC + 1, 999 + RING_SAMPLES_REST_NS);
	samples_fixture_take_all(fixture, 1);
	assert_int_equal(no_code(fixture, 2), 0);
	/* It waits itself, and the first waits no more. */
	define_at(fixture, CRC, 1000 + RING_SAMPLES_REST_NS);
	samples_fixture_take_all(fixture, 0);
	samples_fixture_take_all(fixture, 1);
	assert_int_equal(no_code(fixture, 2), 5);
	/* An end does not wait for it either. */
	assert_true(ring_source_waits_for_lines(fixture->source, 1));
	assert_true(ring_source_waits_for_lines(fixture->source, 1 + RING_SOURCE_LINES_NS));
	const struct host_sample *samples = samples_fixture_take_all(fixture, 1);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[0].stack_id), "+0x0 < a");
	assert_int_equal(no_code(fixture, 2), 10);
	define_at(fixture, CRC, 1000 + RING_SAMPLES_REST_NS);
	samples_fixture_take_all(fixture, 1);
	assert_int_equal(samples_fixture_code_lost(fixture), 0);
}

static void an_agent_without_cubins_has_offsets(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample entry = {0, 0, 1};

	ring_source_fixture_close_source(fixture);
	cubin_cache_destroy(fixture->cubins);
	fixture->cubins = NULL;
	ring_source_fixture_open_source(fixture, 0);
	samples_fixture_cubin(fixture);
	samples_fixture_define(fixture, CRC, 0, "a", &entry, 1);
	assert_string_equal(
		ring_source_fixture_stack(fixture, samples_fixture_take_all(fixture, 1)->stack_id),
		"+0x0 < a");
}

/* ---- hostile rings */

static void what_no_guest_writes_is_counted(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample good = {16, 0, 1}, no_reason = {16, 64, 1},
						     no_count = {16, 0, 0},
						     two[] = {{16, 0, 4}, {16, UINT32_MAX, 4}};
	static char long_name[200];

	memset(long_name, 'r', sizeof(long_name) - 1);
	samples_fixture_raw(fixture, CRC, 0, 2, &good, sizeof(good));
	samples_fixture_raw(fixture, CRC, 0, UINT32_MAX, &good, sizeof(good));
	samples_fixture_raw(fixture, CRC, 0, 1, &good, sizeof(good) - 1);
	samples_fixture_define(fixture, CRC, 0, "a", &no_reason, 1);
	samples_fixture_define(fixture, CRC, 0, "a", &no_count, 1);
	samples_fixture_reason(fixture, 64, "barrier");
	samples_fixture_reason(fixture, 0, "");
	samples_fixture_reason(fixture, 0, long_name);
	assert_true(
		record_ring_define(fixture->guest, DEFINITION_KERNEL_SAMPLES, &good, 12, NULL, 0));
	assert_true(record_ring_define(fixture->guest, DEFINITION_STALL_REASON, &good, 3, NULL, 0));
	assert_true(record_ring_define(fixture->guest, DEFINITION_CUBIN, &good, 12, NULL, 0));
	samples_fixture_take_all(fixture, 0);
	assert_int_equal(samples_fixture_untrusted(fixture), 11);
	/* what stands before the fault stays; none has no entry */
	samples_fixture_define(fixture, CRC, 0, "a", two, 2);
	samples_fixture_raw(fixture, CRC, 0, 0, NULL, 0);
	samples_fixture_raw(fixture, CRC, 0, 0, "name", 4);
	assert_int_equal(samples_fixture_take_all(fixture, 1)->duration_ns, 4);
	assert_int_equal(samples_fixture_untrusted(fixture), 12);
}

static void numbers_out_of_range_are_bounded(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample entry = {0, 0, 1};
	const struct definition_kernel_samples head = {.device_id = 5, .nr_entries = 1};
	uint8_t tail[sizeof(entry) + 8] = {0};

	memcpy(tail, &entry, sizeof(entry));
	memcpy(tail + sizeof(entry), "ab\0cd", 5);
	samples_fixture_raw(fixture, CRC, UINT32_MAX, 1, tail, sizeof(tail));
	assert_true(record_ring_define(fixture->guest, DEFINITION_KERNEL_SAMPLES, &head,
				       sizeof(head), tail, sizeof(tail)));
	const struct host_sample *samples = samples_fixture_take_all(fixture, 2);
	assert_int_equal(samples[0].tid, RECORD_DEVICES_MAX - 1);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[0].stack_id), "+0x0 < ab");
	assert_int_equal(samples[1].tid, 5);
	assert_int_equal(samples[1].time_ns, 1);
}

static void a_reason_keeps_its_first_name(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample entry = {0, 63, 1};
	char name[32];

	samples_fixture_reason(fixture, 63, "barrier");
	ring_source_begin(fixture->source, true, 0);
	ring_source_read(fixture->source, fixture->builder);
	uint32_t strings = string_dictionary_count(fixture->strings);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "reason_%d", i);
		samples_fixture_reason(fixture, 63, name);
	}
	samples_fixture_take_all(fixture, 0);
	assert_int_equal(string_dictionary_count(fixture->strings), strings);
	samples_fixture_define(fixture, CRC, 0, "a", &entry, 1);
	assert_string_equal(
		ring_source_fixture_text(fixture, samples_fixture_take_all(fixture, 1)->name_id),
		"barrier");
}

static void cubins_are_bounded_and_their_faults_counted(void **state)
{
	struct ring_source_fixture *fixture = *state;
	uint8_t bytes[64] = {0};

	samples_fixture_piece(fixture, 1, UINT32_MAX, 0, bytes, 64); /* too large: refused once */
	samples_fixture_piece(fixture, 1, UINT32_MAX, 64, bytes, 64);
	samples_fixture_take_all(fixture, 0);
	assert_int_equal(samples_fixture_code_lost(fixture), 1);
	assert_int_equal(samples_fixture_untrusted(fixture), 0);
	samples_fixture_piece(fixture, 2, 128, 0, bytes, 64);
	samples_fixture_piece(fixture, 2, 129, 64, bytes, 64);         /* another size */
	samples_fixture_piece(fixture, 3, 128, 65, bytes, 64);         /* behind its end */
	samples_fixture_piece(fixture, 3, 128, UINT32_MAX, bytes, 64); /* the sum runs over */
	samples_fixture_piece(fixture, 3, 128, 0, bytes, 0);
	samples_fixture_piece(fixture, 3, 0, 0, bytes, 0);
	samples_fixture_take_all(fixture, 0);
	assert_int_equal(samples_fixture_code_lost(fixture), 1);
	assert_int_equal(samples_fixture_untrusted(fixture), 5);
	/* Three huge ones find room, of which no byte need be there; the others do not. */
	for (uint64_t crc = 10; crc < 20; crc++)
		samples_fixture_piece(fixture, crc, 60u << 20, 0, bytes, 64);
	samples_fixture_take_all(fixture, 0);
	assert_int_equal(samples_fixture_code_lost(fixture), 1 + 7);
	/* a file that is none is damaged */
	samples_fixture_piece(fixture, 2, 128, 64, bytes, 64);
	samples_fixture_take_all(fixture, 0);
	assert_int_equal(samples_fixture_code_lost(fixture), 1 + 7 + 1);
	assert_int_equal(samples_fixture_untrusted(fixture), 5);
}

/* ---- messages */

static void launches_come_after_samples_and_not_with_them(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample entry = {0, 0, 1};
	struct message message;
	int lane = record_ring_claim_lane(fixture->guest);

	ring_source_fixture_push_launch(fixture, (uint32_t)lane, 1, RECORD_STACK_NONE);
	samples_fixture_define(fixture, CRC, 0, "a", &entry, 1);
	ring_source_begin(fixture->source, true, 0);
	assert_true(samples_fixture_next(fixture, &message));
	assert_false(batch_builder_has_records(fixture->builder));
	assert_false(samples_fixture_next(fixture, &message));
	assert_true(batch_builder_has_records(fixture->builder));
}

/* Each sample has a number, as its count. Fills the lane. */
static uint32_t define_many(struct ring_source_fixture *fixture, uint32_t from,
			    uint32_t definitions)
{
	static struct definition_kernel_sample entries[ENTRIES];

	for (uint32_t i = 0; i < definitions; i++) {
		for (uint32_t k = 0; k < ENTRIES; k++)
			entries[k] = (struct definition_kernel_sample){16 * k, 0, ++from};
		samples_fixture_define(fixture, CRC, 0, "k", entries, ENTRIES);
	}
	return from;
}

static void more_than_a_message_holds_comes_in_several(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct message message;
	uint32_t total = 0, nr_messages = 0, given = define_many(fixture, 0, 10);

	ring_source_begin(fixture->source, true, 0);
	while (samples_fixture_next(fixture, &message)) {
		assert_true(message.samples.nr_samples < RING_SAMPLES_MAX + ENTRIES);
		for (uint32_t i = 0; i < message.samples.nr_samples; i++)
			assert_int_equal(message.samples.samples[i].duration_ns, ++total);
		nr_messages++;
	}
	assert_int_equal(total, given);
	assert_int_equal(nr_messages, 3);
	samples_fixture_take_all(fixture, 0);
}

/* As guest_process: a message is announced before it is made, and is then in the send window. Counts its samples in
 * seen, by their numbers; NULL: the message is lost. killed: the agent gets no further than its announcement. */
static bool send(struct ring_source_fixture *fixture, uint8_t *seen, bool killed)
{
	struct message message;
	int r = ring_source_read(fixture->source, fixture->builder);

	assert_true(r >= 0);
	if (!ring_source_has_alone(fixture->source))
		return false;
	assert_int_equal(ring_ownership_announce(&fixture->ownership, fixture->seq + 1), 0);
	if (killed)
		return false;
	assert_true(ring_source_alone(fixture->source, 1, &message));
	fixture->seq++;
	for (uint32_t i = 0; seen && i < message.samples.nr_samples; i++)
		seen[message.samples.samples[i].duration_ns]++;
	assert_int_equal(ring_ownership_sent(&fixture->ownership, fixture->seq), 0);
	return true;
}

/* An agent is killed, of which the aggregator has messages up to stored_seq. The next one sends all that it reads. */
static void go_on(struct ring_source_fixture *fixture, uint64_t stored_seq, uint8_t *seen)
{
	ring_source_fixture_close_source(fixture);
	fixture->seq = 0;
	fixture->stored_seq = &stored_seq;
	ring_source_fixture_open_source(fixture, 0);
	fixture->stored_seq = NULL;
	ring_source_begin(fixture->source, true, 0);
	while (send(fixture, seen, false))
		;
}

static void the_next_agent_sends_what_did_not_arrive_and_no_more(void **state)
{
	static uint8_t seen[5 * ENTRIES + 1];

	/* Message 1 has four definitions, and message 2 the last one. The aggregator has the first `stored` of them;
	 * the agent is killed after it has sent `sent`, or announced the next. */
	for (uint32_t sent = 0; sent <= 2; sent++)
		for (uint32_t stored = 0; stored <= sent; stored++)
			for (int announced = 0; announced <= (sent < 2); announced++) {
				struct ring_source_fixture *fixture = ring_source_fixture_create();

				memset(seen, 0, sizeof(seen));
				assert_int_equal(define_many(fixture, 0, 5), 5 * ENTRIES);
				ring_source_begin(fixture->source, true, 0);
				for (uint32_t i = 1; i <= sent; i++)
					assert_true(
						send(fixture, i <= stored ? seen : NULL, false));
				if (announced)
					assert_false(send(fixture, NULL, true));
				go_on(fixture, stored, seen);
				go_on(fixture, UINT64_MAX - 1, seen);
				for (uint32_t i = 1; i <= 5 * ENTRIES; i++)
					assert_int_equal(seen[i], 1);
				ring_source_fixture_destroy(fixture);
			}
	(void)state;
}

static void the_next_agent_knows_the_reasons(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample entry = {0, 1, 1};
	uint64_t stored_seq = 1;

	samples_fixture_reason(fixture, 1, "long_scoreboard");
	samples_fixture_define(fixture, CRC, 0, "a", &entry, 1);
	samples_fixture_take_all(fixture, 1);
	assert_int_equal(ring_ownership_announce(&fixture->ownership, 1), 0);
	assert_int_equal(ring_ownership_sent(&fixture->ownership, 1), 0);
	ring_ownership_acknowledged(&fixture->ownership, 1);
	ring_source_fixture_close_source(fixture);
	fixture->stored_seq = &stored_seq;
	ring_source_fixture_open_source(fixture, 0);
	samples_fixture_define(fixture, CRC, 0, "a", &entry, 1);
	assert_string_equal(
		ring_source_fixture_text(fixture, samples_fixture_take_all(fixture, 1)->name_id),
		"long scoreboard");
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, ring_source_fixture_set_up,                          \
					ring_source_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(samples_have_lines_and_inlined_functions),
		TEST(a_guest_with_reasons_was_to_sample),
		TEST(samples_without_known_code_have_offsets),
		TEST(samples_whose_code_was_never_told_are_counted_after_an_attach),
		TEST(samples_wait_for_the_rest_of_their_code),
		TEST(samples_of_code_that_never_gets_whole_are_counted),
		TEST(an_agent_without_cubins_has_offsets),
		TEST(what_no_guest_writes_is_counted),
		TEST(numbers_out_of_range_are_bounded),
		TEST(a_reason_keeps_its_first_name),
		TEST(cubins_are_bounded_and_their_faults_counted),
		TEST(launches_come_after_samples_and_not_with_them),
		TEST(more_than_a_message_holds_comes_in_several),
		cmocka_unit_test(the_next_agent_sends_what_did_not_arrive_and_no_more),
		TEST(the_next_agent_knows_the_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
