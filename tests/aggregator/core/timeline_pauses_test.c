/* Times between capture windows, beside a count of every tick. */
#include "aggregator/core/timeline_pauses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TICKS     400u
#define PROCESSES 2u
#define DEVICE    7u
#define ROUNDS    300u
#define STEPS     40u

static struct timeline_table *table;

/* The truth: what each process did at each tick, and whether it was captured. */
static struct {
	bool busy[TICKS], paused[TICKS];
} truth[PROCESSES + 1];

static int set_up(void **state)
{
	(void)state;
	memset(truth, 0, sizeof(truth));
	table = timeline_table_create();
	return table ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	timeline_table_destroy(table);
	return 0;
}

static struct timeline_key key_of(enum timeline_level level, uint32_t process_id)
{
	struct timeline_key key = {.level = level, .process_id = process_id};

	if (level == TIMELINE_DEVICE || level == TIMELINE_DEVICE_PAUSES) {
		key.process_id = 1; /* the writer, whose number is that of a process, too */
		key.device_id = DEVICE;
	}
	if (level == TIMELINE_STREAM)
		key.stream_id = 13;
	return key;
}

static void work(uint32_t process_id, uint64_t start_ns, uint64_t end_ns)
{
	const enum timeline_level levels[] = {TIMELINE_STREAM, TIMELINE_WORK, TIMELINE_DEVICE};

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		const struct timeline_key key = key_of(levels[i], process_id);

		assert_int_equal(timeline_pauses_work(table, &key, start_ns, end_ns), 0);
	}
	for (uint64_t ns = start_ns; ns < end_ns && ns < TICKS; ns++)
		truth[process_id].busy[ns] = true;
}

static void pause(uint32_t process_id, uint64_t begin_ns, uint64_t end_ns)
{
	struct timeline_key key = key_of(TIMELINE_PAUSES, process_id);

	assert_int_equal(timeline_pauses_add(table, &key, begin_ns, end_ns), 0);
	key = key_of(TIMELINE_DEVICE_PAUSES, process_id);
	assert_int_equal(timeline_pauses_add(table, &key, begin_ns, end_ns), 0);
	for (uint64_t ns = begin_ns; ns < end_ns && ns < TICKS; ns++)
		truth[process_id].paused[ns] = true;
}

static struct timeline_entry *find(enum timeline_level level, uint32_t process_id)
{
	const struct timeline_key key = key_of(level, process_id);

	return timeline_table_find(table, &key);
}

static uint64_t uncaptured(enum timeline_level level, uint32_t process_id)
{
	const struct timeline_entry *entry = find(level, process_id);
	struct timeline_sums sums;

	assert_non_null(entry);
	stream_timeline_sums(entry->timeline, &sums);
	return sums.uncaptured_ns;
}

/* process_id 0: the device. */
static void assert_true_sums(enum timeline_level level, uint32_t process_id)
{
	struct timeline_entry *entry = find(level, process_id);
	uint64_t paused = 0, idle = 0;
	struct timeline_sums sums;

	if (!entry)
		return;
	stream_timeline_sums(entry->timeline, &sums);
	for (uint64_t ns = sums.first_ns; ns < sums.last_ns; ns++) {
		bool is_busy = false, is_paused = false;

		for (uint32_t id = 1; id <= PROCESSES; id++) {
			is_busy |= (!process_id || id == process_id) && truth[id].busy[ns];
			is_paused |= (!process_id || id == process_id) && truth[id].paused[ns];
		}
		paused += is_paused && !is_busy;
		idle += !is_paused && !is_busy;
	}
	assert_int_equal(sums.uncaptured_ns, paused);
	assert_int_equal(stream_timeline_idle_ns(entry->timeline), idle);
}

static void work_and_pauses_in_any_order_are_exact(void **state)
{
	(void)state;
	srand(23);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t step = 0; step < STEPS; step++) {
			const uint32_t id = 1 + (uint32_t)rand() % PROCESSES;
			const uint64_t from = 1 + (uint64_t)rand() % (TICKS - 41);

			if (rand() % 4)
				work(id, from, from + (uint64_t)rand() % 20);
			else
				pause(id, from, from + 1 + (uint64_t)rand() % 40);
			for (uint32_t p = 1; p <= PROCESSES; p++) {
				assert_true_sums(TIMELINE_STREAM, p);
				assert_true_sums(TIMELINE_WORK, p);
			}
			assert_true_sums(TIMELINE_DEVICE, 0);
		}
		tear_down(NULL);
		assert_int_equal(set_up(NULL), 0);
	}
}

static void a_stream_that_works_no_more_gets_no_pauses(void **state)
{
	(void)state;
	work(1, 10, 20);
	for (uint64_t at = 30; at < 300; at += 30)
		pause(1, at, at + 20);
	assert_int_equal(uncaptured(TIMELINE_STREAM, 1), 0);
	work(1, 310, 320); /* nine pauses later */
	assert_int_equal(uncaptured(TIMELINE_STREAM, 1), 9 * 20);
	assert_int_equal(stream_timeline_idle_ns(find(TIMELINE_STREAM, 1)->timeline),
			 310 - 20 - 9 * 20);
}

/* A part of a timeline is closed when much else came since. Nobody knows then which of its time was idle. */
static void a_pause_before_the_horizon_stays_idle_time(void **state)
{
	(void)state;
	work(1, 100, 200);
	timeline_table_close(table, 1);
	pause(1, 50, 150);
	work(1, 250, 260);
	assert_int_equal(uncaptured(TIMELINE_WORK, 1), 0);
	pause(1, 200, 250);
	assert_int_equal(uncaptured(TIMELINE_WORK, 1), 50);
}

static void a_process_that_ends_leaves_the_devices_pauses_open(void **state)
{
	(void)state;
	work(1, 100, 200);
	pause(2, 210, 300);
	timeline_table_close(table, 1); /* its number is the writer's */
	work(2, 290, 310);
	assert_int_equal(uncaptured(TIMELINE_DEVICE, 1), 80);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_and_pauses_in_any_order_are_exact),
		TEST(a_stream_that_works_no_more_gets_no_pauses),
		TEST(a_pause_before_the_horizon_stays_idle_time),
		TEST(a_process_that_ends_leaves_the_devices_pauses_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
