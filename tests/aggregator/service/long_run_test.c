/* Three days of a job: what is kept of it stays within its bounds, and nothing is lost without being counted. */
#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/clock_log.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/kept_log.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_clocks.h"
#include "aggregator/store/store_kept.h"
#include "long_run.h"
#include "report/profile/profile.h"
#include "timeline/log/event_packer.h"
#include "timeline/log/event_reader.h"

#define HOUR_S     3600u
#define HOURS      72u
#define NS_PER_S   1000000000ull
#define MIB        (1u << 20)
#define KEPT_S     30u
#define LOG_MAX    (2u * MIB)
#define LOG_FILES  17u         /* sixteenths, and the one that grows */
#define HEAP_SLACK (64u << 10) /* launches without a record, which wait */
#define CACHE_SLACK                                                                                \
	(2u * MIB) /* that SQLite needs beside pages, of which it keeps 32 MiB at most */
/* A single piece takes some 10 bytes, and pages may be half empty. */
#define STORE_MAX     (2 * KEPT_LOG_GPU_MAX * 24u + 5u * MIB)
#define STORE_LOG_MAX (32u * MIB)

struct fixture {
	char folder[64], store[96];
	struct long_run_options options;
	struct long_run *run;
	struct event_sums sums; /* as read */
	uint64_t first_ns, last_ns;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->folder, sizeof(f->folder), "/tmp/flamegrid-long-run.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->store, sizeof(f->store), "%s/profile.db", f->folder);
	f->options = (struct long_run_options){.store_path = f->store,
					       .timeline = {.keeps = true, .bytes_max = LOG_MAX},
					       .nr_ranks = 2,
					       .nr_gpus = 1,
					       .step_ms = 10000,
					       .step_kernels = 19,
					       .tick_ms = 300000};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[96];

	long_run_destroy(f->run);
	snprintf(command, sizeof(command), "rm -r %s", f->folder);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static struct long_run_sizes sizes_after(struct fixture *f, uint32_t hours)
{
	struct long_run_sizes sizes;

	assert_int_equal(long_run_until(f->run, (uint64_t)hours * HOUR_S), 0);
	assert_int_equal(long_run_sizes(f->run, &sizes), 0);
	return sizes;
}

static int take(void *context, const struct message_events *events)
{
	struct fixture *f = context;

	for (uint32_t i = 0; i < events->nr_launches; i++) {
		const uint64_t time_ns = events->launches[i].time_ns;

		f->first_ns = time_ns < f->first_ns ? time_ns : f->first_ns;
		f->last_ns = time_ns > f->last_ns ? time_ns : f->last_ns;
	}
	return 0;
}

/* Reads the log, and compares it with what was told. */
static void read_log(struct fixture *f)
{
	const struct long_run_truth truth = long_run_truth(f->run);
	struct profile *profile;
	struct event_asks asks = {.take = take, .context = f};

	assert_int_equal(profile_load(f->store, &profile, NULL), 0);
	asks.profile = profile->timeline_id;
	f->sums = (struct event_sums){0};
	f->first_ns = UINT64_MAX;
	f->last_ns = 0;
	assert_int_equal(event_reader_read(f->store, &asks, &f->sums), 0);
	profile_destroy(profile);
	assert_int_equal(f->sums.damaged + f->sums.lost_events + f->sums.foreign, 0);
	assert_int_equal(f->sums.launches + f->sums.records + f->sums.dropped_events,
			 truth.nr_launches + truth.nr_records);
}

static struct profile *load(const struct fixture *f)
{
	struct profile *profile;

	assert_int_equal(profile_load(f->store, &profile, NULL), 0);
	return profile;
}

static uint32_t rows_of(const struct fixture *f)
{
	struct profile *profile = load(f);
	uint32_t nr_rows;

	fold_table_rows(profile->collection->totals, &nr_rows);
	profile_destroy(profile);
	return nr_rows;
}

/* Single pieces of work, and comparisons of clocks. */
static void check_pieces(const struct fixture *f)
{
	struct profile *profile = load(f);
	struct database *database;
	struct host_sample *pieces;
	uint32_t count;

	assert_int_equal(database_open(f->store, true, &database, NULL), 0);
	for (uint32_t process = 1; process <= f->options.nr_ranks; process++) {
		assert_int_equal(store_kept_read(database, KEPT_GPU, process, &pieces, &count), 0);
		assert_in_range(count, 1, KEPT_LOG_GPU_MAX);
		free(pieces);
	}
	database_close(database);
	clock_log_offsets(profile->collection->clocks, &count);
	assert_in_range(count, 1, STORE_CLOCKS_MAX);
	profile_destroy(profile);
}

/* All work is in the sums, whatever the log and the single pieces have lost. */
static void check_sums(const struct fixture *f)
{
	struct profile *profile = load(f);
	uint64_t count = 0, ns = 0;
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(profile->collection->totals, &nr_rows);

	for (uint32_t i = 0; i < nr_rows; i++)
		if (rows[i].key.kind == RECORD_GPU_KERNEL) {
			count += rows[i].count;
			ns += rows[i].ns;
		}
	assert_int_equal(count, long_run_truth(f->run).nr_kernels);
	assert_int_equal(ns, long_run_truth(f->run).kernel_ns);
	profile_destroy(profile);
}

static void three_days_stay_within_their_bounds_and_are_exact(void **state)
{
	static const uint32_t hours[] = {1, 6, 24, 48, HOURS};
	struct fixture *f = *state;
	uint64_t day_bytes = 0;
	uint32_t nr_rows = 0;

	assert_int_equal(long_run_create(&f->options, &f->run), 0);
	for (size_t i = 0; i < sizeof(hours) / sizeof(*hours); i++) {
		const struct long_run_sizes sizes = sizes_after(f, hours[i]);

		assert_in_range(sizes.log_bytes, 1, LOG_MAX + LOG_MAX / 16 + EVENT_PACKER_BLOCK);
		assert_in_range(sizes.nr_log_files, 1, LOG_FILES);
		assert_in_range(sizes.store_bytes, 1, STORE_MAX);
		assert_in_range(sizes.store_log_bytes, 0, STORE_LOG_MAX);
		assert_in_range(sizes.cache_bytes, 1, STORE_MAX + CACHE_SLACK);
		if (hours[i] == 24)
			day_bytes = sizes.heap_bytes - sizes.cache_bytes;
		if (day_bytes)
			assert_in_range(sizes.heap_bytes - sizes.cache_bytes, 1,
					day_bytes + HEAP_SLACK);
		read_log(f);
		check_pieces(f);
		nr_rows = nr_rows ? nr_rows : rows_of(f);
		assert_int_equal(rows_of(f), nr_rows);
	}
	assert_true(f->sums.dropped_events > 0);
	assert_true(f->sums.bytes > LOG_MAX / 2);
	assert_int_equal(long_run_end(f->run), 0);
	check_sums(f);
}

static void the_newest_seconds_are_there_at_any_time(void **state)
{
	struct fixture *f = *state;
	uint64_t hour_bytes = 0;

	f->options.timeline.keep_ns = KEPT_S * NS_PER_S;
	f->options.tick_ms = 10000;
	assert_int_equal(long_run_create(&f->options, &f->run), 0);
	for (uint32_t hours = 1; hours <= 5; hours += 2) {
		const struct long_run_sizes sizes = sizes_after(f, hours);
		const uint64_t now_ns = long_run_truth(f->run).now_ns;

		read_log(f);
		/* Files of 10 s each, and the one of the tick that has not come. */
		assert_in_range(f->first_ns, now_ns - (KEPT_S + 30) * NS_PER_S,
				now_ns - KEPT_S * NS_PER_S);
		assert_in_range(f->last_ns, now_ns - 10 * NS_PER_S, now_ns);
		assert_in_range(sizes.nr_log_files, 3, 5);
		hour_bytes = hour_bytes ? hour_bytes : sizes.log_bytes;
		assert_in_range(sizes.log_bytes, hour_bytes / 2, 2 * hour_bytes);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(three_days_stay_within_their_bounds_and_are_exact),
		TEST(the_newest_seconds_are_there_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
