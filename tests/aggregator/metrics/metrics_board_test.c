#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../store/store_fixture.h"

#include "aggregator/core/timeline_table.h"
#include "aggregator/metrics/metrics_board.h"
#include "aggregator/profile/collection.h"
#include "metrics/metrics_text.h"

#define SECOND_NS METRICS_BOARD_APART_NS

static struct metrics_board *board;
static struct board_profile profile;
static uint64_t now_ns;

static const struct aggregator_counts counts = {.profiles = 2, .frames = 5, .oldest_ns = 1};

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool has_no_memory; /* for tables that grow */

void *__wrap_realloc(void *memory, size_t size)
{
	return has_no_memory ? NULL : __real_realloc(memory, size);
}

static int set_up(void **state)
{
	store_fixture_set_up(state);
	store_fixture_open_all();
	board = metrics_board_create();
	now_ns = 5 * SECOND_NS;
	metrics_board_join(board, &profile, store_fixture.collection, store_fixture.store, NULL,
			   now_ns);
	return 0;
}

static int tear_down(void **state)
{
	metrics_board_leave(&profile, store_fixture.collection, store_fixture.store);
	metrics_board_destroy(board);
	store_fixture_close_all();
	return store_fixture_tear_down(state);
}

/* The text of the next snapshot. Owns: free(). */
static char *publish(void)
{
	struct metrics_text *text = metrics_text_create(true);
	char *bytes;
	size_t size;

	now_ns += SECOND_NS;
	assert_true(metrics_board_is_due(board, now_ns));
	metrics_board_publish(board, &counts, now_ns);
	metrics_board_write(board, text);
	assert_int_equal(metrics_text_take(text, &bytes, &size), 0);
	metrics_text_destroy(text);
	return bytes;
}

/* The sum of a family's samples, in units of their last decimal. */
static uint64_t sum_of(const char *text, const char *name)
{
	uint64_t sum = 0;

	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
		const char *end = strchr(at, '\n'), *value = end;

		if (at[-1] != '\n' || (at[strlen(name)] != ' ' && at[strlen(name)] != '{'))
			continue;
		while (value[-1] != ' ')
			value--;
		uint64_t number = 0;

		for (; value < end; value++)
			number = *value == '.' ? number : number * 10 + (uint64_t)(*value - '0');
		sum += number;
	}
	return sum;
}

static void apply(uint64_t last)
{
	store_fixture_apply_up_to(last);
	profile.changed = true;
	metrics_board_look(&profile, store_fixture.collection, store_fixture.store, now_ns);
}

/* Of the timelines of devices, known ones and others. */
static void sum_devices(uint64_t *records, uint64_t *sum_ns, uint64_t *busy_ns)
{
	uint32_t nr_entries;
	const struct timeline_entry *entries =
		timeline_table_entries(store_fixture.collection->timelines, &nr_entries);

	*records = *sum_ns = *busy_ns = 0;
	for (uint32_t i = 0; i < nr_entries; i++) {
		struct timeline_sums sums;

		if (entries[i].key.level != TIMELINE_DEVICE &&
		    entries[i].key.level != TIMELINE_ORDINAL)
			continue;
		stream_timeline_sums(entries[i].timeline, &sums);
		*records += sums.records;
		*sum_ns += sums.sum_ns;
		*busy_ns += stream_timeline_busy_ns(entries[i].timeline);
	}
}

static void the_sums_are_the_profiles(void **state)
{
	uint64_t records, sum_ns, busy_ns;

	(void)state;
	apply(store_fixture.scenario.nr_frames);
	char *text = publish();

	sum_devices(&records, &sum_ns, &busy_ns);
	assert_true(records > 0 && busy_ns > 0);
	assert_int_equal(sum_of(text, "flamegrid_gpu_activities_total"), records);
	assert_int_equal(sum_of(text, "flamegrid_gpu_work_seconds_total"), sum_ns);
	assert_int_equal(sum_of(text, "flamegrid_gpu_busy_seconds_total"), busy_ns);
	assert_int_equal(sum_of(text, "flamegrid_aggregator_received_frames_total"), 5);
	assert_true(sum_of(text, "flamegrid_launches_total") > 0);
	free(text);
}

static void counters_never_fall(void **state)
{
	static const char *const names[] = {
		"flamegrid_gpu_activities_total",     "flamegrid_gpu_work_seconds_total",
		"flamegrid_gpu_busy_seconds_total",   "flamegrid_gpu_observed_seconds_total",
		"flamegrid_gpu_kernel_seconds_total", "flamegrid_launches_total",
		"flamegrid_lost_records_total",
	};
	uint64_t former[sizeof(names) / sizeof(*names)] = {0};

	(void)state;
	for (uint64_t seq = 1; seq <= store_fixture.scenario.nr_frames; seq++) {
		apply(seq);
		char *text = publish();

		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			const uint64_t sum = sum_of(text, names[i]);

			assert_true(sum >= former[i]);
			former[i] = sum;
		}
		free(text);
	}
}

static void a_profile_that_leaves_keeps_its_sums(void **state)
{
	(void)state;
	apply(store_fixture.scenario.nr_frames / 2);
	/* What came since the last look counts, too. */
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	profile.changed = true;
	metrics_board_leave(&profile, store_fixture.collection, store_fixture.store);
	metrics_board_leave(&profile, store_fixture.collection, store_fixture.store);
	char *left = publish();
	uint64_t records, sum_ns, busy_ns;

	sum_devices(&records, &sum_ns, &busy_ns);
	assert_int_equal(sum_of(left, "flamegrid_gpu_busy_seconds_total"), busy_ns);
	/* Another one of the same GPUs adds to them. */
	metrics_board_join(board, &profile, store_fixture.collection, store_fixture.store, NULL,
			   now_ns);
	char *both = publish();

	assert_int_equal(sum_of(both, "flamegrid_gpu_busy_seconds_total"), 2 * busy_ns);
	assert_int_equal(sum_of(both, "flamegrid_launches_total"),
			 2 * sum_of(left, "flamegrid_launches_total"));
	free(left);
	free(both);
}

static void without_memory_no_sums_are_lost(void **state)
{
	(void)state;
	apply(store_fixture.scenario.nr_frames);
	char *before = publish();

	profile.changed = true;
	has_no_memory = true;
	metrics_board_leave(&profile, store_fixture.collection, NULL);
	has_no_memory = false;
	char *after = publish();

	assert_true(sum_of(before, "flamegrid_gpu_busy_seconds_total") > 0);
	assert_int_equal(sum_of(after, "flamegrid_gpu_busy_seconds_total"),
			 sum_of(before, "flamegrid_gpu_busy_seconds_total"));
	assert_int_equal(sum_of(after, "flamegrid_launches_total"),
			 sum_of(before, "flamegrid_launches_total"));
	free(before);
	free(after);
}

static void looks_and_snapshots_are_apart(void **state)
{
	(void)state;
	assert_false(metrics_board_wants(&profile, now_ns + SECOND_NS)); /* nothing has changed */
	profile.changed = true;
	assert_false(metrics_board_wants(&profile, now_ns + SECOND_NS - 1));
	assert_true(metrics_board_wants(&profile, now_ns + SECOND_NS));
	free(publish());
	assert_false(metrics_board_is_due(board, now_ns + SECOND_NS - 1));
	assert_true(metrics_board_is_due(board, now_ns + SECOND_NS));
	assert_false(metrics_board_is_due(NULL, now_ns));
	metrics_board_join(NULL, &(struct board_profile){0}, NULL, NULL, NULL, 0);
}

static struct device_identity gpu(uint32_t number)
{
	struct device_identity identity = {.index = 3, .host = "n"};

	memcpy(identity.uuid, &number, sizeof(number));
	return identity;
}

static void gpus_beyond_the_limit_are_counted(void **state)
{
	const struct device_sums sums = {.activities = 3};
	struct device_totals totals = {0}, more = {0};

	(void)state;
	for (uint32_t i = 1; i <= DEVICE_TOTALS_MAX + 2; i++) {
		const struct device_identity identity = gpu(i);

		assert_int_equal(device_totals_add(&totals, &identity, &sums), 0);
	}
	assert_int_equal(totals.nr_devices, DEVICE_TOTALS_MAX);
	assert_int_equal(totals.left_out, 6);
	assert_int_equal(device_totals_add_all(&more, &totals), 0);
	assert_int_equal(device_totals_add_all(&more, &totals), 0);
	assert_int_equal(more.nr_devices, DEVICE_TOTALS_MAX);
	assert_int_equal(more.devices[DEVICE_TOTALS_MAX - 1].sums.activities, 6);
	assert_int_equal(more.left_out, 12);
	device_totals_fini(&totals);
	device_totals_fini(&more);
}

static void a_gpu_is_told_from_others_by_its_uuid(void **state)
{
	static const char expected[] =
		"flamegrid_gpu_activities_total{gpu=\"3\",UUID=\"GPU-01000000-0000-0000-0000-"
		"000000000000\",Hostname=\"n\"} 2\n"
		"flamegrid_gpu_activities_total{gpu=\"0\",UUID=\"\",Hostname=\"a\\\"b\"} 1\n"
		"flamegrid_gpu_activities_total{gpu=\"\",UUID=\"\",Hostname=\"a\\\"b\"} 1\n"
		"flamegrid_gpu_activities_total{gpu=\"0\",UUID=\"MIG-02000000-0000-0000-0000-"
		"000000000000\",Hostname=\"m\"} 1\n";
	const struct device_identity identities[] = {
		gpu(1),
		{.uuid = {1}, .index = 0, .host = "another"},
		{.index = 0, .host = "a\"b"},
		{.index = MESSAGE_INDEX_NONE, .host = "a\"b"},
		{.uuid = {2}, .index = 0, .host = "m", .is_part = true},
	};
	const struct device_sums sums = {.activities = 1};
	struct metrics_text *text = metrics_text_create(true);
	struct device_totals totals = {0};
	char *bytes;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(identities) / sizeof(*identities); i++)
		assert_int_equal(device_totals_add(&totals, &identities[i], &sums), 0);
	device_totals_write(&totals, text);
	assert_int_equal(metrics_text_take(text, &bytes, &size), 0);
	assert_non_null(strstr(bytes, expected));
	free(bytes);
	metrics_text_destroy(text);
	device_totals_fini(&totals);
}

static atomic_bool stop;

static void *read_on(void *unused)
{
	while (!atomic_load(&stop)) {
		struct metrics_text *text = metrics_text_create(true);

		metrics_board_write(board, text);
		metrics_text_destroy(text);
	}
	return unused;
}

static void *publish_on(void *unused)
{
	for (uint64_t at_ns = SECOND_NS; !atomic_load(&stop); at_ns += SECOND_NS)
		metrics_board_publish(board, &counts, at_ns);
	return unused;
}

/* The reader, the aggregator and a worker at once; ThreadSanitizer looks on. */
static void threads_do_not_disturb_each_other(void **state)
{
	pthread_t threads[2];

	(void)state;
	atomic_store(&stop, false);
	pthread_create(&threads[0], NULL, read_on, NULL);
	pthread_create(&threads[1], NULL, publish_on, NULL);
	for (uint64_t seq = 1; seq <= store_fixture.scenario.nr_frames; seq++)
		apply(seq);
	metrics_board_leave(&profile, store_fixture.collection, store_fixture.store);
	atomic_store(&stop, true);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_sums_are_the_profiles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counters_never_fall, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_profile_that_leaves_keeps_its_sums, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_memory_no_sums_are_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(looks_and_snapshots_are_apart, set_up, tear_down),
		cmocka_unit_test(gpus_beyond_the_limit_are_counted),
		cmocka_unit_test(a_gpu_is_told_from_others_by_its_uuid),
		cmocka_unit_test_setup_teardown(threads_do_not_disturb_each_other, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
