#include "aggregator/profile/kept_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct kept_log *log_;

static int set_up(void **state)
{
	(void)state;
	log_ = kept_log_create();
	return log_ ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	kept_log_destroy(log_);
	return 0;
}

static void sample(uint32_t process, enum host_sample_kind kind)
{
	const struct host_sample new = {.time_ns = 5, .duration_ns = 1, .kind = (uint8_t)kind};

	assert_int_equal(kept_log_sample(log_, process, &new, 0), 0);
}

static const struct kept_list *list_of(enum kept_sort sort, uint32_t process)
{
	uint32_t count;
	const struct kept_list *lists = kept_log_lists(log_, sort, &count);

	assert_true(process <= count);
	return &lists[process - 1];
}

static void samples_are_handed_over_once(void **state)
{
	(void)state;
	sample(1, HOST_SAMPLE_CPU);
	sample(1, HOST_SAMPLE_CALL);
	sample(1, HOST_SAMPLE_OFF_CPU);
	const struct kept_list *list = list_of(KEPT_HOST, 1);
	assert_int_equal(list->nr_recent, 2);
	assert_int_equal(list->nr_blocks, 0);
	kept_log_saved(log_);
	assert_int_equal(list->nr_recent, 0);
	assert_int_equal(list->nr_blocks, 1);
	kept_log_saved(log_);
	assert_int_equal(list->nr_blocks, 1);
	assert_int_equal(list->nr_pieces, 2);
	assert_true(kept_log_has_samples(log_, 1));
	assert_false(kept_log_has_samples(log_, 2));
}

/* What the store has: blocks, and samples by level. */
struct stored {
	uint32_t nr_blocks;
	uint64_t counts[KEPT_WINDOW_LEVELS];
};

/* As the store does. */
static void save(uint32_t process, struct stored *stored)
{
	const struct kept_list *list = list_of(KEPT_HOST, process);
	uint32_t levels = 0;

	for (uint32_t level = 0; level < list->level && list->raised; level++)
		stored->counts[level] = 0;
	for (uint32_t i = 0; i < list->nr_recent; i++) {
		assert_true(list->recent[i].level >= list->level);
		levels |= 1u << list->recent[i].level;
		stored->counts[list->recent[i].level]++;
	}
	stored->nr_blocks += (uint32_t)__builtin_popcount(levels);
	kept_log_saved(log_);
	assert_int_equal(list_of(KEPT_HOST, process)->nr_blocks, stored->nr_blocks);
}

/* Samples on the CPU, 25 in each window, of a thread that runs all the time. */
static void run(uint32_t process, uint32_t count, uint32_t commit, struct stored *stored)
{
	*stored = (struct stored){0};
	for (uint32_t i = 0; i < count; i++) {
		const struct host_sample new = {.time_ns = (i + 1ull) * (KEPT_LOG_HOST_NS / 25) - 1,
						.duration_ns = KEPT_LOG_HOST_NS / 25 - 1};

		assert_int_equal(kept_log_sample(log_, process, &new, 1000ll * KEPT_LOG_HOST_NS),
				 0);
		if (i % commit == commit - 1)
			save(process, stored);
	}
	save(process, stored);
}

static uint64_t kept_of(uint32_t windows, uint32_t level)
{
	uint64_t count = 0;

	for (uint64_t window = 1000; window < 1000 + windows; window++)
		count += kept_window_level(window) >= level;
	return count;
}

static void a_full_list_of_samples_keeps_whole_windows_of_a_higher_level(void **state)
{
	const uint32_t count = KEPT_LOG_HOST_MAX + KEPT_LOG_HOST_MAX / 4 * 3;
	struct stored stored;

	(void)state;
	run(1, count - count % 25, 99991, &stored);
	assert_int_equal(kept_log_level(log_, KEPT_HOST, 1), 1);
	assert_int_equal(list_of(KEPT_HOST, 1)->nr_pieces, 25 * kept_of(count / 25, 1));
	for (uint32_t level = 0; level < KEPT_WINDOW_LEVELS; level++)
		assert_int_equal(list_of(KEPT_HOST, 1)->counts[level], stored.counts[level]);
	assert_int_equal(stored.counts[0], 0);
	assert_int_equal(stored.counts[1], 25 * (kept_of(count / 25, 1) - kept_of(count / 25, 2)));
	assert_int_equal(kept_log_level(log_, KEPT_HOST, 2), 0);
}

static void what_stays_does_not_depend_on_commits(void **state)
{
	const uint32_t count = 2 * KEPT_LOG_HOST_MAX + 5000;
	struct stored one, other;

	(void)state;
	run(1, count, 50000, &one);
	run(2, count, 1234567, &other);
	assert_int_equal(kept_log_level(log_, KEPT_HOST, 1), kept_log_level(log_, KEPT_HOST, 2));
	assert_memory_equal(one.counts, other.counts, sizeof(one.counts));
	assert_true(list_of(KEPT_HOST, 1)->nr_pieces <= KEPT_LOG_HOST_MAX);
	assert_true(one.nr_blocks > other.nr_blocks);
}

static void a_wait_stays_where_one_of_its_windows_does(void **state)
{
	struct host_sample wait = {.kind = HOST_SAMPLE_OFF_CPU};
	uint32_t kept = 0;

	(void)state;
	assert_int_equal(kept_log_load_level(log_, KEPT_HOST, 1, 3), 0);
	for (uint64_t window = 5; window < 1000; window++) {
		uint32_t highest = kept_window_level_of(window - 2, window);

		wait.time_ns = window * KEPT_LOG_HOST_NS + 1;
		wait.duration_ns = 2ull * KEPT_LOG_HOST_NS;
		assert_int_equal(kept_log_sample(log_, 1, &wait, 0), 0);
		kept += highest >= 3;
		assert_int_equal(list_of(KEPT_HOST, 1)->nr_recent, kept);
	}
	assert_true(kept > 250 && kept < 450);
	/* No clock has such times. */
	wait.time_ns = UINT64_MAX;
	assert_int_equal(kept_log_sample(log_, 1, &wait, INT64_MAX), 0);
	assert_int_equal(kept_log_sample(log_, 1, &wait, INT64_MIN), 0);
	wait.duration_ns = UINT64_MAX;
	assert_int_equal(kept_log_sample(log_, 1, &wait, 0), 0);
}

static void a_list_full_at_the_last_level_takes_no_more(void **state)
{
	(void)state;
	assert_int_equal(
		kept_log_load(log_, KEPT_HOST, 1, KEPT_WINDOW_LEVELS - 1, 3, KEPT_LOG_HOST_MAX), 0);
	sample(1, HOST_SAMPLE_CPU);
	assert_int_equal(kept_log_level(log_, KEPT_HOST, 1), KEPT_WINDOW_LEVELS - 1);
	assert_int_equal(list_of(KEPT_HOST, 1)->nr_recent, 0);
	assert_int_equal(list_of(KEPT_HOST, 1)->nr_pieces, KEPT_LOG_HOST_MAX);
	assert_true(kept_log_has_samples(log_, 1));
}

static void gpu_work_is_kept_by_the_window_of_its_start(void **state)
{
	struct gpu_record record = {.name_id = 8, .kind = RECORD_GPU_MEMCPY, .copy_kind = 2};
	uint32_t kept = 0;

	(void)state;
	assert_true(kept_log_wants(log_, KEPT_GPU, 1, 8, 77));
	assert_int_equal(kept_log_load_level(log_, KEPT_GPU, 1, 2), 0);
	for (uint64_t window = 1; window < 1000; window++) {
		bool stays = kept_window_level(window) >= 2;

		record.start_ns = window * KEPT_LOG_GPU_NS + KEPT_LOG_GPU_NS - 1;
		record.end_ns = record.start_ns + 3ull * KEPT_LOG_GPU_NS;
		assert_int_equal(kept_log_wants(log_, KEPT_GPU, 1, 8, record.start_ns), stays);
		assert_int_equal(kept_log_work(log_, KEPT_GPU, 1, 8, &record, 7, 5), 0);
		kept += stays;
		assert_int_equal(list_of(KEPT_GPU, 1)->nr_recent, kept);
	}
	assert_true(kept > 200 && kept < 300);
	const struct host_sample *piece = &list_of(KEPT_GPU, 1)->recent[0].sample;
	assert_int_equal(piece->duration_ns, 3ull * KEPT_LOG_GPU_NS);
	assert_int_equal(piece->stack_id, 5);
	assert_int_equal(piece->name_id, 8);
	assert_int_equal(piece->tid, 7);
	assert_int_equal(piece->kind, RECORD_GPU_MEMCPY + 16 * 2);
	record.capture_stack_id = 6;
	record.start_ns = 0;
	assert_int_equal(kept_log_work(log_, KEPT_GPU, 1, 8, &record, 7, 5), 0);
	assert_int_equal(list_of(KEPT_GPU, 1)->recent[kept].sample.stack_id, 6);
}

static void each_sort_of_each_process_has_its_own_level(void **state)
{
	struct gpu_record record = {.start_ns = 1, .end_ns = 2};

	(void)state;
	for (uint32_t i = 0; i < KEPT_LOG_GPU_MAX + 1; i++) {
		record.start_ns = i * (uint64_t)KEPT_LOG_GPU_NS / 100;
		record.end_ns = record.start_ns + 10;
		assert_int_equal(kept_log_work(log_, KEPT_GPU, 2, -1, &record, 7, 5), 0);
	}
	sample(2, HOST_SAMPLE_CPU);
	sample(1, HOST_SAMPLE_CPU);
	assert_int_equal(kept_log_level(log_, KEPT_GPU, 2), 1);
	assert_int_equal(kept_log_level(log_, KEPT_HOST, 2), 0);
	assert_int_equal(kept_log_level(log_, KEPT_GPU, 1), 0);
	assert_true(list_of(KEPT_GPU, 2)->raised);
	assert_false(list_of(KEPT_HOST, 2)->raised);
}

/* Works 100 times in each window until the process's level has risen above the first one. Returns how often. */
static uint32_t work_until_full(uint32_t process, int32_t nr_ranks, uint32_t first_level,
				uint32_t most)
{
	for (uint32_t i = 0;; i++) {
		const struct gpu_record record = {.start_ns = i * 1000000ull,
						  .end_ns = i * 1000000ull + 10};
		const bool stays = kept_window_level(i / 100) >= first_level;

		assert_int_equal(kept_log_wants(log_, KEPT_GPU, process, nr_ranks, record.start_ns),
				 stays);
		if (i > 0 && list_of(KEPT_GPU, process)->nr_pieces == most && stays)
			return i;
		assert_int_equal(kept_log_work(log_, KEPT_GPU, process, nr_ranks, &record, 7, 5),
				 0);
		assert_int_equal(kept_log_level(log_, KEPT_GPU, process), first_level);
	}
}

static void gpu_work_of_a_large_job_begins_at_a_higher_level(void **state)
{
	static const struct {
		int32_t nr_ranks;
		uint32_t most, level;
	} jobs[] = {{1, 1 << 17, 0},   {64, 1 << 17, 0},  {127, 66052, 0},
		    {128, 1 << 16, 1}, {512, 1 << 14, 3}, {20000, 1 << 14, 3}};
	const struct gpu_record next = {.start_ns = 1ull << 40, .end_ns = 1ull << 41};

	(void)state;
	for (uint32_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		uint32_t works =
			work_until_full(i + 1, jobs[i].nr_ranks, jobs[i].level, jobs[i].most);

		/* All jobs fill their room in about the same time. */
		assert_in_range(works, (1 << 17) / 2, (1 << 17) + (1 << 13));
		assert_int_equal(
			kept_log_work(log_, KEPT_GPU, i + 1, jobs[i].nr_ranks, &next, 7, 5), 0);
		assert_int_equal(kept_log_level(log_, KEPT_GPU, i + 1), jobs[i].level + 1);
	}
}

static void work_without_communicators_has_less_room(void **state)
{
	static const struct {
		int32_t nr_ranks;
		uint32_t most, level;
	} jobs[] = {{-1, 1 << 16, 0}, {16, 1 << 16, 0}, {128, 1 << 13, 3}, {8192, 1 << 9, 7}};
	struct gpu_record record = {.end_ns = 1ull << 60};

	(void)state;
	for (uint32_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		const uint32_t process = i + 1;

		for (uint64_t work = 0; work < 1 << 18; work++) {
			record.start_ns = work * KEPT_LOG_GPU_NS / 10;
			if (kept_log_wants(log_, KEPT_LONE, process, jobs[i].nr_ranks,
					   record.start_ns))
				assert_int_equal(kept_log_work(log_, KEPT_LONE, process,
							       jobs[i].nr_ranks, &record, 7, 5),
						 0);
			assert_true(list_of(KEPT_LONE, process)->nr_pieces <= jobs[i].most);
			if (work == 0)
				assert_int_equal(
					kept_log_level(log_, KEPT_LONE, process),
					kept_window_level(0) >= jobs[i].level ? jobs[i].level : 0);
		}
		assert_true(list_of(KEPT_LONE, process)->nr_pieces >= jobs[i].most / 4);
		assert_int_equal(kept_log_level(log_, KEPT_GPU, process), 0);
	}
}

static void the_level_rises_when_a_job_turns_out_to_be_large(void **state)
{
	struct gpu_record record = {.end_ns = 1ull << 40};

	(void)state;
	for (uint64_t window = 0; window < 100; window++) {
		record.start_ns = window * KEPT_LOG_GPU_NS;
		assert_int_equal(kept_log_work(log_, KEPT_GPU, 1, -1, &record, 7, 5), 0);
	}
	assert_int_equal(list_of(KEPT_GPU, 1)->nr_pieces, 100);
	kept_log_saved(log_);
	assert_int_equal(kept_log_work(log_, KEPT_GPU, 1, 512, &record, 7, 5), 0);
	assert_int_equal(kept_log_level(log_, KEPT_GPU, 1), 3);
	assert_true(list_of(KEPT_GPU, 1)->raised);
	uint64_t stay = 0;
	for (uint64_t window = 0; window < 100; window++)
		stay += kept_window_level(window) >= 3;
	assert_int_equal(list_of(KEPT_GPU, 1)->nr_pieces, stay + (kept_window_level(99) >= 3));
}

/* ---- the newest work */

static const struct kept_newest *newest_of(uint32_t process)
{
	uint32_t count;
	struct kept_newest *const *newest = kept_log_newest(log_, &count);

	return process <= count ? newest[process - 1] : NULL;
}

/* Works once each step_ns of the common clock, from the number `from` on. */
static void work_newest(uint32_t from, uint32_t count, uint64_t step_ns, int32_t nr_ranks)
{
	for (uint32_t i = from; i < from + count; i++) {
		const struct gpu_record record = {.start_ns = i * step_ns,
						  .end_ns = i * step_ns + 10};

		assert_int_equal(kept_log_work(log_, KEPT_NEWEST, 1, nr_ranks, &record, 7, 5), 0);
	}
}

static void the_newest_work_is_of_processes_that_exchange(void **state)
{
	(void)state;
	assert_false(kept_log_wants(log_, KEPT_NEWEST, 1, 8, 77));
	work_newest(0, 1, 1, 8);
	assert_null(newest_of(1));
	assert_int_equal(kept_log_exchanges(log_, 1), 0);
	assert_int_equal(kept_log_exchanges(log_, 1), 0);
	assert_true(kept_log_wants(log_, KEPT_NEWEST, 1, 8, 77));
	work_newest(0, 3, 1, 8);
	assert_int_equal(newest_of(1)->nr_recent, 3);
	assert_int_equal(newest_of(1)->recent[2].time_ns, 12);
	kept_log_saved(log_);
	work_newest(3, 2, 1, 8);
	assert_int_equal(newest_of(1)->nr_pieces, 5);
	kept_log_end(log_, 1);
	assert_int_equal(newest_of(1)->nr_pieces, 0);
	assert_int_equal(newest_of(1)->nr_recent, 0);
	assert_int_equal(newest_of(1)->first_block, 1);
	assert_true(newest_of(1)->dropped);
}

/* A job of 4,096 ranks has the least room. Slower work than fills it in the time leaves the level alone. */
static void the_oldest_block_of_the_newest_work_goes(void **state)
{
	const uint64_t step_ns = KEPT_NEWEST_NS / (KEPT_LOG_NEWEST_MIN - 1) + 1;

	(void)state;
	assert_int_equal(kept_log_exchanges(log_, 1), 0);
	for (uint32_t i = 0; i < 8; i++) {
		work_newest(i * 1024, 1024, step_ns, 4096);
		kept_log_saved(log_);
		assert_int_equal(newest_of(1)->nr_pieces, i < 4 ? (i + 1) * 1024 : 4096);
	}
	assert_int_equal(newest_of(1)->first_block, 4);
	assert_int_equal(newest_of(1)->nr_blocks, 8);
	assert_int_equal(kept_log_level(log_, KEPT_NEWEST, 1), 0);
	assert_false(newest_of(1)->dropped);
	/* Of what no commit wrote, the older half goes. */
	work_newest(8192, 4097, step_ns, 4096);
	assert_int_equal(newest_of(1)->first_block, 8);
	assert_int_equal(newest_of(1)->nr_pieces, 2049);
	assert_true(newest_of(1)->dropped);
}

static void the_level_of_the_newest_work_rises_until_it_has_room(void **state)
{
	(void)state;
	assert_int_equal(kept_log_exchanges(log_, 1), 0);
	/* 1,000 pieces a second, of which an average of 341 have room */
	for (uint32_t i = 0; i < 300; i++) {
		work_newest(i * 1000, 1000, 1000000, 4096);
		kept_log_saved(log_);
		assert_true(newest_of(1)->nr_pieces <= KEPT_LOG_NEWEST_MIN);
	}
	assert_int_equal(kept_log_level(log_, KEPT_NEWEST, 1), 2);
	assert_true(newest_of(1)->nr_pieces > KEPT_LOG_NEWEST_MIN / 2);
	assert_true(newest_of(1)->nr_blocks - newest_of(1)->first_block < KEPT_NEWEST_BLOCKS);
}

static void no_more_blocks_of_the_newest_work_stay_than_are_counted(void **state)
{
	(void)state;
	assert_int_equal(kept_log_exchanges(log_, 1), 0);
	for (uint32_t i = 0; i < 2 * KEPT_NEWEST_BLOCKS; i++) {
		work_newest(i, 1, KEPT_NEWEST_NS, 8);
		kept_log_saved(log_);
	}
	assert_int_equal(newest_of(1)->nr_blocks, 2 * KEPT_NEWEST_BLOCKS);
	assert_true(newest_of(1)->nr_blocks - newest_of(1)->first_block < KEPT_NEWEST_BLOCKS);
	assert_true(newest_of(1)->dropped);
}

static void what_was_newest_is_dropped_by_the_next_writer(void **state)
{
	(void)state;
	assert_int_equal(kept_log_load_level(log_, KEPT_NEWEST, 1, KEPT_WINDOW_LEVELS), -EINVAL);
	assert_int_equal(kept_log_load_level(log_, KEPT_NEWEST, 1, 2), 0);
	assert_int_equal(kept_log_load_level(log_, KEPT_NEWEST, 1, 2), -EINVAL);
	assert_int_equal(kept_log_load(log_, KEPT_NEWEST, 1, KEPT_WINDOW_LEVELS, 7, 10), -EINVAL);
	assert_int_equal(kept_log_load(log_, KEPT_NEWEST, 1, 0, 7, 10), 0);
	assert_int_equal(kept_log_load(log_, KEPT_NEWEST, 1, 2, 5, 10), 0);
	assert_int_equal(kept_log_level(log_, KEPT_NEWEST, 1), 2);
	assert_int_equal(newest_of(1)->first_block, 7);
	assert_int_equal(newest_of(1)->nr_blocks, 7);
	assert_int_equal(newest_of(1)->nr_pieces, 0);
	assert_true(newest_of(1)->dropped);
}

static void what_was_not_saved_is_not_loaded(void **state)
{
	(void)state;
	assert_int_equal(kept_log_load_level(log_, KEPT_HOST, 1, KEPT_WINDOW_LEVELS), -EINVAL);
	assert_int_equal(kept_log_load_level(log_, KEPT_HOST, 1, 2), 0);
	assert_int_equal(kept_log_load_level(log_, KEPT_HOST, 1, 2), -EINVAL);
	assert_int_equal(kept_log_load(log_, KEPT_HOST, 1, 2, 1, KEPT_LOG_HOST_MAX + 1ull),
			 -EINVAL);
	assert_int_equal(kept_log_load(log_, KEPT_GPU, 1, 2, 1, KEPT_LOG_GPU_MAX + 1ull), -EINVAL);
	assert_int_equal(kept_log_load(log_, KEPT_HOST, 1, 1, 1, 10), -EINVAL);
	assert_int_equal(kept_log_load(log_, KEPT_HOST, 1, KEPT_WINDOW_LEVELS, 1, 10), -EINVAL);
	assert_int_equal(kept_log_load(log_, KEPT_HOST, 1, 2, 7, 10), 0);
	assert_int_equal(kept_log_load(log_, KEPT_HOST, 1, 2, 7, 10), -EINVAL);
	assert_int_equal(kept_log_load(log_, KEPT_HOST, 1, 3, 5, 1), 0);
	assert_int_equal(kept_log_load(log_, KEPT_HOST, 1, 4, 1, KEPT_LOG_HOST_MAX - 10), -EINVAL);
	assert_int_equal(list_of(KEPT_HOST, 1)->nr_pieces, 11);
	assert_int_equal(list_of(KEPT_HOST, 1)->nr_blocks, 7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(samples_are_handed_over_once),
		TEST(a_full_list_of_samples_keeps_whole_windows_of_a_higher_level),
		TEST(what_stays_does_not_depend_on_commits),
		TEST(a_wait_stays_where_one_of_its_windows_does),
		TEST(a_list_full_at_the_last_level_takes_no_more),
		TEST(gpu_work_is_kept_by_the_window_of_its_start),
		TEST(each_sort_of_each_process_has_its_own_level),
		TEST(gpu_work_of_a_large_job_begins_at_a_higher_level),
		TEST(work_without_communicators_has_less_room),
		TEST(the_level_rises_when_a_job_turns_out_to_be_large),
		TEST(what_was_not_saved_is_not_loaded),
		TEST(the_newest_work_is_of_processes_that_exchange),
		TEST(the_oldest_block_of_the_newest_work_goes),
		TEST(the_level_of_the_newest_work_rises_until_it_has_room),
		TEST(no_more_blocks_of_the_newest_work_stay_than_are_counted),
		TEST(what_was_newest_is_dropped_by_the_next_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
