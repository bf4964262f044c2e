#include "report/straggler/report_straggler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/store/database.h"
#include "proto/host_sample.h"
#include "report/model/report_build.h"
#include "report/writers/straggler_text.h"
#include "report/writers/straggler_writer.h"
#include "straggler_fixture.h"

#define US      1000.0
#define MS      1000000.0
#define HOUR_NS 3600000000000ll

/* ---- a made training job ------------------------------------------------------------------------- */

enum plant {
	PLANT_NOTHING,
	PLANT_HOST,
	PLANT_LOADER,
	PLANT_KERNELS,
	PLANT_EXTRA,
	PLANT_EVEN,
	PLANT_PARTNER,
	PLANT_TOKENS, /* 4 ms more in a function that all have, in each second step */
	PLANT_SHARD,  /* 5 ms of sleep */
	PLANT_QUEUE,  /* no CPU is free */
};

struct training {
	uint32_t ranks, steps;
	enum plant plant;
	uint32_t late_rank;
	double noise_ms;
	double host_ms;     /* in numpy.py:resize; 0: 100 */
	double start_ms;    /* before the first step: what the late rank's host and GPU do longer */
	bool one_clock;     /* of all ranks */
	bool waits_for_gpu; /* before each collective the host waits for the kernels */
	uint64_t seed;
};

/* A rank: its clocks, its process, and the phase of its sampling clock. */
struct trainee {
	uint32_t process, correlation_id;
	int64_t host_skew_ns, gpu_offset_ns; /* of CLOCK_MONOTONIC; CLOCK_MONOTONIC - CUPTI's */
	double phase_ms;
};

static uint64_t own_clock(const struct trainee *trainee, double true_ms)
{
	return (uint64_t)(100 * HOUR_NS + trainee->host_skew_ns + (int64_t)(true_ms * MS));
}

/* Samples of a thread that runs from one time to another, 200 in a second. */
static void run_on_cpu(struct trainee *trainee, const char *stack, double from_ms, double to_ms)
{
	const double period_ms = 5;

	for (trainee->phase_ms += to_ms - from_ms; trainee->phase_ms >= period_ms;
	     trainee->phase_ms -= period_ms)
		job_sample(trainee->process, HOST_SAMPLE_CPU, stack, "", 9,
			   own_clock(trainee, to_ms - trainee->phase_ms + period_ms),
			   (uint64_t)(period_ms * MS));
}

static void wait_for(struct trainee *trainee, const char *stack, const char *reason, double from_ms,
		     double to_ms)
{
	if (to_ms > from_ms)
		job_sample(trainee->process, HOST_SAMPLE_OFF_CPU, stack, reason, 9,
			   own_clock(trainee, to_ms), (uint64_t)((to_ms - from_ms) * MS));
}

static void run_kernel(struct trainee *trainee, const char *name, const char *stack, double from_ms,
		       double ms)
{
	const struct job_kernel kernel = {
		.name = name,
		.stack = stack,
		.correlation_id = ++trainee->correlation_id,
		.tid = 9,
		.start_ns = own_clock(trainee, from_ms) - (uint64_t)trainee->gpu_offset_ns,
		.ns = (uint64_t)(ms * MS),
		.clock_offset_ns = trainee->gpu_offset_ns,
	};

	job_kernel(trainee->process, &kernel);
}

/* What only some planted faults need: tokens, a shard, and a wait for a CPU. Returns when it is done. */
static double prepare(const struct training *training, struct trainee *trainee, uint32_t step,
		      bool late, double now_ms)
{
	enum plant plant = training->plant;
	double tokens_ms = plant == PLANT_TOKENS ? 3 + (late && step % 2 == 0 ? 4 : 0) : 0;
	double shard_ms = late && plant == PLANT_SHARD ? 5 : 0;
	double queue_ms = late && plant == PLANT_QUEUE ? 6 : 0;

	run_on_cpu(trainee, "train.py:<module>;train.py:step;train.py:tokenize_batch", now_ms,
		   now_ms + tokens_ms);
	now_ms += tokens_ms;
	wait_for(trainee,
		 "train.py:<module>;train.py:load_shard;time_sleep;clock_nanosleep;"
		 "do_nanosleep_[k]",
		 "sleep", now_ms, now_ms + shard_ms);
	now_ms += shard_ms;
	wait_for(trainee, "train.py:main;train.py:augment;numpy.py:resize", "run queue", now_ms,
		 now_ms + queue_ms / 2);
	wait_for(trainee, "train.py:main;train.py:forward;cudaStreamSynchronize", "run queue",
		 now_ms + queue_ms / 2, now_ms + queue_ms);
	return now_ms + queue_ms;
}

/* A step's work up to the collective: loading, host code, two kernels. Returns when it is done. */
static double work(const struct training *training, struct trainee *trainee, uint32_t rank,
		   uint32_t step, double now_ms, uint64_t *seed)
{
	bool late = training->plant != PLANT_NOTHING && rank == training->late_rank;
	bool slow_loader = training->plant == PLANT_LOADER || training->plant == PLANT_PARTNER;
	double load_ms = 10 + (late && slow_loader ? 12 : 0);
	double host_ms = (training->host_ms > 0 ? training->host_ms : 100) *
			 (late && training->plant == PLANT_HOST ? 1.1 : 1),
	       forward_ms = 20;
	double begin_ms = now_ms;
	double gemm_ms = 30 * (late && training->plant == PLANT_KERNELS ? 1.3 : 1);

	load_ms += training->noise_ms * (0.5 + job_uniform(seed));
	host_ms += training->noise_ms * job_normal(seed);
	wait_for(trainee, "train.py:main;loader.py:next;poll;do_poll_[k]", "poll", now_ms,
		 now_ms + load_ms);
	now_ms += load_ms;
	now_ms = prepare(training, trainee, step, late, now_ms);
	run_on_cpu(trainee, "train.py:main;train.py:forward", now_ms, now_ms + forward_ms);
	now_ms += forward_ms;
	run_on_cpu(trainee, "train.py:main;train.py:augment;numpy.py:resize", now_ms,
		   now_ms + host_ms);
	now_ms += host_ms;
	/* Another thread that the loading of data keeps waiting, too, and in the same measure. */
	double partner_ms = training->plant == PLANT_PARTNER ? load_ms / 3 : 0;
	wait_for(trainee, "train.py:main;queue.py:put;futex_wait_[k]", "futex", now_ms,
		 now_ms + partner_ms);
	now_ms += partner_ms;
	/* What the others do not do at all, or less, and what it calls. */
	double spin_ms = training->plant == PLANT_EVEN            ? (late ? 20 : 8)
			 : late && training->plant == PLANT_EXTRA ? 12
								  : 0;
	for (int i = 0; spin_ms > 0 && i < 3; i++) {
		static const char *const stacks[] = {
			"train.py:main;train.py:spin;time.py:now;clock_gettime",
			"train.py:main;train.py:spin;time.py:seconds",
			"train.py:main;train.py:spin"};
		run_on_cpu(trainee, stacks[i], now_ms, now_ms + spin_ms / 3);
		now_ms += spin_ms / 3;
	}
	/* The thread of the backward pass, which launches later, waits for all that: as long as it takes, and no cause
	 * of it. */
	wait_for(trainee, "engine.cpp:thread_main;libc.so.6+0x98e51;futex_wait_[k]", "futex",
		 begin_ms, now_ms);
	run_kernel(trainee, "gemm", "train.py:main;train.py:forward;cudaLaunchKernel", now_ms,
		   gemm_ms);
	run_kernel(trainee, "softmax", "train.py:main;train.py:forward;cudaLaunchKernel",
		   now_ms + gemm_ms, 5);
	/* It polls at first, and sleeps then. */
	if (training->waits_for_gpu) {
		run_on_cpu(trainee, "train.py:main;train.py:loss;cudaEventQuery;poll", now_ms,
			   now_ms + gemm_ms / 2);
		wait_for(trainee, "train.py:main;train.py:loss;cudaEventSynchronize;poll", "poll",
			 now_ms + gemm_ms / 2, now_ms + gemm_ms + 5);
	}
	return now_ms + gemm_ms + 5;
}

static void communicate(struct trainee *trainee, uint32_t step, double start_ms, double end_ms)
{
	const struct collective call =
		job_all_reduce(1, step + 1, trainee->correlation_id + 1,
			       own_clock(trainee, start_ms - 0.1), (uint64_t)(20 * US));

	job_call(trainee->process, &call);
	run_kernel(trainee, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
		   "train.py:main;train.py:backward;cudaLaunchKernelExC", start_ms,
		   end_ms - start_ms);
	wait_for(trainee, "train.py:main;train.py:backward;cudaStreamSynchronize", "futex",
		 start_ms, end_ms);
}

/* Imports, waits for files, and kernels that are tried out: the late rank's take start_ms longer. */
static double start(const struct training *training, struct trainee *trainees)
{
	for (uint32_t i = 0; i < training->ranks; i++) {
		double ms = 1000 + (i == training->late_rank ? training->start_ms : 0);

		run_on_cpu(&trainees[i], "train.py:<module>;torch.py:<module>", 0, ms);
		wait_for(&trainees[i], "train.py:<module>;torch.py:<module>;read", "io", ms,
			 2 * ms);
		run_kernel(&trainees[i], "tune", "train.py:<module>;cudaLaunchKernel", 2 * ms, ms);
	}
	return 3 * (1000 + training->start_ms);
}

static void train(const struct training *training)
{
	uint64_t seed = training->seed;
	struct trainee *trainees = calloc(training->ranks, sizeof(*trainees));
	double *ready = calloc(training->ranks, sizeof(*ready)), now_ms = 0;

	for (uint32_t i = 0; i < training->ranks; i++) {
		trainees[i] = (struct trainee){
			.process = job_process((int32_t)i),
			.host_skew_ns = training->one_clock
						? 0
						: (int64_t)((job_uniform(&seed) - 0.5) * 10e9),
			.gpu_offset_ns = -50 * HOUR_NS + (int64_t)(job_uniform(&seed) * 1e9),
			.phase_ms = 5 * job_uniform(&seed),
		};
		job_communicator(trainees[i].process, 1, 0xfeed, i, training->ranks);
	}
	if (training->start_ms > 0)
		now_ms = start(training, trainees);
	for (uint32_t step = 0; step < training->steps; step++) {
		double last = 0;

		for (uint32_t i = 0; i < training->ranks; i++) {
			ready[i] = work(training, &trainees[i], i, step, now_ms, &seed);
			last = ready[i] > last ? ready[i] : last;
		}
		for (uint32_t i = 0; i < training->ranks; i++)
			communicate(&trainees[i], step, ready[i], last + 3);
		now_ms = last + 3;
	}
	job_commit();
	free(trainees);
	free(ready);
}

/* ---- what is said of it -------------------------------------------------------------------------- */

static const struct straggler_cause *first_cause(const struct report_straggler *found,
						 const struct training *training)
{
	char line[STRAGGLER_TEXT_SIZE];

	if (found->nr_named != 1 || found->ranks[0].rank != (int32_t)training->late_rank ||
	    !found->ranks[0].nr_causes)
		fail_msg("%s", straggler_text_line(found, line, sizeof(line)));
	assert_int_equal(found->ranks[0].scope.extent, STRAGGLER_LATE);
	return &found->ranks[0].causes[0];
}

static void assert_share(const struct straggler_cause *cause, double low, double high)
{
	if (cause->share < low || cause->share > high)
		fail_msg("%s in %s explains %.3f", cause->what, cause->function, cause->share);
}

static void each_way(enum plant plant, void (*check)(const struct straggler_cause *cause,
						     const struct training *training))
{
	for (int way = 0; way < 2; way++) {
		const struct training training = {.ranks = way % 2 ? 16 : 8,
						  .steps = 150,
						  .plant = plant,
						  .late_rank = way % 2 ? 11 : 3,
						  .noise_ms = 1,
						  .seed = 17 + (uint64_t)way};
		void *state = NULL;

		if (way > 0)
			assert_int_equal(job_set_up(&state), 0);
		train(&training);
		struct report_straggler *found = job_straggler();
		check(first_cause(found, &training), &training);
		report_straggler_destroy(found);
		if (way < 1)
			assert_int_equal(job_tear_down(&state), 0);
	}
}

static void check_host(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_CPU);
	assert_int_equal(cause->extent, STRAGGLER_LATE);
	assert_true(cause->excess_ns > 8500000 && cause->excess_ns < 11500000);
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "host code (numpy.py:resize)");
	assert_share(cause, 0.85, 1.15);
}

static void check_extra(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_CPU);
	assert_true(cause->excess_ns > 10000000 && cause->excess_ns < 14000000);
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "host code (train.py:spin)");
	assert_share(cause, 0.8, 1.2);
}

static void check_loader(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_OFF_CPU);
	assert_true(cause->excess_ns > 11000000 && cause->excess_ns < 13000000);
	assert_string_equal(cause->what, "poll");
	assert_string_equal(cause->function, "loader.py:next");
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "waits (poll, loader.py:next)");
	assert_string_equal(cause->stack,
			    "train.py:main;loader.py:next;poll;do_poll_[k];[Off-CPU]poll");
	assert_share(cause, 0.9, 1.1);
}

static void check_partner(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_OFF_CPU);
	assert_true(cause->excess_ns > 11000000 && cause->excess_ns < 13000000);
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "waits (poll, loader.py:next)");
	assert_share(cause, 0.65, 0.85);
}

static void check_kernels(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_GPU);
	assert_int_equal(cause->excess_ns, 9000000);
	assert_false(cause->more);
	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)),
			    "slower GPU kernels (gemm, train.py:forward)");
	assert_share(cause, 0.85, 1.15);
}

static void slower_host_code_is_named_with_its_function(void **state)
{
	(void)state;
	each_way(PLANT_HOST, check_host);
}

static void a_function_of_its_own_is_named_whatever_it_calls(void **state)
{
	(void)state;
	each_way(PLANT_EXTRA, check_extra);
}

static void a_function_all_of_which_takes_longer_is_named(void **state)
{
	(void)state;
	each_way(PLANT_EVEN, check_extra);
}

static void a_slow_loader_is_named_with_its_wait(void **state)
{
	(void)state;
	each_way(PLANT_LOADER, check_loader);
}

static void waits_for_another_thread_are_no_part_of_other_waits(void **state)
{
	(void)state;
	each_way(PLANT_PARTNER, check_partner);
}

static void slower_kernels_are_named(void **state)
{
	(void)state;
	each_way(PLANT_KERNELS, check_kernels);
}

/* The start takes longer than all that makes the rank late. */
static void check_after_start(struct training training, const char *cause, double low, double high)
{
	char text[STRAGGLER_TEXT_SIZE];

	training.ranks = 8;
	training.steps = 300;
	training.late_rank = 3;
	training.noise_ms = 0.3;
	training.host_ms = 20;
	training.start_ms = 20000;
	train(&training);
	struct report_straggler *found = job_straggler();
	const struct straggler_cause *first = first_cause(found, &training);
	assert_string_equal(straggler_text_cause(first, text, sizeof(text)), cause);
	assert_share(first, low, high);
	/* What is left over is an effect, or small. */
	for (uint32_t i = 1; i < found->ranks[0].nr_causes; i++)
		assert_true(first[i].is_effect || first[i].share < 0.25);
	report_straggler_destroy(found);
}

static void a_function_that_takes_longer_in_some_steps_is_named_and_not_its_module(void **state)
{
	(void)state;
	check_after_start((struct training){.plant = PLANT_TOKENS, .seed = 5},
			  "host code (train.py:tokenize_batch)", 0.7, 1.3);
}

static void a_sleep_is_named_with_its_function_and_not_the_imports(void **state)
{
	(void)state;
	check_after_start((struct training){.plant = PLANT_SHARD, .seed = 6},
			  "waits (sleep, train.py:load_shard)", 0.9, 1.1);
}

static void time_in_the_run_queue_is_one_cause(void **state)
{
	(void)state;
	check_after_start((struct training){.plant = PLANT_QUEUE, .seed = 7},
			  "no free CPU (run queue)", 0.9, 1.1);
}

static void execute(const char *sql)
{
	struct database *database;

	assert_int_equal(database_open(job_path(), false, &database, NULL), 0);
	assert_int_equal(database_execute(database, sql), 0);
	database_close(database);
}

/* As a long run, whose ranks keep a half or a quarter of their times: the same quarter is compared. */
static void only_times_that_all_ranks_have_kept_are_compared(void **state)
{
	char text[STRAGGLER_TEXT_SIZE];
	const struct training training = {.ranks = 8,
					  .steps = 1200,
					  .plant = PLANT_SHARD,
					  .late_rank = 3,
					  .noise_ms = 0.3,
					  .host_ms = 20,
					  .one_clock = true,
					  .seed = 9};

	(void)state;
	train(&training);
	execute("INSERT INTO sample_levels SELECT id, 1 + id % 2 FROM processes;"
		"DELETE FROM sample_blocks WHERE level < 1 + process % 2");
	struct report_straggler *found = job_straggler();
	const struct straggler_cause *first = first_cause(found, &training);
	assert_string_equal(straggler_text_cause(first, text, sizeof(text)),
			    "waits (sleep, train.py:load_shard)");
	assert_share(first, 0.8, 1.2);
	report_straggler_destroy(found);
}

static void waits_for_the_own_gpu_are_no_cause(void **state)
{
	char text[STRAGGLER_TEXT_SIZE];
	const struct training training = {.ranks = 8,
					  .steps = 300,
					  .plant = PLANT_KERNELS,
					  .late_rank = 3,
					  .noise_ms = 0.3,
					  .waits_for_gpu = true,
					  .seed = 8};

	(void)state;
	train(&training);
	struct report_straggler *found = job_straggler();
	const struct straggler_cause *first = first_cause(found, &training);
	assert_string_equal(straggler_text_cause(first, text, sizeof(text)),
			    "slower GPU kernels (gemm, train.py:forward)");
	assert_int_equal(found->ranks[0].nr_causes, 1);
	report_straggler_destroy(found);
}

static void in_twenty_runs_of_equal_ranks_none_is_named(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct training training = {.ranks = 8,
						  .steps = 60,
						  .noise_ms = seed % 2 ? 1 : 15,
						  .seed = seed * 1009};

		if (seed > 1)
			assert_int_equal(job_set_up(state), 0);
		train(&training);
		struct report_straggler *found = job_straggler();
		assert_int_equal(found->nr_named, 0);
		assert_int_equal(found->nr_ranks, 8);
		assert_int_equal(found->communicators[0].fold->used, 60);
		assert_int_equal(found->communicators[0].fold->by_gpu, 60);
		report_straggler_destroy(found);
		if (seed < 20)
			assert_int_equal(job_tear_down(state), 0);
	}
}

static void every_format_says_who_and_why(void **state)
{
	const struct training training = {.ranks = 8,
					  .steps = 80,
					  .plant = PLANT_KERNELS,
					  .late_rank = 5,
					  .noise_ms = 1,
					  .seed = 4};
	char *text = NULL;
	size_t size;

	(void)state;
	train(&training);
	struct report_straggler *found = job_straggler();
	struct profile *profile = job_profile();
	struct report_tree *tree;
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_table(out, found, tree, 0, false), 0);
	fflush(out);
	assert_null(strstr(text, "feed"));
	assert_null(strstr(text, "chance of equal ranks"));
	assert_int_equal(straggler_writer_table(out, found, tree, 0, true), 0);
	assert_int_equal(straggler_writer_json(out, found, tree), 0);
	assert_int_equal(straggler_writer_csv(out, found, tree), 0);
	fclose(out);
	assert_non_null(strstr(text, "\nranks 0-7        8 of 8           80   100.00%"));
	assert_non_null(strstr(text, "\ncommunicator  key                   ranks  collectives"));
	assert_non_null(
		strstr(text, "\nranks 0-7     000000000000feed     8 of 8           80   1"));
	assert_non_null(
		strstr(text, "rank 5 on node01 is late in collectives of ranks 0-7, where "));
	assert_non_null(strstr(text, "\n  chance of equal ranks: "));
	assert_non_null(strstr(text, " collectives of ranks 0-7; each other rank waited "));
	assert_non_null(
		strstr(text, "{\"communicator\":\"000000000000feed\",\"name\":\"ranks 0-7\","));
	assert_non_null(strstr(text, ",ground,name\n"));
	assert_non_null(strstr(text, ",frequency,ranks 0-7\n"));
	assert_non_null(strstr(text, "\nlate: rank 5 on node01 (last in "));
	assert_non_null(strstr(text, "slower GPU kernels (gemm, train.py:forward)\n"));
	assert_non_null(strstr(text,
			       "\"cause\":\"slower GPU kernels (gemm, train.py:forward)\","
			       "\"plane\":\"gpu\",\"function\":\"train.py:forward\",\"what\":"
			       "\"gemm\",\"stack\":\"train.py:main;train.py:forward;"
			       "cudaLaunchKernel;[GPU?_Kernel]gemm\",\"excess_ns\":9000000,"));
	assert_non_null(strstr(text, "\n# late: rank 5 on node01 (last in "));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(slower_host_code_is_named_with_its_function),
		TEST(a_function_of_its_own_is_named_whatever_it_calls),
		TEST(a_function_all_of_which_takes_longer_is_named),
		TEST(a_slow_loader_is_named_with_its_wait),
		TEST(waits_for_another_thread_are_no_part_of_other_waits),
		TEST(slower_kernels_are_named),
		TEST(a_function_that_takes_longer_in_some_steps_is_named_and_not_its_module),
		TEST(a_sleep_is_named_with_its_function_and_not_the_imports),
		TEST(time_in_the_run_queue_is_one_cause),
		TEST(only_times_that_all_ranks_have_kept_are_compared),
		TEST(waits_for_the_own_gpu_are_no_cause),
		TEST(in_twenty_runs_of_equal_ranks_none_is_named),
		TEST(every_format_says_who_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
