#include "report/straggler/report_straggler.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/model/report_build.h"
#include "report/straggler/straggler_stages.h"
#include "report/writers/straggler/parallel_writer.h"
#include "report/writers/straggler/straggler_text.h"
#include "report/writers/straggler/straggler_writer.h"
#include "straggler_fixture.h"
#include "straggler_parallel.h"

#define STEPS 40u

/* Passes of equal length: everything is exact. */
static struct parallel exact(uint32_t tensor, uint32_t data, uint32_t stages)
{
	return (struct parallel){
		.tensor = tensor,
		.data = data,
		.stages = stages,
		.micro_batches = 8,
		.steps = STEPS,
		.forward_ms = 4,
		.late_stage = -1,
		.late_rank = -1,
		.seed = 1,
	};
}

static struct report_straggler *play(const struct parallel *parallel)
{
	parallel_play(parallel);
	return job_straggler();
}

static void text_of(const struct report_straggler *found, char **text)
{
	size_t size;
	FILE *out = open_memstream(text, &size);

	assert_non_null(out);
	parallel_writer_table(out, found);
	parallel_writer_json(out, found);
	fclose(out);
}

static void assert_table_says(const struct report_straggler *found, const char *expected)
{
	struct profile *profile = job_profile();
	struct report_tree *tree;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, false), 0);
	fclose(out);
	assert_non_null(strstr(text, expected));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
}

/* Steps of one are twice as long. */
static void pipelines_of_several_jobs_are_not_compared(void **state)
{
	struct parallel parallel = exact(1, 1, 4);

	(void)state;
	job_id("4711");
	struct report_straggler *found = play(&parallel);
	assert_non_null(found->pipeline);
	assert_false(found->pipelines_left_out);
	report_straggler_destroy(found);
	job_id("4712");
	parallel.key = 0x10000;
	parallel.forward_ms *= 2;
	found = play(&parallel);
	assert_null(found->pipeline);
	assert_true(found->pipelines_left_out);
	assert_table_says(found, "\nnote: pipelines of several jobs are not compared: report each "
				 "job's own profile\n");
	report_straggler_destroy(found);
}

/* ---- the stages */

static void stages_are_places_in_pipelines(void **state)
{
	const struct parallel parallel = exact(2, 2, 4);
	struct straggler_stages stages;

	(void)state;
	parallel_play(&parallel);
	struct profile *profile = job_profile();
	struct collective_folds *folds = job_collectives();

	assert_int_equal(straggler_stages_find(profile, folds, &stages), 0);
	assert_int_equal(stages.nr_stages, 4);
	assert_int_equal(stages.nr_pipelines, 4);
	assert_int_equal(stages.nr_ranks, 16);
	for (uint32_t i = 0; i < stages.nr_ranks; i++) {
		assert_int_equal(stages.ranks[i].process, i + 1);
		assert_int_equal(stages.ranks[i].stage, i / 4);
		assert_int_equal(stages.ranks[i].pipeline, i % 4);
	}
	straggler_stages_fini(&stages);
	collective_folds_destroy(folds);
	profile_destroy(profile);
}

/* A call of a rank on communicator 1; kernel 0: of no known launch. */
static void put(uint32_t process, uint8_t function, uint32_t peer, uint64_t sequence,
		uint64_t function_sequence, uint32_t kernel)
{
	struct collective call = job_all_reduce(1, sequence, kernel, 1000 * sequence, 10);

	call.function = function;
	call.peer = peer;
	call.function_sequence = function_sequence;
	job_call(process, &call);
}

/* Returns the stages of ranks that send to their neighbours as a matrix says: sends[i][j] is '1' if rank i sends to
 * rank j. in_one: each rank's calls are in one kernel. */
static uint32_t stages_of(uint32_t count, const char *const *sends, bool in_one)
{
	struct straggler_stages stages;

	for (uint32_t i = 0; i < count; i++) {
		job_communicator(job_process((int32_t)i), 1, 0xfeed, i, count);
		for (uint32_t j = 0, sequence = 0; j < count; j++) {
			if (sends[i][j] == '1') {
				sequence++;
				put(i + 1, COLLECTIVE_SEND, j, sequence, 1,
				    in_one ? 7 : 100 + sequence);
			}
			if (sends[j][i] == '1') {
				sequence++;
				put(i + 1, COLLECTIVE_RECV, j, sequence, 1,
				    in_one ? 7 : 100 + sequence);
			}
		}
	}
	job_commit();
	struct profile *profile = job_profile();
	struct collective_folds *folds = job_collectives();
	assert_int_equal(straggler_stages_find(profile, folds, &stages), 0);
	uint32_t found = stages.nr_stages;
	for (uint32_t i = 0; i < stages.nr_ranks; i++)
		assert_int_equal(stages.ranks[i].process, i + 1);
	straggler_stages_fini(&stages);
	collective_folds_destroy(folds);
	profile_destroy(profile);
	return found;
}

static void a_circle_begins_with_the_lowest_rank(void **state)
{
	const char *const sends[] = {"0100", "0010", "0001", "1000"};

	(void)state;
	assert_int_equal(stages_of(4, sends, false), 4);
}

static void a_ring_whose_kernels_send_and_receive_is_no_pipeline(void **state)
{
	const char *const sends[] = {"0100", "0010", "0001", "1000"};

	(void)state;
	assert_int_equal(stages_of(4, sends, true), 0);
}

static void an_all_to_all_is_no_pipeline(void **state)
{
	const char *const sends[] = {"0111", "1011", "1101", "1110"};

	(void)state;
	assert_int_equal(stages_of(4, sends, false), 0);
}

/* Rank 1 has three neighbours, and rank 4 is connected with it through rank 3. */
static void a_star_is_no_pipeline(void **state)
{
	const char *const sends[] = {"01000", "00110", "00000", "00001", "00000"};

	(void)state;
	assert_int_equal(stages_of(5, sends, false), 0);
}

static void a_job_without_sends_has_no_pipeline(void **state)
{
	const char *const sends[] = {"00", "00"};
	char *text;

	(void)state;
	assert_int_equal(stages_of(2, sends, false), 0);
	struct report_straggler *found = job_straggler();
	assert_null(found->pipeline);
	text_of(found, &text);
	assert_string_equal(text, "\"pipeline\":null,\n\"experts\":[]");
	free(text);
	report_straggler_destroy(found);
}

/* ---- bubbles */

/* A step of 1F1B lasts as long as micro_batches + stages - 1 pairs of passes, and each stage idles in stages - 1 of
 * them. */
static void each_stage_has_the_bubble_of_the_schedule(void **state)
{
	const struct parallel parallel = exact(1, 1, 4);

	(void)state;
	struct report_straggler *found = play(&parallel);
	const struct straggler_pipeline *pipeline = found->pipeline;

	assert_non_null(pipeline);
	assert_int_equal(pipeline->steps, STEPS);
	assert_int_equal(pipeline->fold.used, STEPS);
	assert_int_equal(found->nr_named, 0);
	assert_int_equal(found->nr_groups, 0);
	for (uint32_t i = 0; i < 4; i++) {
		const struct straggler_times *times = &pipeline->of_stage[i].times;

		assert_int_equal(pipeline->of_stage[i].nr_ranks, 1);
		assert_in_range(times->compute_ns, STEPS * 95000000ull, STEPS * 96000000ull);
		assert_in_range(times->waits_ns + times->moves_ns, STEPS * 35500000ull,
				STEPS * 38500000ull);
		assert_in_range(times->idle_ns, 0, 1000000);
	}
	report_straggler_destroy(found);
}

static void the_slow_stage_is_named(void **state)
{
	struct parallel parallel = exact(1, 1, 4);
	char line[STRAGGLER_TEXT_SIZE], *text;

	(void)state;
	parallel.late_stage = 2;
	parallel.late = 0.1;
	parallel.noise = 0.02;
	struct report_straggler *found = play(&parallel);

	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, 2);
	straggler_text_line(found, line, sizeof(line));
	assert_ptr_equal(strstr(line, "late: stage 2, rank 2 on node01 (without it up to "), line);
	assert_non_null(strstr(line, "; slower GPU kernels (gemm, train.py:backward)"));
	text_of(found, &text);
	assert_non_null(strstr(text, "\n40 steps of "));
	assert_non_null(strstr(text, "\n    2* "));
	assert_null(strstr(text, "\n    1* "));
	assert_non_null(strstr(text, "{\"stage\":2,\"ranks\":[2],\"late\":true,\"compute_ns\":"));
	free(text);
	report_straggler_destroy(found);
}

/* Steps of a long run are compared in stretches of several, and each stretch has one that is last. */
static void the_slow_stage_of_a_long_run_is_late_by_frequency(void **state)
{
	struct parallel parallel = exact(1, 1, 4);

	(void)state;
	parallel.steps = 600;
	parallel.late_stage = 2;
	parallel.late = 0.1;
	struct report_straggler *found = play(&parallel);

	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, 2);
	assert_int_equal(found->pipeline->fold.used, 600);
	assert_in_range(found->pipeline->nr_stretches, 64, 150);
	for (uint32_t i = 0; i < found->nr_communicators; i++) {
		const struct report_straggler_communicator *on = &found->communicators[i];
		if (!on->is_pipeline)
			continue;
		assert_int_equal(on->members[2].found.last, found->pipeline->nr_stretches);
		assert_int_equal(on->members[2].found.ground, STRAGGLER_FREQUENCY);
	}
	report_straggler_destroy(found);
}

static void a_stage_with_several_ranks_is_named_as_one(void **state)
{
	struct parallel parallel = exact(2, 2, 4);
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	parallel.late_stage = 1;
	parallel.late = 0.1;
	parallel.all_ranks = true;
	parallel.noise = 0.02;
	struct report_straggler *found = play(&parallel);

	assert_int_equal(found->nr_named, 0);
	assert_int_equal(found->nr_groups, 1);
	assert_int_equal(found->groups[0].group->kind, STRAGGLER_GROUP_STAGE);
	assert_string_equal(found->groups[0].name, "stage 1");
	straggler_text_line(found, line, sizeof(line));
	assert_ptr_equal(strstr(line, "late: stage 1 (4 ranks: 4-7; without it up to "), line);
	report_straggler_destroy(found);
}

/* ---- victims */

/* Rank 5 keeps its partner 4 waiting, and the stages of both pipelines that it is in; all of them are late in the
 * all_reduce with the other half of the job. */
static void those_that_wait_for_a_late_rank_are_victims(void **state)
{
	struct parallel parallel = exact(2, 2, 4);
	char line[STRAGGLER_TEXT_SIZE];
	uint32_t victims = 0;

	(void)state;
	parallel.late_rank = 5;
	parallel.late = 0.2;
	parallel.all_ranks = true;
	parallel.noise = 0.02;
	struct report_straggler *found = play(&parallel);

	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->nr_groups, 0);
	assert_int_equal(found->ranks[0].rank, 5);
	assert_int_equal(found->ranks[0].kept_by, 0);
	for (uint32_t i = 1; i < found->nr_ranks; i++) {
		const bool is_victim = found->ranks[i].rank / 2 % 2 == 0;

		assert_int_equal(found->ranks[i].kept_by, is_victim ? found->ranks[0].id : 0);
		victims += is_victim;
	}
	assert_int_equal(victims, 7);
	straggler_text_line(found, line, sizeof(line));
	assert_ptr_equal(strstr(line, "late: rank 5 on node01 ("), line);
	assert_non_null(strstr(line, "; kept waiting in the pipelines: 7 ranks"));
	report_straggler_destroy(found);
}

/* The first stage ends each step, because the last backward pass does. */
static void nobody_is_late_at_the_end_of_a_schedule(void **state)
{
	struct parallel parallel = exact(1, 1, 4);
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	parallel.all_ranks = true;
	parallel.noise = 0.01;
	struct report_straggler *found = play(&parallel);

	straggler_text_line(found, line, sizeof(line));
	assert_ptr_equal(strstr(line, "late: no rank stands out beyond chance; each rank waited "),
			 line);
	assert_non_null(strstr(line, "; most for rank 0 on "));
	assert_non_null(strstr(line, " of all waiting, as the schedule of its pipeline has it"));
	assert_int_equal(found->nr_named, 0);
	assert_int_equal(found->nr_groups, 0);
	assert_table_says(found, "; last as the schedule of its pipeline has it\n");
	for (uint32_t i = 0; i < found->nr_ranks; i++) {
		assert_int_equal(found->ranks[i].kept_by, 0);
		if (found->ranks[i].rank == 0)
			assert_int_equal(found->ranks[i].last, STEPS - 1);
	}
	report_straggler_destroy(found);
}

/* Noise of 20 % that a pass has nearly from the one before: for a third of this run one stage takes longest. */
static void drift_makes_no_stage_late(void **state)
{
	const struct parallel parallel = {.tensor = 1,
					  .data = 1,
					  .stages = 4,
					  .late_stage = -1,
					  .late_rank = -1,
					  .micro_batches = 8,
					  .forward_ms = 4,
					  .steps = 60,
					  .noise = 0.2,
					  .noise_kind = PARALLEL_DRIFT,
					  .all_ranks = true,
					  .seed = 61};

	(void)state;
	struct report_straggler *found = play(&parallel);

	assert_int_equal(found->nr_named, 0);
	assert_int_equal(found->nr_groups, 0);
	report_straggler_destroy(found);
}

/* A stage that takes a third longer, under noise of 9 % that lasts: where it is not found, it is not acquitted. */
static void a_late_stage_that_noise_hides_is_not_put_down_to_the_schedule(void **state)
{
	struct parallel parallel = exact(4, 1, 2);
	uint32_t hidden = 0;

	parallel.late_stage = 0;
	parallel.late = 0.34;
	parallel.steps = 40;
	parallel.all_ranks = true;
	parallel.noise = 0.09;
	parallel.noise_kind = PARALLEL_DRIFT;
	for (parallel.seed = 1; parallel.seed <= 12; parallel.seed++) {
		struct report_straggler *found = play(&parallel);
		char line[STRAGGLER_TEXT_SIZE];
		const char *words;
		int percent;

		straggler_text_line(found, line, sizeof(line));
		words = strstr(line, ", perhaps as the schedule of its pipeline has it: ");
		assert_null(strstr(line, ", as the schedule"));
		if (words && found->nr_groups + found->nr_named == 0) {
			assert_int_equal(sscanf(strstr(words, ": "),
						": the noise hides a stage that costs less than %d "
						"%% of the time",
						&percent),
					 1);
			assert_in_range(percent, 3, 100);
			assert_table_says(
				found, "; last, perhaps as the schedule of its pipeline has it\n");
			hidden++;
		}
		report_straggler_destroy(found);
		job_tear_down(state);
		job_set_up(state);
	}
	assert_int_not_equal(hidden, 0);
}

/* ---- what is not known */

static void stages_without_kernels_are_not_compared(void **state)
{
	const char *const sends[] = {"010", "001", "000"};
	char *text;

	(void)state;
	assert_int_equal(stages_of(3, sends, false), 3);
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->pipeline->fold.used, 0);
	assert_int_equal(found->nr_named, 0);
	text_of(found, &text);
	assert_non_null(strstr(text, "note: the stages of the pipeline are not compared"));
	assert_non_null(strstr(text, "\"compared\":false,\"steps\":null,\"span_ns\":0"));
	free(text);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(pipelines_of_several_jobs_are_not_compared),
		TEST(stages_are_places_in_pipelines),
		TEST(a_circle_begins_with_the_lowest_rank),
		TEST(a_ring_whose_kernels_send_and_receive_is_no_pipeline),
		TEST(an_all_to_all_is_no_pipeline),
		TEST(a_star_is_no_pipeline),
		TEST(a_job_without_sends_has_no_pipeline),
		TEST(each_stage_has_the_bubble_of_the_schedule),
		TEST(the_slow_stage_is_named),
		TEST(the_slow_stage_of_a_long_run_is_late_by_frequency),
		TEST(a_stage_with_several_ranks_is_named_as_one),
		TEST(those_that_wait_for_a_late_rank_are_victims),
		TEST(nobody_is_late_at_the_end_of_a_schedule),
		TEST(drift_makes_no_stage_late),
		TEST(a_late_stage_that_noise_hides_is_not_put_down_to_the_schedule),
		TEST(stages_without_kernels_are_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
