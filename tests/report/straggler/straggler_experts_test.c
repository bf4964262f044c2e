#include "report/straggler/report_straggler.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/straggler/report_straggler_experts.h"
#include "report/writers/straggler/parallel_writer.h"
#include "report/writers/straggler/straggler_text.h"
#include "straggler_fixture.h"
#include "straggler_mixture.h"

#define STEPS 60u

static struct mixture mixture_of(uint32_t ranks)
{
	return (struct mixture){
		.ranks = ranks,
		.steps = STEPS,
		.attention_ms = 6,
		.expert_ms = 5,
		.noise = 0.03,
		.late_rank = -1,
		.seed = 3,
	};
}

static struct report_straggler *play(const struct mixture *mixture)
{
	mixture_play(mixture);
	return job_straggler();
}
static const struct report_straggler_communicator *on_experts(const struct report_straggler *found)
{
	for (uint32_t i = 0; i < found->nr_communicators; i++)
		if (found->communicators[i].fold->used == STEPS * 4)
			return &found->communicators[i];
	fail();
	return NULL;
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

/* Two layers have four exchanges a step. */
static void exchanges_of_all_ranks_are_compared(void **state)
{
	const struct mixture mixture = mixture_of(4);

	(void)state;
	struct report_straggler *found = play(&mixture);
	const struct collective_fold *fold = on_experts(found)->fold;
	uint64_t last = 0, calls = 0;

	assert_int_equal(fold->collectives, STEPS * 4);
	assert_int_equal(fold->complete, STEPS * 4);
	assert_int_equal(fold->by_gpu, STEPS * 4);
	assert_int_equal(fold->others, 0);
	assert_int_equal(fold->unmatched, 0);
	for (uint32_t i = 0; i < fold->nr_members; i++) {
		last += on_experts(found)->members[i].found.last;
		assert_int_equal(fold->members[i].missing, 0);
		assert_true(fold->members[i].gpu_end_ns > fold->members[i].gpu_start_ns);
	}
	assert_int_equal(last, STEPS * 4);
	for (uint32_t i = 0; i < found->folds->nr_sums; i++) {
		const struct collective_sum *sum = &found->folds->sums[i];

		if (sum->key.function == COLLECTIVE_SEND || sum->key.function == COLLECTIVE_RECV)
			calls += sum->calls;
	}
	assert_int_equal(calls, STEPS * 4 * 4 * 6);
	report_straggler_destroy(found);
}

static void the_rank_is_named_whose_expert_the_others_wait_for(void **state)
{
	struct mixture mixture = mixture_of(8);
	char line[STRAGGLER_TEXT_SIZE], *text;

	(void)state;
	mixture.late_rank = 5;
	mixture.late = 0.4;
	struct report_straggler *found = play(&mixture);

	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, 5);
	assert_int_equal(found->nr_experts, 1);
	assert_int_equal(found->experts[0].steps, STEPS);
	assert_in_range((uint64_t)(100 * found->experts[0].gpu_times), 138, 142);
	/* Tokens come to its expert, and go back: so it has (1.4 + 1) of each, the others (1 + 1 + 0.8 / 7) / 2 of both. */
	assert_in_range((uint64_t)(1000 * found->experts[0].bytes_times), 1160, 1170);
	straggler_text_line(found, line, sizeof(line));
	assert_ptr_equal(strstr(line, "late: rank 5 on node01 (without it up to "), line);
	assert_non_null(strstr(line, "; its expert took 1.4"));
	assert_non_null(strstr(
		line,
		" times the others' GPU time; slower GPU kernels (gemm, experts.py:forward): "));
	assert_true(strlen(line) <= 220);
	text_of(found, &text);
	assert_non_null(
		strstr(text, "rank 5 on node01, in exchanges of all ranks: its expert took "));
	assert_non_null(strstr(text, "\"imbalance\":false,\"rank\":5,\"steps\":60,\"wait_ns\":"));
	free(text);
	report_straggler_destroy(found);
}

/* The first one of two is not compared, and the other one is over before any exchange. */
static void a_collective_before_the_exchanges_hides_nobody(void **state)
{
	struct mixture mixture = mixture_of(8);

	(void)state;
	mixture.late_rank = 5;
	mixture.late = 0.4;
	mixture.begins_together = true;
	struct report_straggler *found = play(&mixture);

	assert_int_equal(found->nr_wrong, 0);
	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, 5);
	assert_int_equal(found->nr_experts, 1);
	report_straggler_destroy(found);
}

/* Four collectives, of which two at least are exchanges with results, are in each bucket. Ranks meet in the exchange
 * before an all_reduce, so none is late to that. */
static void exchanges_have_their_places_among_the_collectives(void **state)
{
	struct mixture mixture = mixture_of(8);
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	mixture.late_rank = 5;
	mixture.late = 0.4;
	mixture.one_communicator = true;
	struct report_straggler *found = play(&mixture);
	const struct collective_fold *fold = found->communicators[0].fold;

	assert_int_equal(found->nr_communicators, 1);
	assert_int_equal(fold->used, STEPS * 5 - 1);
	assert_int_equal(fold->shift, 2);
	for (uint32_t i = 0; i < collective_fold_buckets(fold); i++)
		for (uint32_t j = 0; j < fold->nr_members; j++)
			assert_true(j == 5 || fold->members[j].buckets[i].late_twice_ns <
						      fold->members[5].buckets[i].late_twice_ns);
	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, 5);
	straggler_text_line(found, line, sizeof(line));
	assert_non_null(strstr(line, "beyond chance by frequency"));
	assert_null(strstr(line, "in collectives"));
	report_straggler_destroy(found);
}

static void a_slow_gpu_is_no_expert_with_more_tokens(void **state)
{
	struct mixture mixture = mixture_of(8);
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	mixture.late_rank = 2;
	mixture.late = 0.4;
	mixture.same_tokens = true;
	mixture.one_call = true;
	struct report_straggler *found = play(&mixture);

	assert_int_equal(found->nr_named, 1);
	assert_int_equal(found->ranks[0].rank, 2);
	assert_int_equal(found->nr_experts, 1);
	straggler_text_line(found, line, sizeof(line));
	assert_null(strstr(line, "expert took"));
	assert_non_null(strstr(line, "; between exchanges its GPU computed 1.4"));
	report_straggler_destroy(found);
}

static void an_imbalance_that_moves_is_nobodys(void **state)
{
	struct mixture mixture = mixture_of(8);
	char line[STRAGGLER_TEXT_SIZE], *text;

	(void)state;
	mixture.wanders = true;
	mixture.late = 0.4;
	struct report_straggler *found = play(&mixture);

	assert_int_equal(found->nr_named, 0);
	assert_int_equal(found->nr_groups, 0);
	assert_int_equal(found->nr_experts, 1);
	assert_int_equal(found->experts[0].member, REPORT_STRAGGLER_NONE);
	straggler_text_line(found, line, sizeof(line));
	assert_ptr_equal(strstr(line, "late: no rank stands out beyond chance; each rank waited "),
			 line);
	assert_non_null(strstr(
		line, "; imbalance: of all ranks each time another one holds up the others, "));
	text_of(found, &text);
	assert_non_null(strstr(text, "\"imbalance\":true,\"rank\":null,\"steps\":60,"));
	assert_non_null(strstr(text, "\"gpu_times\":null,\"bytes_times\":null}"));
	free(text);
	report_straggler_destroy(found);
}

static void equal_experts_are_not_mentioned(void **state)
{
	struct mixture mixture = mixture_of(8);
	char *text;

	(void)state;
	mixture.noise = 0.01;
	struct report_straggler *found = play(&mixture);

	assert_int_equal(found->nr_named, 0);
	assert_int_equal(found->nr_experts, 0);
	text_of(found, &text);
	assert_string_equal(text, "\"pipeline\":null,\n\"experts\":[]");
	free(text);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(exchanges_of_all_ranks_are_compared),
		TEST(the_rank_is_named_whose_expert_the_others_wait_for),
		TEST(a_collective_before_the_exchanges_hides_nobody),
		TEST(exchanges_have_their_places_among_the_collectives),
		TEST(a_slow_gpu_is_no_expert_with_more_tokens),
		TEST(an_imbalance_that_moves_is_nobodys),
		TEST(equal_experts_are_not_mentioned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
