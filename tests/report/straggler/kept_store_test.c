/* Single GPU work of a rank in the store (kept_log.h): what stays is whole windows, whenever the aggregator commits and
 * starts again, and a merged profile has the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/merge/profile_merge.h"
#include "aggregator/profile/kept_log.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_kept.h"
#include "straggler_fixture.h"

#define KERNELS  180000u
#define EACH_NS  5000000ull             /* 20 in a window */
#define BEGIN_NS 1795403307300000000ull /* a window's begin */
#define FIRST    (BEGIN_NS / KEPT_LOG_GPU_NS)
#define WINDOWS  (KERNELS / (KEPT_LOG_GPU_NS / EACH_NS))

static uint64_t ask(const char *path, const char *sql)
{
	struct database *database;
	int64_t number;

	assert_int_equal(database_open(path, true, &database, NULL), 0);
	assert_int_equal(database_query_number(database, sql, &number), 0);
	database_close(database);
	return (uint64_t)number;
}

/* One rank of a large job, whose kernels come evenly. */
static void play(uint32_t commit_each, bool restart)
{
	job_world(4096);
	uint32_t process = job_process(0);
	job_communicator(process, 1, 0xfeed, 0, 2);
	for (uint32_t i = 0; i < KERNELS; i++) {
		const struct job_kernel kernel = {
			.name = "gemm",
			.stack = "train.py:main;cudaLaunchKernel",
			.correlation_id = i + 1,
			.tid = 9,
			.start_ns = BEGIN_NS + i * EACH_NS,
			.ns = 1000 + i % 7,
		};

		job_kernel(process, &kernel);
		if (i % commit_each == commit_each - 1) {
			job_commit();
			if (restart)
				job_restart();
		}
	}
	job_commit();
}

static uint64_t windows_at(uint32_t level)
{
	uint64_t count = 0;

	for (uint64_t window = FIRST; window < FIRST + WINDOWS; window++)
		count += kept_window_level(window) >= level;
	return count;
}

/* Whole windows, and no others. */
static void expect_windows(const char *path)
{
	struct database *database;
	struct host_sample *pieces;
	uint32_t count;
	uint64_t level = ask(path, "SELECT level FROM sample_levels WHERE sort = 1");

	assert_true(level > 3); /* the first one of so many ranks */
	assert_int_equal(ask(path, "SELECT count(*) FROM sample_levels"), 1);
	assert_int_equal(database_open(path, true, &database, NULL), 0);
	assert_int_equal(store_kept_read(database, KEPT_GPU, 1, &pieces, &count), 0);
	database_close(database);
	assert_true(count <= KEPT_LOG_GPU_MIN);
	assert_int_equal(count, 20 * windows_at((uint32_t)level));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t start_ns = pieces[i].time_ns - pieces[i].duration_ns;

		assert_true(kept_window_level(start_ns / KEPT_LOG_GPU_NS) >= level);
		assert_int_equal(pieces[i].duration_ns, 1000 + (start_ns - BEGIN_NS) / EACH_NS % 7);
		assert_int_equal(pieces[i].tid, 9);
	}
	free(pieces);
}

static void whole_windows_stay(void **state)
{
	(void)state;
	play(15000, false);
	expect_windows(job_path());
}

static void they_stay_when_the_aggregator_starts_again(void **state)
{
	(void)state;
	play(23333, true);
	expect_windows(job_path());
}

static void a_merged_profile_has_them_once(void **state)
{
	char merged[128], *error;
	const struct merge_source sources[] = {{.path = job_path()}, {.path = job_path()}};

	(void)state;
	play(60000, false);
	snprintf(merged, sizeof(merged), "%s-merged", job_path());
	if (profile_merge(sources, 2, false, merged, &error))
		fail_msg("%s", error);
	expect_windows(merged);
	unlink(merged);
}

static uint32_t count_since(const struct host_sample *pieces, uint32_t count, uint64_t since_ns)
{
	uint32_t newer = 0;

	for (uint32_t i = 0; i < count; i++)
		newer += pieces[i].time_ns >= since_ns;
	return newer;
}

/* Of 900 s the last 60 are read as a whole, and most of the others are not. */
static void the_newest_are_read_alone(void **state)
{
	struct database *database;
	struct host_sample *all, *newest;
	uint32_t nr_all, nr_newest;

	(void)state;
	play(1000, false);
	assert_int_equal(database_open(job_path(), true, &database, NULL), 0);
	assert_int_equal(store_kept_read(database, KEPT_GPU, 1, &all, &nr_all), 0);
	assert_int_equal(
		store_kept_read_newest(database, KEPT_GPU, 1, 60000000000ull, &newest, &nr_newest),
		0);
	database_close(database);
	const uint64_t since_ns = all[nr_all - 1].time_ns - 60000000000ull;
	assert_int_equal(count_since(newest, nr_newest, since_ns),
			 count_since(all, nr_all, since_ns));
	assert_true(nr_newest < nr_all / 8);
	free(all);
	free(newest);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(whole_windows_stay),
		TEST(they_stay_when_the_aggregator_starts_again),
		TEST(a_merged_profile_has_them_once),
		TEST(the_newest_are_read_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
