#include "aggregator/report_straggler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/report_build.h"
#include "aggregator/straggler_writer.h"
#include "proto/host_sample.h"
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
	PLANT_PARTNER
};

struct training {
	uint32_t ranks, steps;
	enum plant plant;
	uint32_t late_rank;
	double noise_ms;
	bool keep_samples;
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

/* Samples of a thread that runs from one time to another, 100 in a second. */
static void run_on_cpu(struct trainee *trainee, const char *stack, double from_ms, double to_ms)
{
	const double period_ms = 10;

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

/* A step's work up to the collective: loading, host code, two kernels. Returns when it is done. */
static double work(const struct training *training, struct trainee *trainee, uint32_t rank,
		   double now_ms, uint64_t *seed)
{
	bool late = training->plant != PLANT_NOTHING && rank == training->late_rank;
	bool slow_loader = training->plant == PLANT_LOADER || training->plant == PLANT_PARTNER;
	double load_ms = 10 + (late && slow_loader ? 12 : 0);
	double host_ms = 100 * (late && training->plant == PLANT_HOST ? 1.1 : 1), forward_ms = 20;
	double begin_ms = now_ms;
	double gemm_ms = 30 * (late && training->plant == PLANT_KERNELS ? 1.3 : 1);

	load_ms += training->noise_ms * (0.5 + job_uniform(seed));
	host_ms += training->noise_ms * job_normal(seed);
	wait_for(trainee, "train.py:main;loader.py:next;poll;do_poll_[k]", "poll", now_ms,
		 now_ms + load_ms);
	now_ms += load_ms;
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
	/* The thread of the backward pass, which launches later, waits for all that: as long as it takes, and no cause of it. */
	wait_for(trainee, "engine.cpp:thread_main;libc.so.6+0x98e51;futex_wait_[k]", "futex",
		 begin_ms, now_ms);
	run_kernel(trainee, "gemm", "train.py:main;train.py:forward;cudaLaunchKernel", now_ms,
		   gemm_ms);
	run_kernel(trainee, "softmax", "train.py:main;train.py:forward;cudaLaunchKernel",
		   now_ms + gemm_ms, 5);
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

static void train(const struct training *training)
{
	uint64_t seed = training->seed;
	struct trainee *trainees = calloc(training->ranks, sizeof(*trainees));
	double *ready = calloc(training->ranks, sizeof(*ready)), now_ms = 0;

	if (training->keep_samples)
		job_keep_samples();
	for (uint32_t i = 0; i < training->ranks; i++) {
		trainees[i] = (struct trainee){
			.process = job_process((int32_t)i),
			.host_skew_ns = (int64_t)((job_uniform(&seed) - 0.5) * 10e9),
			.gpu_offset_ns = -50 * HOUR_NS + (int64_t)(job_uniform(&seed) * 1e9),
			.phase_ms = 10 * job_uniform(&seed),
		};
		job_communicator(trainees[i].process, 1, 0xfeed, i, training->ranks);
	}
	for (uint32_t step = 0; step < training->steps; step++) {
		double last = 0;

		for (uint32_t i = 0; i < training->ranks; i++) {
			ready[i] = work(training, &trainees[i], i, now_ms, &seed);
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

static struct report_straggler *report(void)
{
	struct profile *profile = job_profile();
	struct collective_log *log = job_collectives();
	struct report_straggler *found;

	assert_int_equal(report_straggler_create(profile, job_path(), log, &found), 0);
	collective_log_destroy(log);
	profile_destroy(profile);
	return found;
}

static const struct straggler_cause *first_cause(const struct report_straggler *found,
						 const struct training *training)
{
	char line[STRAGGLER_WRITER_LINE_SIZE];

	if (found->nr_named != 1 || found->ranks[0].rank != (int32_t)training->late_rank ||
	    !found->ranks[0].nr_causes)
		fail_msg("%s", straggler_writer_line(found, line, sizeof(line)));
	assert_int_equal(found->ranks[0].scope.in_windows, training->keep_samples);
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
	for (int way = 0; way < 4; way++) {
		const struct training training = {.ranks = way % 2 ? 16 : 8,
						  .steps = 150,
						  .plant = plant,
						  .late_rank = way % 2 ? 11 : 3,
						  .noise_ms = 1,
						  .keep_samples = way >= 2,
						  .seed = 17 + (uint64_t)way};
		void *state = NULL;

		if (way > 0)
			assert_int_equal(job_set_up(&state), 0);
		train(&training);
		struct report_straggler *found = report();
		check(first_cause(found, &training), &training);
		report_straggler_destroy(found);
		if (way < 3)
			assert_int_equal(job_tear_down(&state), 0);
	}
}

static void check_host(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_CPU);
	assert_true(cause->excess_ns > 8500000 && cause->excess_ns < 11500000);
	assert_string_equal(straggler_writer_cause(cause, text, sizeof(text)),
			    "host code (numpy.py:resize)");
	assert_share(cause, 0.85, 1.15);
}

static void check_extra(const struct straggler_cause *cause, const struct training *training)
{
	char text[256];

	(void)training;
	assert_int_equal(cause->plane, REPORT_PLANE_CPU);
	assert_true(cause->excess_ns > 10000000 && cause->excess_ns < 14000000);
	assert_string_equal(straggler_writer_cause(cause, text, sizeof(text)),
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
	assert_string_equal(straggler_writer_cause(cause, text, sizeof(text)),
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
	assert_string_equal(straggler_writer_cause(cause, text, sizeof(text)),
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
	assert_string_equal(straggler_writer_cause(cause, text, sizeof(text)),
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
		struct report_straggler *found = report();
		assert_int_equal(found->nr_named, 0);
		assert_int_equal(found->nr_ranks, 8);
		assert_int_equal(found->communicators[0].used, 60);
		assert_int_equal(found->communicators[0].by_gpu, 60);
		report_straggler_destroy(found);
		if (seed < 20)
			assert_int_equal(job_tear_down(state), 0);
	}
}

/* ---- matching ------------------------------------------------------------------------------------ */

static void call_ranks(uint32_t communicator, uint64_t sequence, const uint32_t *processes,
		       uint32_t count, const uint64_t *durations)
{
	for (uint32_t i = 0; i < count; i++) {
		/* Clocks that are hours apart, and the other way round. */
		const struct collective call = job_all_reduce(
			communicator, sequence, 0,
			(uint64_t)(count - i) * 7 * HOUR_NS + 1000 * sequence, durations[i]);

		if (durations[i])
			job_call(processes[i], &call);
	}
}

static void begin(uint32_t *processes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 50, i, count);
	}
}

static void what_is_missing_is_counted_and_named(void **state)
{
	static const uint64_t all[] = {10, 40, 30}, two[] = {10, 0, 30}, one[] = {0, 0, 30};
	uint32_t processes[3];
	char *text = NULL;
	size_t size;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 50, i, 4);
	}
	call_ranks(1, 1, processes, 3, all);
	call_ranks(1, 2, processes, 3, two);
	call_ranks(1, 4, processes, 3, all);
	call_ranks(1, 7, processes, 3, one);
	call_ranks(1, 7, processes, 3, one);
	job_commit();
	struct report_straggler *found = report();
	const struct report_straggler_communicator *of = &found->communicators[0];

	assert_int_equal(found->nr_communicators, 1);
	assert_int_equal(of->nr_members, 3);
	assert_int_equal(of->nr_ranks, 4);
	assert_int_equal(of->collectives, 4);
	assert_int_equal(of->complete, 0);
	assert_int_equal(of->used, 2);
	assert_int_equal(of->by_gpu, 0);
	assert_int_equal(of->duplicates, 1);
	assert_int_equal(of->members[0].missing, 1);
	assert_int_equal(of->members[1].missing, 2);
	assert_int_equal(of->members[2].missing, 0);
	assert_int_equal(of->members[0].found.last, 2);
	assert_int_equal(of->members[0].found.others_ns, 100);
	/* From 1000 on to 4000 and the last one's duration. */
	assert_int_equal(of->members[1].span_ns, 3040);
	assert_int_equal(of->span_ns, 3030);

	struct profile *profile = job_profile();
	struct report_tree *tree;
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_table(out, found, tree, 0), 0);
	assert_int_equal(straggler_writer_csv(out, found, tree), 0);
	fclose(out);
	assert_non_null(strstr(text, "; not here: rank 3; missing: rank 0 in 1, rank 1 in 2; 1 "
				     "twice\n"));
	assert_non_null(strstr(text, "\nlate: no rank, beyond chance\n"));
	assert_non_null(strstr(text, "\n0000000000000032,profiler,4,0,0,node01,1001,4,0,2,0,1,3030,"
				     "2,100,0,20,25,"));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
	report_straggler_destroy(found);
}

static void sends_and_what_has_a_root_are_left_out(void **state)
{
	static const uint64_t all[] = {10, 40};
	uint32_t processes[2];

	(void)state;
	begin(processes, 2);
	call_ranks(1, 1, processes, 2, all);
	/* Rank 0 alone sends: its next sequence is another than rank 1's, the all_reduce's own number is not. */
	struct collective call = job_all_reduce(1, 2, 0, 5000, 1);
	call.function = COLLECTIVE_SEND;
	call.function_sequence = 1;
	job_call(processes[0], &call);
	call = job_all_reduce(1, 3, 0, 6000, 25);
	call.function_sequence = 2;
	job_call(processes[0], &call);
	call = job_all_reduce(1, 2, 0, 6000, 5);
	job_call(processes[1], &call);
	for (uint32_t i = 0; i < 2; i++) {
		call = job_all_reduce(1, 4 - i, 0, 7000, 100 - i);
		call.function = COLLECTIVE_BROADCAST;
		call.function_sequence = 1;
		job_call(processes[i], &call);
	}
	job_commit();
	struct report_straggler *found = report();
	const struct report_straggler_communicator *of = &found->communicators[0];

	assert_int_equal(of->collectives, 2);
	assert_int_equal(of->complete, 2);
	assert_int_equal(of->used, 2);
	assert_int_equal(of->others, 3);
	assert_int_equal(of->members[0].found.others_ns, 30);
	assert_int_equal(of->members[1].found.others_ns, 20);
	report_straggler_destroy(found);
}

static void a_group_in_one_kernel_counts_once(void **state)
{
	uint32_t processes[2];

	(void)state;
	begin(processes, 2);
	for (uint32_t i = 0; i < 2; i++) {
		for (uint64_t sequence = 1; sequence <= 4; sequence++) {
			struct collective call = job_all_reduce(1, sequence, sequence < 4 ? 5 : 0,
								1000 * sequence, 10 + i);

			call.group = 1;
			job_call(processes[i], &call);
		}
		const struct job_kernel kernel = {.name = "ncclDevKernel_A",
						  .correlation_id = 5,
						  .start_ns = 9000,
						  .ns = 700 + 100 * i,
						  .clock_unknown = true};
		job_kernel(processes[i], &kernel);
	}
	job_commit();
	struct report_straggler *found = report();
	const struct report_straggler_communicator *of = &found->communicators[0];

	assert_int_equal(of->collectives, 4);
	assert_int_equal(of->used, 1);
	assert_int_equal(of->by_gpu, 1);
	assert_int_equal(of->joint, 2);
	assert_int_equal(of->grouped, 1);
	assert_int_equal(of->members[0].found.others_ns, 100);
	report_straggler_destroy(found);
}

/* Four ranks, in pairs, and pairs of the pairs: rank 3 is late in its own, and makes its partner late in the other. */
static void communicators_are_looked_at_one_by_one(void **state)
{
	uint32_t processes[4];

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 100 + i / 2, i % 2, 2);
		job_communicator(processes[i], 2, 200 + i % 2, i / 2, 2);
	}
	for (uint64_t sequence = 1; sequence <= 40; sequence++)
		for (uint32_t i = 0; i < 4; i++) {
			const struct collective inner =
				job_all_reduce(1, sequence, 0, 1000 * sequence,
					       i == 2 ? 300 : 100 + (sequence + i) % 2);
			const struct collective outer =
				job_all_reduce(2, sequence, 0, 1000 * sequence + 500,
					       i < 2 ? 200 : 100 + (sequence + i) % 2);

			job_call(processes[i], &inner);
			job_call(processes[i], &outer);
		}
	job_commit();
	struct report_straggler *found = report();

	assert_int_equal(found->nr_communicators, 4);
	assert_int_equal(found->nr_ranks, 4);
	assert_int_equal(found->nr_named, 2);
	assert_int_equal(found->ranks[0].rank, 3);
	assert_int_equal(found->ranks[0].named, 2);
	assert_int_equal(found->ranks[1].rank, 2);
	assert_int_equal(found->ranks[1].named, 1);
	assert_int_equal(found->communicators[found->ranks[0].communicator].key, 101);
	report_straggler_destroy(found);
}

static void what_is_not_known_is_said(void **state)
{
	static const uint64_t all[] = {10, 40};
	uint32_t processes[2];
	char line[STRAGGLER_WRITER_LINE_SIZE];

	(void)state;
	begin(processes, 2);
	job_communicator(processes[0], 2, 0, 0, 2);
	job_communicator(processes[0], 3, 99, 0, 2);
	call_ranks(2, 1, processes, 1, all);
	call_ranks(3, 1, processes, 1, all);
	job_commit();
	struct report_straggler *found = report();

	assert_int_equal(found->nr_communicators, 0);
	assert_int_equal(found->nr_alone, 1);
	assert_int_equal(found->unknown, 1);
	assert_string_equal(straggler_writer_line(found, line, sizeof(line)),
			    "late: not known: no collective of which all ranks are here");
	report_straggler_destroy(found);
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
	struct report_straggler *found = report();
	struct profile *profile = job_profile();
	struct report_tree *tree;
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_table(out, found, tree, 0), 0);
	assert_int_equal(straggler_writer_json(out, found, tree), 0);
	assert_int_equal(straggler_writer_csv(out, found, tree), 0);
	fclose(out);
	assert_non_null(strstr(text, "000000000000feed     8 of 8           80   100.00%"));
	assert_non_null(strstr(text, "rank 5 on node01 is late on 000000000000feed: by "));
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
		TEST(in_twenty_runs_of_equal_ranks_none_is_named),
		TEST(what_is_missing_is_counted_and_named),
		TEST(sends_and_what_has_a_root_are_left_out),
		TEST(a_group_in_one_kernel_counts_once),
		TEST(communicators_are_looked_at_one_by_one),
		TEST(what_is_not_known_is_said),
		TEST(every_format_says_who_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
