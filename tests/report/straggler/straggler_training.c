#include "straggler_training.h"

#include <stdio.h>
#include <stdlib.h>

#include "straggler_fixture.h"
#include "straggler_trainee.h"

#define US 1000.0
#define MS 1000000.0

/* What only some planted faults need: tokens, a shard, and a wait for a CPU. Returns when it is done. */
static double prepare(const struct training *training, struct trainee *trainee, uint32_t step,
		      bool late, double now_ms)
{
	enum training_plant plant = training->plant;
	double tokens_ms = plant == TRAINING_TOKENS ? 3 + (late && step % 2 == 0 ? 4 : 0) : 0;
	double shard_ms = !late || plant != TRAINING_SHARD ? 0
			  : training->shard_ms > 0         ? training->shard_ms
							   : 5;
	double queue_ms = late && plant == TRAINING_QUEUE ? 6 : 0;

	trainee_runs(trainee, "train.py:<module>;train.py:step;train.py:tokenize_batch", now_ms,
		     now_ms + tokens_ms);
	now_ms += tokens_ms;
	trainee_waits(trainee,
		      "train.py:<module>;train.py:load_shard;time_sleep;clock_nanosleep;"
		      "do_nanosleep_[k]",
		      "sleep", now_ms, now_ms + shard_ms);
	now_ms += shard_ms;
	trainee_waits(trainee, "train.py:main;train.py:augment;numpy.py:resize", "run queue",
		      now_ms, now_ms + queue_ms / 2);
	trainee_waits(trainee, "train.py:main;train.py:forward;cudaStreamSynchronize", "run queue",
		      now_ms + queue_ms / 2, now_ms + queue_ms);
	return now_ms + queue_ms;
}

static bool is_late_rank(const struct training *training, uint32_t rank)
{
	const uint32_t width = training->ranks_per_host ? training->ranks_per_host : 1;

	return rank / width == training->late_rank / width;
}

/* Launches gemm, whole or divided. */
static void multiply(const struct training *training, struct trainee *trainee, double now_ms,
		     double gemm_ms)
{
	static const char stack[] = "train.py:main;train.py:forward;cudaLaunchKernel";

	if (!training->kernels)
		trainee_kernel(trainee, "gemm", stack, now_ms, gemm_ms);
	for (uint32_t i = 0; i < training->kernels; i++) {
		const double ms = gemm_ms / training->kernels;
		char name[16];

		snprintf(name, sizeof(name), "gemm_%u", i);
		trainee_kernel(trainee, name, stack, now_ms + i * ms, ms);
	}
}

/* A step's work up to the collective: loading, host code, two kernels. Returns when it is done. */
static double work(const struct training *training, struct trainee *trainee, uint32_t rank,
		   uint32_t step, double now_ms, uint64_t *seed)
{
	bool late =
		training->plant != TRAINING_NOTHING && is_late_rank(training, rank) &&
		(training->late_to == 0 ||
		 (step >= training->late_from && step < training->late_to)) &&
		(training->late_each == 0 || step % training->late_each == training->late_each / 2);
	bool slow_loader =
		training->plant == TRAINING_LOADER || training->plant == TRAINING_PARTNER;
	double load_ms = 10 + (late && slow_loader ? 12 : 0);
	double host_ms = (training->host_ms > 0 ? training->host_ms : 100) *
			 (late && training->plant == TRAINING_HOST ? 1.1 : 1),
	       forward_ms = 20;
	double begin_ms = now_ms;
	double gemm_ms = 30;

	if (late && training->plant == TRAINING_KERNELS)
		gemm_ms += training->shard_ms > 0 ? training->shard_ms : 9;

	if (training->gemm_noise_ms > 0)
		gemm_ms += training->gemm_noise_ms * job_normal(seed);
	load_ms += training->noise_ms * (0.5 + job_uniform(seed));
	host_ms += training->noise_ms * job_normal(seed);
	trainee_waits(trainee, "train.py:main;loader.py:next;poll;do_poll_[k]", "poll", now_ms,
		      now_ms + load_ms);
	now_ms += load_ms;
	now_ms = prepare(training, trainee, step, late, now_ms);
	trainee_runs(trainee, "train.py:main;train.py:forward", now_ms, now_ms + forward_ms);
	now_ms += forward_ms;
	trainee_runs(trainee, "train.py:main;train.py:augment;numpy.py:resize", now_ms,
		     now_ms + host_ms);
	now_ms += host_ms;
	/* Another thread that the loading of data keeps waiting, too, and in the same measure. */
	double partner_ms = training->plant == TRAINING_PARTNER ? load_ms / 3 : 0;
	trainee_waits(trainee, "train.py:main;queue.py:put;futex_wait_[k]", "futex", now_ms,
		      now_ms + partner_ms);
	now_ms += partner_ms;
	/* What the others do not do at all, or less, and what it calls. */
	double spin_ms = training->plant == TRAINING_EVEN            ? (late ? 20 : 8)
			 : late && training->plant == TRAINING_EXTRA ? 12
								     : 0;
	for (int i = 0; spin_ms > 0 && i < 3; i++) {
		static const char *const stacks[] = {
			"train.py:main;train.py:spin;time.py:now;clock_gettime",
			"train.py:main;train.py:spin;time.py:seconds",
			"train.py:main;train.py:spin"};
		trainee_runs(trainee, stacks[i], now_ms, now_ms + spin_ms / 3);
		now_ms += spin_ms / 3;
	}
	if (training->plant == TRAINING_FAULTS) {
		double faults_ms = late ? 15 : 3;

		trainee_runs(trainee,
			     "train.py:main;train.py:augment;numpy.py:resize;"
			     "asm_exc_page_fault_[k];exc_page_fault_[k];clear_page_erms_[k]",
			     now_ms, now_ms + faults_ms);
		now_ms += faults_ms;
	}
	/* The thread of the backward pass, which launches later, waits for all that: as long as it takes, and no cause
	 * of it. */
	trainee_waits(trainee, "engine.cpp:thread_main;libc.so.6+0x98e51;futex_wait_[k]", "futex",
		      begin_ms, now_ms);
	multiply(training, trainee, now_ms, gemm_ms);
	trainee_kernel(trainee, "softmax", "train.py:main;train.py:forward;cudaLaunchKernel",
		       now_ms + gemm_ms, 5);
	/* It polls at first, and sleeps then. */
	if (training->waits_for_gpu) {
		trainee_runs(trainee, "train.py:main;train.py:loss;cudaEventQuery;poll", now_ms,
			     now_ms + gemm_ms / 2);
		trainee_waits(trainee, "train.py:main;train.py:loss;cudaEventSynchronize;poll",
			      "poll", now_ms + gemm_ms / 2, now_ms + gemm_ms + 5);
	}
	if (training->waits_for_room)
		trainee_waits(trainee, "clock_nanosleep", "sleep", now_ms, now_ms + 2 * gemm_ms);
	return now_ms + gemm_ms + 5;
}

static void communicate(struct trainee *trainee, uint32_t step, double start_ms, double end_ms)
{
	const struct collective call =
		job_all_reduce(1, step + 1, trainee->correlation_id + 1,
			       trainee_clock(trainee, start_ms - 0.1), (uint64_t)(20 * US));

	job_call(trainee->process, &call);
	trainee_kernel(trainee, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
		       "train.py:main;train.py:backward;cudaLaunchKernelExC", start_ms,
		       end_ms - start_ms);
	trainee_waits(trainee, "train.py:main;train.py:backward;cudaStreamSynchronize", "futex",
		      start_ms, end_ms);
}

/* Imports, waits for files, and kernels that are tried out: the late rank's take start_ms longer. */
static double start(const struct training *training, struct trainee *trainees)
{
	for (uint32_t i = 0; i < training->ranks; i++) {
		double ms = 1000 + (i == training->late_rank ? training->start_ms : 0);

		trainee_runs(&trainees[i], "train.py:<module>;torch.py:<module>", 0, ms);
		trainee_waits(&trainees[i], "train.py:<module>;torch.py:<module>;read", "io", ms,
			      2 * ms);
		trainee_kernel(&trainees[i], "tune", "train.py:<module>;cudaLaunchKernel", 2 * ms,
			       ms);
	}
	return 3 * (1000 + training->start_ms);
}

void training_play(const struct training *training)
{
	const double period_ms = training->period_ms > 0 ? training->period_ms : 5;
	uint64_t seed = training->seed;
	struct trainee *trainees = calloc(training->ranks, sizeof(*trainees));
	double *ready = calloc(training->ranks, sizeof(*ready)), now_ms = 0;

	for (uint32_t i = 0; i < training->ranks; i++) {
		char node[16];

		if (training->ranks_per_host && i && i % training->ranks_per_host == 0) {
			snprintf(node, sizeof(node), "node%02u", i / training->ranks_per_host + 1);
			job_node(node);
		}
		trainees[i] = (struct trainee){
			.process = job_process((int32_t)i),
			.host_skew_ns = training->one_clock
						? 0
						: (int64_t)((job_uniform(&seed) - 0.5) * 10e9),
			.gpu_offset_ns =
				TRAINEE_GPU_OFFSET_NS + (int64_t)(job_uniform(&seed) * 1e9),
			.gpu_alone = training->gpu_alone,
			.period_ms = period_ms,
			.phase_ms = period_ms * job_uniform(&seed),
		};
		job_communicator(trainees[i].process, 1, training->key ? training->key : 0xfeed, i,
				 training->ranks);
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
