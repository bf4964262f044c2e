/* Idle time from an agent's messages to the report: exact, and under what the launching thread did. */
#include "report/profile/profile_idle.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/idle_log.h"
#include "report/model/report_build.h"
#include "report/model/report_busy.h"
#include "report/model/report_summary.h"
#include "report/writers/folded_writer.h"
#include "tests/aggregator/store/idle_life.h"
#include "tests/aggregator/store/store_fixture.h"

#define LENGTH(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

/* --- what reports say --- */

static struct profile *load(void)
{
	struct profile *profile;
	char *error;

	if (profile_load(store_fixture.path, &profile, &error))
		fail_msg("%s", error);
	return profile;
}

static void store_all(void)
{
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
}

static char *folded_of(const struct profile *profile, const char *by)
{
	const struct report_options planes = {.planes = 1u << REPORT_PLANE_IDLE};
	struct folded_options options = {.unit = FOLDED_NS};
	struct report_tree *tree;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_by_parse(by, &options.by), 0);
	assert_int_equal(report_tree_build(profile, &planes, &tree), 0);
	assert_int_equal(folded_writer_write(out, tree, &options), 0);
	fclose(out);
	report_tree_destroy(tree);
	return text;
}

static void assert_folded(const char *by, const char *expected)
{
	struct profile *profile = load();
	char *text = folded_of(profile, by);

	assert_string_equal(text, expected);
	free(text);
	profile_destroy(profile);
}

/* The idle plane of each device is the idle time that its timeline has. */
static void assert_sums_are_exact(const struct profile *profile)
{
	const struct report_options planes = {.planes = 1u << REPORT_PLANE_IDLE};
	struct report_tree *tree;
	struct report_busy *busy;
	uint64_t whole = 0;

	assert_int_equal(report_tree_build(profile, &planes, &tree), 0);
	assert_int_equal(report_busy_create(profile, &busy), 0);
	for (uint32_t row = 0; row < busy->nr_rows; row++) {
		uint64_t ns = 0;

		if (!busy->rows[row].whole_device)
			continue;
		for (uint32_t i = 0; i < tree->nr_leaves; i++)
			if (tree->leaves[i].gpu == busy->rows[row].gpu)
				ns += tree->leaves[i].ns;
		assert_int_equal(ns, busy->rows[row].idle_ns);
		whole += ns;
	}
	assert_int_equal(tree->plane_totals[REPORT_PLANE_IDLE].ns, whole);
	report_busy_destroy(busy);
	report_tree_destroy(tree);
}

/* --- the tests --- */

static void gaps_stand_under_what_the_launching_thread_did(void **state)
{
	const struct idle_life_kernel first[] = {
		{0, 100, 7}, {105, 200, 7}, {300, 400, 7}, {460, 500, 8}};
	const struct idle_life_kernel second[] = {{900, 1000, 7}, {1100, 1101, 7}};
	const struct host_sample one[] = {idle_life_wait(7, 150, 230), idle_life_cpu(7, 240, 1),
					  idle_life_cpu(7, 250, 1), idle_life_cpu(7, 260, 2),
					  idle_life_cpu(8, 240, 1)};
	const struct host_sample two[] = {idle_life_wait(7, 500, 800), idle_life_cpu(7, 850, 2)};

	(void)state;
	idle_life_begin();
	idle_life_samples(1, one, LENGTH(one));
	idle_life_kernels(1, first, LENGTH(first));
	idle_life_kernels(2, second, LENGTH(second));
	idle_life_samples(2, two, LENGTH(two));
	store_all();
	/* 5 us between the first two; 200 to 300: 30 of the wait, and 70 among three samples; 400 to 460: nothing of
	 * thread 8 near; 500 to 900: 300 of the wait, and one sample; 1000 to 1100: nothing. */
	assert_folded("", "[gaps below 10 us];[GPU5_Idle] 5000\n"
			  "[unknown];[GPU5_Idle] 160000\n"
			  "app.py:main;[CPU];[GPU5_Idle] 46666\n"
			  "app.py:main;app.py:step;[CPU];[GPU5_Idle] 123334\n"
			  "app.py:main;app.py:step;[Off-CPU]futex;[GPU5_Idle] 330000\n");
	assert_folded("rank,gpu,stream,thread",
		      "rank1;GPU5;no stream;thread7;app.py:main;[CPU];[GPU5_Idle] 46666\n"
		      "rank1;GPU5;no stream;thread7;app.py:main;app.py:step;[CPU];[GPU5_Idle] "
		      "23334\n"
		      "rank1;GPU5;no stream;thread7;app.py:main;app.py:step;[Off-CPU]futex;"
		      "[GPU5_Idle] 30000\n"
		      "rank1;GPU5;no stream;thread8;[unknown];[GPU5_Idle] 60000\n"
		      "rank1;GPU5;no stream;thread?;[gaps below 10 us];[GPU5_Idle] 5000\n"
		      "rank2;GPU5;no stream;thread7;[unknown];[GPU5_Idle] 100000\n"
		      "rank2;GPU5;no stream;thread7;app.py:main;app.py:step;[CPU];[GPU5_Idle] "
		      "100000\n"
		      "rank2;GPU5;no stream;thread7;app.py:main;app.py:step;[Off-CPU]futex;"
		      "[GPU5_Idle] 300000\n");
	struct profile *profile = load();
	assert_sums_are_exact(profile);
	assert_int_equal(profile->idle_left_out, 0);
	profile_destroy(profile);
}

/* 4 s of 10, and then 950 ms and 1.05 s of them: a tenth, and at least a second. */
static void long_gaps_are_pauses(void **state)
{
	const struct idle_life_kernel kernels[] = {
		{0, 100, 7}, {4000100, 5000000, 7}, {5950000, 8000000, 7}, {9050000, 10000000, 7}};
	const struct host_sample samples[] = {idle_life_wait(7, 100, 1100),
					      idle_life_wait(7, 4000000, 4500000),
					      idle_life_wait(7, 7900000, 8500000)};

	(void)state;
	idle_life_begin();
	idle_life_samples(1, samples, LENGTH(samples));
	idle_life_kernels(1, kernels, LENGTH(kernels));
	store_all();
	assert_folded("", "[unknown];[GPU5_Idle] 950000000\n"
			  "[unknown];[GPU5_Idle]pause 4548900000\n"
			  "app.py:main;app.py:step;[Off-CPU]futex;[GPU5_Idle]pause 501100000\n");
	struct profile *profile = load();
	assert_sums_are_exact(profile);
	profile_destroy(profile);
}

/* A process's marks of a window's end and of the next window. */
static void add_pause(uint64_t begin_us, uint64_t end_us)
{
	const struct launch_record marks[] = {
		{.time_ns = begin_us * 1000,
		 .cbid = RECORD_MARK_WINDOW_END,
		 .flags = RECORD_LAUNCH_HOST | RECORD_LAUNCH_MARK},
		{.time_ns = end_us * 1000,
		 .cbid = RECORD_MARK_WINDOW,
		 .flags = RECORD_LAUNCH_HOST | RECORD_LAUNCH_MARK},
	};

	idle_life_add((struct message){.type = MESSAGE_EVENTS,
				       .events = {.process_id = 1,
						  .clock_offset_ns = IDLE_LIFE_OFFSET_NS,
						  .clock_valid = 1,
						  .nr_launches = LENGTH(marks),
						  .launches = marks}});
}

/* 100 to 300 and 700 to 900 are idle, in two waits; work runs on up to 320. Nothing is known of 320 to 700. */
static void time_between_capture_windows_is_no_idle_time(void **state)
{
	const struct idle_life_kernel first[] = {{0, 100, 7}, {200, 320, 7}};
	const struct idle_life_kernel second[] = {{900, 1000, 7}};
	const struct host_sample samples[] = {idle_life_wait(7, 100, 190),
					      idle_life_wait(7, 400, 750)};

	(void)state;
	idle_life_begin();
	idle_life_samples(1, samples, LENGTH(samples));
	idle_life_kernels(1, first, LENGTH(first));
	add_pause(310, 700);
	idle_life_kernels(1, second, LENGTH(second));
	store_all();
	assert_folded("", "[unknown];[GPU5_Idle] 160000\n"
			  "app.py:main;app.py:step;[Off-CPU]futex;[GPU5_Idle] 140000\n");
	struct profile *profile = load();
	struct report_busy *busy;
	assert_sums_are_exact(profile);
	assert_int_equal(report_busy_create(profile, &busy), 0);
	assert_int_equal(busy->rows[0].whole_device, 1);
	assert_int_equal(busy->rows[0].idle_ns, 300000);
	assert_int_equal(busy->rows[0].uncaptured_ns, 380000);
	report_busy_destroy(busy);
	profile_destroy(profile);
}

/* Each pause, and all work, comes to another start of the aggregator. */
static void pauses_last_over_restarts(void **state)
{
	const struct idle_life_kernel kernels[] = {
		{0, 100, 7}, {200, 300, 7}, {600, 700, 7}, {750, 800, 7}, {1500, 1600, 7}};
	const struct host_sample samples[] = {idle_life_wait(7, 100, 190)};

	(void)state;
	idle_life_begin();
	idle_life_samples(1, samples, LENGTH(samples));
	for (uint32_t i = 0; i < LENGTH(kernels); i++) {
		idle_life_kernels(1, &kernels[i], 1);
		if (i == 1)
			add_pause(350, 550);
		if (i == 3)
			add_pause(790, 1450);
	}
	for (uint64_t seq = 1; seq <= store_fixture.scenario.nr_frames; seq++) {
		store_fixture_open_all();
		store_fixture_apply_up_to(seq);
		store_fixture_commit();
		store_fixture_close_all();
	}
	struct profile *profile = load();
	struct report_busy *busy;
	assert_sums_are_exact(profile);
	assert_int_equal(report_busy_create(profile, &busy), 0);
	for (uint32_t i = 0; i < busy->nr_rows; i++) {
		assert_int_equal(busy->rows[i].busy_ns, 450000);
		assert_int_equal(busy->rows[i].uncaptured_ns, 200000 + 650000);
		assert_int_equal(busy->rows[i].idle_ns, 300000);
	}
	report_busy_destroy(busy);
	profile_destroy(profile);
}

static void without_samples_there_is_no_such_plane(void **state)
{
	const struct idle_life_kernel kernels[] = {{0, 100, 7}, {300, 400, 7}};

	(void)state;
	idle_life_begin();
	idle_life_kernels(1, kernels, LENGTH(kernels));
	store_all();
	assert_folded("", "");
	struct profile *profile = load();
	assert_int_equal(profile->idle_left_out, 0);
	profile_destroy(profile);
}

static void what_came_before_the_first_sample_is_unknown_and_counted(void **state)
{
	const struct idle_life_kernel early[] = {{0, 100, 7}, {300, 400, 7}};
	const struct idle_life_kernel late[] = {{500, 600, 7}, {650, 700, 7}};
	const struct host_sample samples[] = {idle_life_wait(7, 0, 700)};

	(void)state;
	idle_life_begin();
	idle_life_kernels(1, early, LENGTH(early));
	idle_life_samples(1, samples, LENGTH(samples));
	idle_life_kernels(1, late, LENGTH(late));
	store_all();
	assert_folded("", "[unknown];[GPU5_Idle] 300000\n"
			  "app.py:main;app.py:step;[Off-CPU]futex;[GPU5_Idle] 50000\n");
	struct profile *profile = load();
	struct report_tree *tree;
	assert_sums_are_exact(profile);
	assert_int_equal(profile->idle_left_out, 2);
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(tree->lost, 0);
	assert_string_equal(tree->strings[tree->losses[tree->nr_losses - 1].reason],
			    "idle_left_out");
	assert_int_equal(tree->losses[tree->nr_losses - 1].count, 2);
	report_tree_destroy(tree);
	profile_destroy(profile);
}

/* The GPU has its work all the same, in one row. Nobody knows which gaps that filled, so none has a cause. */
static void work_of_before_a_description_leaves_no_cause(void **state)
{
	const struct idle_life_kernel known[] = {{0, 100, 7}, {500, 600, 7}};
	const struct idle_life_kernel early[] = {{200, 300, 8}};
	const struct host_sample samples[] = {idle_life_wait(7, 0, 700)};
	const struct message_device device = {.index = 5, .uuid = {6}};
	struct message process = {.type = MESSAGE_PROCESS,
				  .process = {.process_id = 3,
					      .pid = 73,
					      .instance = {3},
					      .rank = MESSAGE_RANK_NONE,
					      .local_rank = MESSAGE_RANK_NONE,
					      .world_size = MESSAGE_RANK_NONE}};
	struct report_busy *busy;

	(void)state;
	idle_life_begin();
	idle_life_add(process);
	idle_life_samples(1, samples, LENGTH(samples));
	idle_life_kernels(1, known, LENGTH(known));
	idle_life_kernels(3, early, LENGTH(early));
	process.process.nr_devices = 1;
	process.process.devices = &device;
	idle_life_add(process);
	store_all();
	assert_folded("", "[unknown];[GPU5_Idle] 300000\n");
	struct profile *profile = load();
	assert_sums_are_exact(profile);
	assert_int_equal(report_busy_create(profile, &busy), 0);
	uint32_t nr_devices = 0;
	for (uint32_t row = 0; row < busy->nr_rows; row++)
		nr_devices += busy->rows[row].whole_device ? 1 : 0;
	assert_int_equal(nr_devices, 1);
	assert_int_equal(profile->idle_left_out, 1);
	report_busy_destroy(busy);
	profile_destroy(profile);
}

static void a_clock_that_is_not_known_tells_no_thread(void **state)
{
	const struct host_sample samples[] = {idle_life_wait(7, 0, 700)};
	const struct launch_record launches[] = {
		{.time_ns = 1, .correlation_id = 1, .tid = 7, .window = 1},
		{.time_ns = 1, .correlation_id = 2, .tid = 7, .window = 1},
	};
	const struct gpu_record records[] = {
		{.start_ns = 100000, .end_ns = 200000, .correlation_id = 1, .window = 1},
		{.start_ns = 300000, .end_ns = 300001, .correlation_id = 2, .window = 1},
	};

	(void)state;
	idle_life_begin();
	idle_life_samples(1, samples, LENGTH(samples));
	idle_life_add((struct message){.type = MESSAGE_EVENTS,
				       .events = {.process_id = 1,
						  .nr_launches = 2,
						  .launches = launches,
						  .nr_gpu = 2,
						  .gpu = records}});
	store_all();
	assert_folded("", "[unknown];[GPU5_Idle] 100000\n");
}

static void the_sum_is_exact_at_every_moment(void **state)
{
	uint64_t known_ns = 0, left_out = 0;

	(void)state;
	for (uint64_t seq = 1; seq <= store_fixture.scenario.nr_frames; seq++) {
		store_fixture_open_all();
		store_fixture_apply_up_to(seq);
		store_fixture_commit();
		store_fixture_close_all();
		struct profile *profile = load();
		uint32_t nr_rows = 0;
		const struct fold_row *rows = fold_table_rows(profile->idle, &nr_rows);

		if (nr_rows)
			assert_sums_are_exact(profile);
		known_ns = 0;
		for (uint32_t i = 0; i < nr_rows; i++)
			known_ns += rows[i].key.kind <= HOST_SAMPLE_OFF_CPU ? rows[i].ns : 0;
		left_out = profile->idle_left_out;
		profile_destroy(profile);
	}
	assert_true(known_ns > 0);
	assert_true(left_out > 0); /* there was work before the first samples */
}

/* More blocks than one, and a restart in each. */
static void a_long_run_is_explained_gap_by_gap(void **state)
{
	enum { MESSAGES = 40, EACH = 300 };
	static struct launch_record launches[EACH];
	static struct gpu_record records[EACH];
	const struct host_sample samples[] = {idle_life_wait(7, 0, 100000000)};

	(void)state;
	idle_life_begin();
	idle_life_samples(1, samples, 1);
	for (uint32_t message = 0; message < MESSAGES; message++) {
		for (uint32_t i = 0; i < EACH; i++) {
			uint32_t number = message * EACH + i;

			launches[i] = (struct launch_record){
				.time_ns = 1, .correlation_id = number, .tid = 7, .window = 1};
			/* Backwards within a message. */
			number = message * EACH + EACH - 1 - i;
			records[i] = (struct gpu_record){.start_ns = 1000000000 + number * 50000ull,
							 .end_ns = 1000000000 + number * 50000ull +
								   20000,
							 .correlation_id = number,
							 .window = 1};
		}
		idle_life_add((struct message){.type = MESSAGE_EVENTS,
					       .events = {.process_id = 1,
							  .clock_offset_ns = IDLE_LIFE_OFFSET_NS,
							  .clock_valid = 1,
							  .nr_launches = EACH,
							  .launches = launches,
							  .nr_gpu = EACH,
							  .gpu = records}});
	}
	for (uint64_t seq = 1; seq <= store_fixture.scenario.nr_frames; seq += 3) {
		store_fixture_open_all();
		store_fixture_apply_up_to(seq);
		store_fixture_commit();
		store_fixture_close_all();
	}
	store_all();
	assert_true(MESSAGES * EACH > 2 * IDLE_LOG_BLOCK);
	assert_folded("", "app.py:main;app.py:step;[Off-CPU]futex;[GPU5_Idle] 359970000\n");
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gaps_stand_under_what_the_launching_thread_did),
		TEST(long_gaps_are_pauses),
		TEST(time_between_capture_windows_is_no_idle_time),
		TEST(pauses_last_over_restarts),
		TEST(without_samples_there_is_no_such_plane),
		TEST(what_came_before_the_first_sample_is_unknown_and_counted),
		TEST(work_of_before_a_description_leaves_no_cause),
		TEST(a_clock_that_is_not_known_tells_no_thread),
		TEST(the_sum_is_exact_at_every_moment),
		TEST(a_long_run_is_explained_gap_by_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
