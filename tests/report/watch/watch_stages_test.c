/* A look compares the stages of a job's pipelines, and the ranks of a mixture of experts. */
#include "report/watch/watch_events.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "aggregator/profile/kept_log.h"
#include "aggregator/store/database.h"
#include "report/watch/watch_causes.h"
#include "tests/report/straggler/straggler_fixture.h"
#include "tests/report/straggler/straggler_mixture.h"
#include "tests/report/straggler/straggler_parallel.h"

#define MS 1000000ull
#define S  (1000 * MS)

/* Steps of about 140 ms. */
static struct parallel job_of(uint32_t tensor, uint32_t data, uint32_t stages)
{
	return (struct parallel){
		.tensor = tensor,
		.data = data,
		.stages = stages,
		.micro_batches = 8,
		.steps = 96,
		.forward_ms = 4,
		.noise = 0.02,
		.late_stage = -1,
		.late_rank = -1,
		.late = 0.1,
		.seed = 1,
	};
}

static struct watch_look look(void)
{
	struct watch_look found;
	char *error = NULL;

	assert_int_equal(watch_look_read(job_path(), &found, &error), 0);
	assert_null(error);
	return found;
}

static void again(void **state)
{
	job_tear_down(state);
	job_set_up(state);
}

/* ---- one look */

static void the_slow_stage_is_found_with_its_onset(void **state)
{
	struct parallel parallel = job_of(1, 1, 4);

	(void)state;
	parallel.late_stage = 2;
	parallel.late_from = 64;
	parallel_play(&parallel);
	struct watch_look found = look();

	assert_true(found.has_stages);
	assert_int_equal(found.nr_findings, 1);
	const struct watch_finding *rank = &found.findings[0];
	assert_string_equal(rank->name, "rank 2 on node01");
	assert_ptr_equal(strstr(rank->text, "stage 2, waited least in "), rank->text);
	assert_string_equal(rank->communicator, "the pipeline");
	assert_true(rank->has_stage);
	assert_int_equal(rank->stage, 2);
	assert_false(rank->is_group);
	assert_int_equal(rank->nr_ranks, 1);
	assert_int_equal(rank->ranks[0], 2);
	/* 32 steps of 145 ms */
	assert_in_range(rank->age_ns, 4 * S, 5 * S);
	watch_look_fini(&found);
}

static void a_stage_with_several_ranks_is_found_as_one(void **state)
{
	struct parallel parallel = job_of(2, 2, 4);

	(void)state;
	parallel.late_stage = 1;
	parallel.late_from = 60;
	parallel.all_ranks = true;
	parallel_play(&parallel);
	struct watch_look found = look();

	assert_int_equal(found.nr_findings, 1);
	assert_string_equal(found.findings[0].name, "stage 1 (4 ranks: 4-7)");
	assert_true(found.findings[0].is_group);
	assert_true(found.findings[0].has_stage);
	assert_int_equal(found.findings[0].stage, 1);
	assert_int_equal(found.findings[0].nr_ranks, 4);
	watch_look_fini(&found);
}

static void a_late_rank_of_a_stage_is_found_alone(void **state)
{
	struct parallel parallel = job_of(2, 2, 4);

	(void)state;
	parallel.late_rank = 5;
	parallel.late = 0.2;
	parallel.late_from = 40;
	parallel.all_ranks = true;
	parallel_play(&parallel);
	struct watch_look found = look();

	assert_int_equal(found.nr_findings, 1);
	assert_string_equal(found.findings[0].name, "rank 5 on node01");
	assert_false(found.findings[0].has_stage);
	watch_look_fini(&found);
}

static void what_was_late_before_the_time_is_over(void **state)
{
	struct parallel parallel = job_of(1, 1, 4);

	(void)state;
	parallel.late_stage = 2;
	parallel.late_to = 48;
	parallel_play(&parallel);
	struct watch_look found = look();

	assert_true(found.has_stages);
	assert_int_equal(found.nr_findings, 0);
	watch_look_fini(&found);
}

static void noise_makes_no_stage_late(void **state)
{
	for (uint32_t i = 0; i < 6; i++) {
		struct parallel parallel = job_of(1, 1 + i % 2, 2 + i % 3);

		parallel.steps = 64;
		parallel.noise = i % 3 == PARALLEL_LOGNORMAL ? 0.1 : 0.04;
		parallel.noise_kind = (enum parallel_noise)(i % 3);
		parallel.all_ranks = i % 2;
		parallel.seed = 100 + i;
		again(state);
		parallel_play(&parallel);
		struct watch_look found = look();

		assert_true(found.has_stages);
		assert_int_equal(found.nr_findings, 0);
		watch_look_fini(&found);
	}
}

static uint64_t ask(const char *sql)
{
	struct database *database;
	int64_t number;

	assert_int_equal(database_open(job_path(), true, &database, NULL), 0);
	assert_int_equal(database_query_number(database, sql, &number), 0);
	database_close(database);
	return (uint64_t)number;
}

/* Of a long run of a large job one window in four or fewer is kept, but the newest work is kept whole. */
static void in_a_long_run_the_slow_stage_is_found_as_soon(void **state)
{
	struct parallel parallel = job_of(1, 1, 4);

	(void)state;
	parallel.world = 4096;
	parallel.steps = 600;
	parallel.late_stage = 2;
	parallel.late_from = 600 - 32;
	parallel_play(&parallel);
	assert_true(ask("SELECT min(level) FROM sample_levels WHERE sort = 1") >= 2);
	assert_int_equal(ask("SELECT count(*) FROM sample_levels WHERE sort = 3"), 0);
	struct watch_look found = look();

	assert_true(found.has_stages);
	assert_int_equal(found.nr_findings, 1);
	assert_string_equal(found.findings[0].name, "rank 2 on node01");
	watch_look_fini(&found);
}

/* More comes than there is room for: half of the newest windows is kept. */
static void where_little_is_kept_the_time_is_longer(void **state)
{
	struct parallel parallel = job_of(1, 1, 4);

	(void)state;
	parallel.world = 4096;
	parallel.micro_batches = 16;
	parallel.forward_ms = 2;
	parallel.steps = 300;
	parallel.late_stage = 2;
	parallel.late = 0.2;
	parallel.late_from = 300 - 64;
	parallel_play(&parallel);
	assert_int_equal(ask("SELECT min(level) FROM sample_levels WHERE sort = 3"), 1);
	assert_in_range(ask("SELECT max(pieces) FROM (SELECT sum(count) AS pieces"
			    " FROM sample_blocks WHERE sort = 3 GROUP BY process)"),
			KEPT_LOG_NEWEST_MIN / 2, KEPT_LOG_NEWEST_MIN);
	struct watch_look found = look();

	assert_true(found.has_stages);
	assert_int_equal(found.nr_findings, 1);
	assert_string_equal(found.findings[0].name, "rank 2 on node01");
	watch_look_fini(&found);
}

/* ---- events */

static struct watch_events *events;
static struct watch_event told[8];
static uint32_t nr_told;
static uint64_t now_ns;

/* 16 steps take more than two seconds. */
static void take_look(void)
{
	struct watch_look found = look();
	struct watch_event *list;
	uint32_t count;

	now_ns += 2 * S;
	assert_int_equal(watch_events_take(events, &found, now_ns, &list, &count), 0);
	watch_causes_add(job_path(), list, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(nr_told < 8);
		told[nr_told++] = list[i];
	}
	free(list);
	watch_look_fini(&found);
}

static void begin_events(void)
{
	events = watch_events_create();
	assert_non_null(events);
	nr_told = 0;
	now_ns = 1000 * S;
}

static void end_events(void)
{
	for (uint32_t i = 0; i < nr_told; i++)
		watch_finding_fini(&told[i].finding);
	watch_events_destroy(events);
}

static void a_stage_becomes_late_and_recovers(void **state)
{
	struct parallel parallel = job_of(1, 2, 4);

	(void)state;
	begin_events();
	parallel.late_stage = 1;
	parallel.late_from = 80;
	parallel.late_to = 160;
	parallel.steps = 288;
	parallel.committed = take_look;
	parallel_play(&parallel);
	assert_int_equal(nr_told, 2);
	assert_int_equal(told[0].kind, WATCH_EVENT_LATE);
	assert_string_equal(told[0].finding.name, "stage 1 (2 ranks: 2-3)");
	/* Passes of 12 ms, eight times and in three other stages; then of 13.2 ms eight times. */
	assert_int_equal(told[0].finding.step.collectives, 1);
	assert_in_range(told[0].finding.step.without_ns, 130 * MS, 136 * MS);
	assert_in_range(told[0].finding.step.now_ns, 138 * MS, 146 * MS);
	assert_non_null(told[0].finding.cause);
	assert_non_null(strstr(told[0].finding.cause, "slower GPU kernels (gemm"));
	assert_int_equal(told[1].kind, WATCH_EVENT_RECOVERED);
	assert_string_equal(told[1].finding.name, told[0].finding.name);
	end_events();
}

/* ---- experts */

/* An event has what a report has. Of one call the bytes to each rank are not known. */
static void expect_expert(const struct watch_finding *finding, bool one_call)
{
	struct watch_event event = {.kind = WATCH_EVENT_LATE};

	assert_int_equal(watch_finding_copy(finding, &event.finding), 0);
	watch_causes_add(job_path(), &event, 1);
	assert_in_range(event.finding.expert_gpu_times * 100, 130, 150);
	assert_true(one_call ? event.finding.expert_bytes_times == 0
			     : event.finding.expert_bytes_times > 1.1);
	watch_finding_fini(&event.finding);
}

static void the_loaded_expert_is_found(void **state)
{
	struct mixture mixture = {
		.ranks = 8,
		.steps = 60,
		.attention_ms = 6,
		.expert_ms = 5,
		.noise = 0.03,
		.late_rank = 5,
		.late = 0.4,
		.seed = 3,
	};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		mixture.one_call = i;
		again(state);
		mixture_play(&mixture);
		struct watch_look found = look();

		assert_int_equal(found.nr_findings, 1);
		assert_string_equal(found.findings[0].name, "rank 5 on node01");
		assert_true(found.findings[0].age_ns > 0);
		expect_expert(&found.findings[0], i);
		watch_look_fini(&found);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_slow_stage_is_found_with_its_onset),
		TEST(a_stage_with_several_ranks_is_found_as_one),
		TEST(a_late_rank_of_a_stage_is_found_alone),
		TEST(what_was_late_before_the_time_is_over),
		TEST(noise_makes_no_stage_late),
		TEST(in_a_long_run_the_slow_stage_is_found_as_soon),
		TEST(where_little_is_kept_the_time_is_longer),
		TEST(a_stage_becomes_late_and_recovers),
		TEST(the_loaded_expert_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
