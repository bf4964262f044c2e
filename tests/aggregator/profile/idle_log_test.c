#include "aggregator/profile/idle_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct idle_log *log_;

static int set_up(void **state)
{
	(void)state;
	log_ = idle_log_create();
	return log_ ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	idle_log_destroy(log_);
	return 0;
}

static void sample(uint32_t process, enum host_sample_kind kind)
{
	const struct host_sample new = {.time_ns = 5, .duration_ns = 1, .kind = (uint8_t)kind};

	assert_int_equal(idle_log_sample(log_, process, &new, 0), 0);
}

static const struct idle_samples *samples_of(uint32_t process)
{
	uint32_t count;
	const struct idle_samples *samples = idle_log_processes(log_, &count);

	assert_true(process <= count);
	return &samples[process - 1];
}

static void work(uint32_t device, uint64_t start_ns, uint64_t last_ns)
{
	const struct idle_work new = {
		.start_ns = start_ns, .end_ns = start_ns + 1, .process_id = 1, .tid = 7};

	assert_int_equal(idle_log_work(log_, device, &new, last_ns), 0);
}

static const struct idle_device *device(uint32_t id)
{
	uint32_t count;
	const struct idle_device *devices = idle_log_devices(log_, &count);

	assert_true(id <= count);
	return &devices[id - 1];
}

static void only_processes_with_samples_begin_a_devices_log(void **state)
{
	(void)state;
	assert_false(idle_log_wants(log_, 3, 2));
	sample(3, HOST_SAMPLE_CALL);
	assert_false(idle_log_wants(log_, 3, 2));
	sample(3, HOST_SAMPLE_CPU);
	assert_true(idle_log_wants(log_, 3, 2));
	assert_false(idle_log_wants(log_, 4, 2));
	assert_false(idle_log_has_begun(log_, 2));
	work(2, 1000, 900);
	assert_true(idle_log_has_begun(log_, 2));
	assert_true(idle_log_wants(log_, 4, 2));
	assert_false(idle_log_wants(log_, 4, 1));
	assert_int_equal(device(2)->from_ns, 900);
	assert_true(device(2)->to_ns == UINT64_MAX);
	assert_int_equal(device(2)->block.count, 1);
}

static void samples_are_handed_over_once(void **state)
{
	uint32_t count;

	(void)state;
	sample(1, HOST_SAMPLE_CPU);
	sample(1, HOST_SAMPLE_OFF_CPU);
	const struct idle_samples *samples = idle_log_processes(log_, &count);
	assert_true(count >= 1);
	assert_int_equal(samples->nr_recent, 2);
	assert_int_equal(samples->nr_blocks, 0);
	idle_log_saved(log_);
	assert_int_equal(samples->nr_recent, 0);
	assert_int_equal(samples->nr_blocks, 1);
	idle_log_saved(log_);
	assert_int_equal(samples->nr_blocks, 1);
	assert_int_equal(samples->nr_samples, 2);
}

static void a_block_is_of_a_fixed_number_of_records_whenever_it_is_saved(void **state)
{
	(void)state;
	sample(1, HOST_SAMPLE_CPU);
	for (uint32_t i = 0; i < IDLE_LOG_BLOCK + 10; i++) {
		work(1, (i + 1) * 100000ull, 0);
		if (i == 1000) {
			assert_int_equal(device(1)->block.count, 1001);
			idle_log_saved(log_);
		}
	}
	assert_int_equal(device(1)->nr_full, 1);
	assert_int_equal(device(1)->full[0].index, 0);
	assert_int_equal(device(1)->full[0].records, IDLE_LOG_BLOCK);
	assert_int_equal(device(1)->full[0].count, IDLE_LOG_BLOCK);
	assert_int_equal(device(1)->block.index, 1);
	assert_int_equal(device(1)->block.count, 10);
	assert_int_equal(device(1)->nr_pieces, IDLE_LOG_BLOCK);
	idle_log_saved(log_);
	assert_int_equal(device(1)->nr_full, 0);
	assert_false(device(1)->changed);
}

static void a_full_log_ends_where_the_first_left_out_begins(void **state)
{
	(void)state;
	assert_int_equal(idle_log_load_device(log_, 1, 50, UINT64_MAX, 1024, IDLE_LOG_WORK_MAX), 0);
	work(1, 7000, 0);
	work(1, 6000, 0);
	work(1, 8000, 0);
	assert_int_equal(device(1)->from_ns, 50);
	assert_int_equal(device(1)->to_ns, 6000);
	assert_int_equal(device(1)->block.records, 0);
	assert_true(device(1)->changed);
}

/* What the store has: blocks, and samples by level. */
struct stored {
	uint32_t nr_blocks;
	uint64_t counts[KEPT_WINDOW_LEVELS];
};

/* As the store does. */
static void save(uint32_t process, struct stored *stored)
{
	const struct idle_samples *samples = samples_of(process);
	uint32_t levels = 0;

	for (uint32_t level = 0; level < samples->level && samples->raised; level++)
		stored->counts[level] = 0;
	for (uint32_t i = 0; i < samples->nr_recent; i++) {
		assert_true(samples->recent[i].level >= samples->level);
		levels |= 1u << samples->recent[i].level;
		stored->counts[samples->recent[i].level]++;
	}
	stored->nr_blocks += (uint32_t)__builtin_popcount(levels);
	idle_log_saved(log_);
	assert_int_equal(samples_of(process)->nr_blocks, stored->nr_blocks);
}

/* Samples on the CPU, 25 in each window, of a thread that runs all the time. */
static void run(uint32_t process, uint32_t count, uint32_t commit, struct stored *stored)
{
	*stored = (struct stored){0};
	for (uint32_t i = 0; i < count; i++) {
		const struct host_sample new = {.time_ns = (i + 1) * (KEPT_WINDOW_NS / 25) - 1,
						.duration_ns = KEPT_WINDOW_NS / 25 - 1};

		assert_int_equal(idle_log_sample(log_, process, &new, 1000 * KEPT_WINDOW_NS), 0);
		if (i % commit == commit - 1)
			save(process, stored);
	}
	save(process, stored);
}

static uint64_t kept_of(uint32_t windows, uint32_t level)
{
	uint64_t count = 0;

	for (uint64_t window = 1000; window < 1000 + windows; window++)
		count += kept_window_level(window * KEPT_WINDOW_NS) >= level;
	return count;
}

static void a_full_list_of_samples_keeps_whole_windows_of_a_higher_level(void **state)
{
	const uint32_t count = IDLE_LOG_SAMPLES_MAX + IDLE_LOG_SAMPLES_MAX / 4 * 3;
	struct stored stored;

	(void)state;
	run(1, count - count % 25, 99991, &stored);
	assert_int_equal(idle_log_level(log_, 1), 1);
	assert_int_equal(samples_of(1)->nr_samples, 25 * kept_of(count / 25, 1));
	for (uint32_t level = 0; level < KEPT_WINDOW_LEVELS; level++)
		assert_int_equal(samples_of(1)->counts[level], stored.counts[level]);
	assert_int_equal(stored.counts[0], 0);
	assert_int_equal(stored.counts[1], 25 * (kept_of(count / 25, 1) - kept_of(count / 25, 2)));
	assert_int_equal(idle_log_level(log_, 2), 0);
}

static void what_stays_does_not_depend_on_commits(void **state)
{
	const uint32_t count = 2 * IDLE_LOG_SAMPLES_MAX + 5000;
	struct stored one, other;

	(void)state;
	run(1, count, 50000, &one);
	run(2, count, 1234567, &other);
	assert_int_equal(idle_log_level(log_, 1), idle_log_level(log_, 2));
	assert_memory_equal(one.counts, other.counts, sizeof(one.counts));
	assert_true(samples_of(1)->nr_samples <= IDLE_LOG_SAMPLES_MAX);
	assert_true(one.nr_blocks > other.nr_blocks);
}

static void a_wait_stays_where_one_of_its_windows_does(void **state)
{
	struct host_sample wait = {.kind = HOST_SAMPLE_OFF_CPU};
	uint32_t kept = 0;

	(void)state;
	assert_int_equal(idle_log_load_level(log_, 1, 3), 0);
	for (uint64_t window = 5; window < 1000; window++) {
		uint32_t highest = kept_window_level_of((window - 2) * KEPT_WINDOW_NS + 1,
							window * KEPT_WINDOW_NS + 1);

		wait.time_ns = window * KEPT_WINDOW_NS + 1;
		wait.duration_ns = 2 * KEPT_WINDOW_NS;
		assert_int_equal(idle_log_sample(log_, 1, &wait, 0), 0);
		kept += highest >= 3;
		assert_int_equal(samples_of(1)->nr_recent, kept);
	}
	assert_true(kept > 250 && kept < 450);
	/* No clock has such times. */
	wait.time_ns = UINT64_MAX;
	assert_int_equal(idle_log_sample(log_, 1, &wait, INT64_MAX), 0);
	assert_int_equal(idle_log_sample(log_, 1, &wait, INT64_MIN), 0);
	wait.duration_ns = UINT64_MAX;
	assert_int_equal(idle_log_sample(log_, 1, &wait, 0), 0);
}

static void a_list_full_at_the_last_level_takes_no_more(void **state)
{
	(void)state;
	assert_int_equal(
		idle_log_load_samples(log_, 1, KEPT_WINDOW_LEVELS - 1, 3, IDLE_LOG_SAMPLES_MAX), 0);
	sample(1, HOST_SAMPLE_CPU);
	assert_int_equal(idle_log_level(log_, 1), KEPT_WINDOW_LEVELS - 1);
	assert_int_equal(samples_of(1)->nr_recent, 0);
	assert_int_equal(samples_of(1)->nr_samples, IDLE_LOG_SAMPLES_MAX);
	assert_true(idle_log_wants(log_, 1, 1));
}

static void what_was_not_saved_is_not_loaded(void **state)
{
	struct idle_work pieces[2] = {{.start_ns = 1, .end_ns = 2}};
	struct idle_block block = {.index = 3, .records = 5, .count = 2, .work = pieces};

	(void)state;
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	assert_int_equal(idle_log_load_device(log_, 1, 0, UINT64_MAX, 3, 100), 0);
	assert_int_equal(idle_log_load_device(log_, 1, 0, UINT64_MAX, 3, 100), -EINVAL);
	block.index = 2;
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	block = (struct idle_block){3, IDLE_LOG_BLOCK, 2, pieces};
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	block = (struct idle_block){3, 1, 2, pieces};
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	block = (struct idle_block){3, 5, 2, pieces};
	assert_int_equal(idle_log_load_block(log_, 1, &block), 0);
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	assert_int_equal(device(1)->block.count, 2);
	assert_int_equal(idle_log_load_level(log_, 1, KEPT_WINDOW_LEVELS), -EINVAL);
	assert_int_equal(idle_log_load_level(log_, 1, 2), 0);
	assert_int_equal(idle_log_load_level(log_, 1, 2), -EINVAL);
	assert_int_equal(idle_log_load_samples(log_, 1, 2, 1, IDLE_LOG_SAMPLES_MAX + 1ull),
			 -EINVAL);
	assert_int_equal(idle_log_load_samples(log_, 1, 1, 1, 10), -EINVAL);
	assert_int_equal(idle_log_load_samples(log_, 1, KEPT_WINDOW_LEVELS, 1, 10), -EINVAL);
	assert_int_equal(idle_log_load_samples(log_, 1, 2, 7, 10), 0);
	assert_int_equal(idle_log_load_samples(log_, 1, 2, 7, 10), -EINVAL);
	assert_int_equal(idle_log_load_samples(log_, 1, 3, 5, 1), 0);
	assert_int_equal(idle_log_load_samples(log_, 1, 4, 1, IDLE_LOG_SAMPLES_MAX - 10), -EINVAL);
	assert_int_equal(samples_of(1)->nr_samples, 11);
	assert_int_equal(samples_of(1)->nr_blocks, 7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(only_processes_with_samples_begin_a_devices_log),
		TEST(samples_are_handed_over_once),
		TEST(a_block_is_of_a_fixed_number_of_records_whenever_it_is_saved),
		TEST(a_full_log_ends_where_the_first_left_out_begins),
		TEST(a_full_list_of_samples_keeps_whole_windows_of_a_higher_level),
		TEST(what_stays_does_not_depend_on_commits),
		TEST(a_wait_stays_where_one_of_its_windows_does),
		TEST(a_list_full_at_the_last_level_takes_no_more),
		TEST(what_was_not_saved_is_not_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
