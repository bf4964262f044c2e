/* Samples of running kernels whose cubin's lines a worker makes meanwhile. */
#include "node-agent/guests/ring_samples.h"

#include "tests/support/cmocka_test.h"

#include "node-agent/cubin/cubin_cache.h"
#include "proto/batch/message.h"
#include "proto/host_sample.h"
#include "samples_fixture.h"
#include "tests/node-agent/cubin/held_worker.h"

#define CRC     SAMPLES_FIXTURE_CRC
#define ENTRIES SAMPLES_FIXTURE_ENTRIES

static struct held_worker worker;

static void use_worker(struct ring_source_fixture *fixture)
{
	worker = (struct held_worker){0};
	ring_source_fixture_close_source(fixture);
	cubin_cache_destroy(fixture->cubins);
	fixture->cubins = cubin_cache_create(&(struct cubin_worker){held_worker_give, &worker});
	assert_non_null(fixture->cubins);
	ring_source_fixture_open_source(fixture, 0);
}

static void drop_worker(struct ring_source_fixture *fixture)
{
	ring_source_fixture_close_source(fixture);
	held_worker_run(&worker);
	ring_source_fixture_open_source(fixture, 0);
}

static void samples_wait_for_their_lines_and_others_do_not(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample a[] = {{0, 0, 5}, {0x40, 0, 1}},
						     b[] = {{32, 0, 9}}, other[] = {{0, 0, 3}};

	use_worker(fixture);
	samples_fixture_reason(fixture, 0, "barrier");
	samples_fixture_define(fixture, CRC, 3, "a", a, 1);
	samples_fixture_cubin(fixture);
	samples_fixture_define(fixture, CRC, 3, "a", a, 2);
	samples_fixture_define(fixture, CRC + 1, 0, "c", other, 1);
	samples_fixture_define(fixture, CRC, 0, "b", b, 1);
	assert_false(ring_source_waits_for_lines(fixture->source, 1));
	/* what came before its code, and what has none */
	const struct host_sample *samples = samples_fixture_take_all(fixture, 2);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[0].stack_id), "+0x0 < a");
	assert_string_equal(ring_source_fixture_stack(fixture, samples[1].stack_id), "+0x0 < c");
	assert_int_equal(samples[1].duration_ns, 3);
	assert_false(ring_source_delays(fixture->source)); /* others need not wait for these */
	assert_true(ring_source_waits_for_lines(fixture->source, 1));
	samples_fixture_take_all(fixture, 0);
	assert_int_equal(held_worker_run(&worker), 1);
	samples = samples_fixture_take_all(fixture, 3);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[0].stack_id),
			    "/src/one.cu:10:a < a");
	assert_int_equal(samples[0].duration_ns, 5);
	assert_int_equal(samples[0].tid, 3);
	assert_int_equal(samples[0].time_ns, 1000);
	assert_string_equal(ring_source_fixture_text(fixture, samples[0].name_id), "barrier");
	assert_string_equal(ring_source_fixture_stack(fixture, samples[1].stack_id), "+0x40 < a");
	assert_string_equal(ring_source_fixture_stack(fixture, samples[2].stack_id),
			    "/src/one.cu:50:b < b");
	assert_int_equal(samples[2].duration_ns, 9);
	assert_false(ring_source_waits_for_lines(fixture->source, UINT64_MAX));
	assert_int_equal(samples_fixture_code_lost(fixture) + samples_fixture_untrusted(fixture),
			 0);
}

static void samples_of_damaged_code_have_offsets(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_kernel_sample good = {16, 0, 4},
						     two[] = {{16, 0, 2}, {16, 64, 2}};
	static const uint8_t bytes[64];

	use_worker(fixture);
	samples_fixture_piece(fixture, 5, sizeof(bytes), 0, bytes, sizeof(bytes));
	samples_fixture_define(fixture, 5, 0, "a", &good, 1);
	samples_fixture_define(fixture, 5, 0, "a", two, 2); /* what stands before the fault stays */
	samples_fixture_take_all(fixture, 0);
	assert_int_equal(samples_fixture_untrusted(fixture), 1);
	held_worker_run(&worker);
	const struct host_sample *samples = samples_fixture_take_all(fixture, 2);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[0].stack_id), "+0x10 < a");
	assert_int_equal(samples[0].duration_ns + samples[1].duration_ns, 6);
	assert_int_equal(samples_fixture_code_lost(fixture), 1);
}

/* Seven samples of a kernel whose code the worker has. */
static void let_samples_wait(struct ring_source_fixture *fixture)
{
	static const struct definition_kernel_sample entry = {0, 0, 7};

	use_worker(fixture);
	samples_fixture_cubin(fixture);
	samples_fixture_define(fixture, CRC, 0, "a", &entry, 1);
	samples_fixture_take_all(fixture, 0);
}

static void an_end_waits_for_lines_only_so_long(void **state)
{
	struct ring_source_fixture *fixture = *state;

	let_samples_wait(fixture);
	assert_true(ring_source_waits_for_lines(fixture->source, 1000));
	assert_true(ring_source_waits_for_lines(fixture->source, 999 + RING_SOURCE_LINES_NS));
	samples_fixture_take_all(fixture, 0);
	assert_int_equal(samples_fixture_code_lost(fixture), 0);
	assert_true(ring_source_waits_for_lines(fixture->source, 1000 + RING_SOURCE_LINES_NS));
	const struct host_sample *samples = samples_fixture_take_all(fixture, 1);
	assert_int_equal(samples[0].duration_ns, 7);
	assert_string_equal(ring_source_fixture_stack(fixture, samples[0].stack_id), "+0x0 < a");
	assert_false(ring_source_waits_for_lines(fixture->source, 1000 + RING_SOURCE_LINES_NS));
	assert_int_equal(samples_fixture_code_lost(fixture), 1);
	drop_worker(fixture);
}

/* Returns the sum of all samples that come now. */
static uint64_t sum_all(struct ring_source_fixture *fixture)
{
	struct message message = {0};
	uint64_t sum = 0;

	ring_source_begin(fixture->source, true, 0);
	while (samples_fixture_next(fixture, &message))
		for (uint32_t i = 0; i < message.samples.nr_samples; i++)
			sum += message.samples.samples[i].duration_ns;
	return sum;
}

/* Everything that was read has arrived, so that the lane has room. */
static void store(struct ring_source_fixture *fixture, uint64_t seq)
{
	assert_int_equal(ring_ownership_announce(&fixture->ownership, seq), 0);
	assert_int_equal(ring_ownership_sent(&fixture->ownership, seq), 0);
	ring_ownership_acknowledged(&fixture->ownership, seq);
}

static void samples_that_find_no_room_to_wait_keep_their_numbers(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static struct definition_kernel_sample entries[ENTRIES];
	const uint32_t fits = RING_SAMPLES_WAITING / sizeof(entries);
	uint64_t sum = 0;

	use_worker(fixture);
	for (uint32_t i = 0; i < ENTRIES; i++)
		entries[i] = (struct definition_kernel_sample){16 * (i % 2), 0, 1};
	samples_fixture_cubin(fixture);
	for (uint32_t i = 0; i < fits + 1; i++) {
		samples_fixture_define(fixture, CRC, 0, "a", entries, ENTRIES);
		sum += sum_all(fixture);
		store(fixture, i + 1);
		assert_int_equal(samples_fixture_code_lost(fixture), i == fits ? 1 : 0);
		assert_int_equal(sum, i == fits ? (fits + 1ull) * ENTRIES : 0);
	}
	assert_false(ring_source_waits_for_lines(fixture->source, 0));
	assert_int_equal(samples_fixture_code_lost(fixture), 1);
	drop_worker(fixture);
}

static void a_source_may_go_while_samples_wait(void **state)
{
	struct ring_source_fixture *fixture = *state;

	let_samples_wait(fixture);
	drop_worker(fixture);
	assert_int_equal(cubin_cache_count(fixture->cubins), 0);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, ring_source_fixture_set_up,                          \
					ring_source_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(samples_wait_for_their_lines_and_others_do_not),
		TEST(samples_of_damaged_code_have_offsets),
		TEST(an_end_waits_for_lines_only_so_long),
		TEST(samples_that_find_no_room_to_wait_keep_their_numbers),
		TEST(a_source_may_go_while_samples_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
