#include "late_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/report/straggler/straggler_fixture.h"
#include "tests/report/straggler/straggler_trainee.h"

#define MAIN    "train.py:<module>;train.py:main;"
#define RESIZE  MAIN "train.py:augment;numpy.py:resize"
#define LAUNCH  MAIN "train.py:forward;cudaLaunchKernel"
#define ENQUEUE MAIN "train.py:backward;cudaLaunchKernelExC"

#define WORLD        1u
#define PAIR         2u
#define PAIR_BYTES   (32u << 20)
#define COMMITS      2u
#define DRAWS        201u
#define LONGEST_PART 0.05 /* of a job: longer draws would be stalls, which are named */
#define BURST_STEPS  3u

/* Parts of a step's work. The kernels of the collectives come in addition. */
#define LOAD_PART  0.1
#define HOST_PART  0.4
#define GEMM_PART  0.35
#define REST_PART  0.15
#define MOVES_PART 0.03 /* a collective's own time */
#define LINK_PART  0.1  /* a pair's exchange */
#define LINK_NOISE 0.02

struct player {
	const struct late_job *job;
	uint64_t seed;
	struct trainee *trainees; /* own, all */
	uint32_t *calls, *pair_calls, *burst;
	double *ready;
	double now_ms, step_part; /* step_part: this step's work, of the usual one */
	uint32_t starts;
};

const char *late_job_words(enum late_cause cause)
{
	static const char *const words[LATE_CAUSES] = {
		[LATE_NOTHING] = "",
		[LATE_FUNCTION] = "host code (numpy.py:resize)",
		[LATE_LOADER] = "waits (poll, loader.py:next)",
		[LATE_SLEEP] = "waits (sleep, train.py:load_shard)",
		[LATE_BUSY_CPU] = "no free CPU (run queue)",
		[LATE_FAULTS] = "page faults (numpy.py:resize)",
		[LATE_KERNEL] = "slower GPU kernels (gemm, train.py:forward)",
		[LATE_GPU] = "slower GPU kernels (gemm, train.py:forward)",
		[LATE_LINK] = "",
	};

	return words[cause];
}

/* ---- starts */

static bool has_pairs(const struct late_job *job)
{
	return job->pairs || job->plants[0].cause == LATE_LINK;
}

static void join_communicators(struct player *player, uint32_t rank)
{
	const uint32_t process = player->trainees[rank].process;

	player->calls[rank] = player->pair_calls[rank] = 0;
	job_communicator(process, WORLD, 0xfeed + player->starts, rank, player->job->ranks);
	if (has_pairs(player->job))
		job_communicator(process, PAIR,
				 LATE_JOB_PAIRS_KEY * (1 + player->starts) + rank / 2, rank % 2, 2);
}

/* Imports: host code and waits of different lengths, before the first collective. After the first start each rank is
 * another process of the same node. */
static void start(struct player *player)
{
	for (uint32_t i = 0; i < player->job->ranks; i++) {
		struct trainee *trainee = &player->trainees[i];
		double ms = player->job->start_ms * job_uniform(&player->seed);
		double now_ms = player->now_ms;

		if (player->starts > 0) {
			job_end(trainee->process);
			trainee->process = job_process((int32_t)i);
			trainee->correlation_id = 0;
		}
		join_communicators(player, i);
		trainee_runs(trainee, MAIN "torch.py:<module>", now_ms, now_ms + ms / 2);
		trainee_waits(trainee, MAIN "torch.py:<module>;read", "io", now_ms + ms / 2,
			      now_ms + ms);
		player->ready[i] = now_ms + ms;
	}
	player->starts++;
}

static void set_up(struct player *player)
{
	const struct late_job *job = player->job;
	const double drift = job->drift_ppm * 1e-6;

	for (uint32_t i = 0; i < job->ranks; i++) {
		struct trainee *trainee = &player->trainees[i];
		char node[16];

		if (i > 0 && i % job->ranks_per_host == 0) {
			snprintf(node, sizeof(node), "node%02u", i / job->ranks_per_host + 1);
			job_node(node);
		}
		*trainee = (struct trainee){
			.process = job_process((int32_t)i),
			.host_skew_ns = (int64_t)((job_uniform(&player->seed) - 0.5) * 10e9),
			.drift = drift * (2 * job_uniform(&player->seed) - 1),
			.gpu_offset_ns =
				TRAINEE_GPU_OFFSET_NS + (int64_t)(job_uniform(&player->seed) * 1e9),
			.period_ms = job->period_ms,
			.phase_ms = job->period_ms * job_uniform(&player->seed),
		};
		if (i % job->ranks_per_host > 0) {
			trainee->host_skew_ns = player->trainees[i - 1].host_skew_ns;
			trainee->drift = player->trainees[i - 1].drift;
		}
	}
}

/* ---- a step */

static double noise(struct player *player, uint32_t rank)
{
	const struct late_job *job = player->job;
	const double part = job->noise_part, normal = part * job_normal(&player->seed);

	switch (job->noise) {
	case LATE_LOGNORMAL:
		return exp(normal) - 1;
	case LATE_PARETO:
		return fmin(part * (pow(1 - job_uniform(&player->seed), -1 / 1.5) - 1),
			    job->steps * job->collectives * LONGEST_PART);
	case LATE_BURSTS:
		if (player->burst[rank] == 0 && job_uniform(&player->seed) < 0.02)
			player->burst[rank] = BURST_STEPS;
		if (player->burst[rank] == 0)
			return normal;
		player->burst[rank]--;
		return normal + job_uniform(&player->seed);
	default:
		return normal;
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double late_job_longest(const struct late_job *job)
{
	struct player player = {.job = job, .seed = ~job->seed};
	double draws[DRAWS], *each = calloc(job->ranks, sizeof(*each));

	player.burst = calloc(job->ranks, sizeof(*player.burst));
	for (uint32_t i = 0; i < DRAWS; i++) {
		for (uint32_t j = 0; j < job->ranks; j++)
			each[j] = noise(&player, j);
		qsort(each, job->ranks, sizeof(*each), by_size);
		draws[i] = each[job->ranks - 1] - each[job->ranks / 2];
	}
	qsort(draws, DRAWS, sizeof(*draws), by_size);
	free(player.burst);
	free(each);
	return draws[DRAWS / 2] * job->step_ms / job->collectives;
}

static double late_ms(const struct late_plant *plant, uint32_t rank, uint32_t step,
		      enum late_cause cause)
{
	const uint32_t every = plant->every ? plant->every : 1;

	if (plant->cause != cause || rank < plant->first || rank > plant->last ||
	    step < plant->from || (step - plant->from) % every ||
	    (plant->times && (step - plant->from) / every >= plant->times))
		return 0;
	return plant->late_ms;
}

/* What the plants add to a rank's step by a cause. */
static double added_ms(const struct player *player, uint32_t rank, uint32_t step,
		       enum late_cause cause)
{
	return late_ms(&player->job->plants[0], rank, step, cause) +
	       late_ms(&player->job->plants[1], rank, step, cause);
}

/* What a rank's host does before the kernels of a step's first collective, but for its usual code. */
static double hold_up(struct player *player, uint32_t rank, uint32_t step, double now_ms)
{
	struct trainee *trainee = &player->trainees[rank];
	double sleep_ms = added_ms(player, rank, step, LATE_SLEEP);
	double queue_ms =
		added_ms(player, rank, step, LATE_BUSY_CPU) * 2 * job_uniform(&player->seed);
	double faults_ms = added_ms(player, rank, step, LATE_FAULTS);

	trainee_waits(trainee,
		      MAIN "train.py:load_shard;time_sleep;clock_nanosleep;do_nanosleep_[k]",
		      "sleep", now_ms, now_ms + sleep_ms);
	now_ms += sleep_ms;
	trainee_waits(trainee, RESIZE, "run queue", now_ms, now_ms + queue_ms / 2);
	trainee_waits(trainee, LAUNCH, "run queue", now_ms + queue_ms / 2, now_ms + queue_ms);
	now_ms += queue_ms;
	trainee_runs(trainee,
		     RESIZE ";asm_exc_page_fault_[k];exc_page_fault_[k];handle_mm_fault_[k];"
			    "clear_page_erms_[k]",
		     now_ms, now_ms + faults_ms);
	return now_ms + faults_ms;
}

/* The work before the n-th collective of a step. The first one has the loader, the others a share of the rest each. */
static double work(struct player *player, uint32_t rank, uint32_t step, uint32_t n, double now_ms)
{
	const struct late_job *job = player->job;
	struct trainee *trainee = &player->trainees[rank];
	const double ms = job->step_ms * player->step_part, share = ms / job->collectives;
	const double off = share * noise(player, rank);
	double load_ms = ms * LOAD_PART * (0.9 + 0.2 * job_uniform(&player->seed));
	double host_ms = share * HOST_PART + (job->noise_on_gpu ? 0 : off);
	double gemm_ms = share * GEMM_PART + (job->noise_on_gpu ? off : 0);
	double rest_ms = share * REST_PART;

	if (n == 0) {
		double gpu_ms = added_ms(player, rank, step, LATE_GPU);

		load_ms += added_ms(player, rank, step, LATE_LOADER);
		trainee_waits(trainee, MAIN "loader.py:next;poll;do_poll_[k]", "poll", now_ms,
			      now_ms + load_ms);
		now_ms = hold_up(player, rank, step, now_ms + load_ms);
		host_ms += added_ms(player, rank, step, LATE_FUNCTION);
		gemm_ms += added_ms(player, rank, step, LATE_KERNEL) + gpu_ms * 0.7;
		rest_ms += gpu_ms * 0.3;
	}
	host_ms = fmax(host_ms, 0.1 * share * HOST_PART);
	gemm_ms = fmax(gemm_ms, 0.1 * share * GEMM_PART);
	trainee_runs(trainee, RESIZE, now_ms, now_ms + host_ms);
	now_ms += host_ms;
	trainee->delay_ms = 0.01;
	trainee_kernel(trainee, "gemm", LAUNCH, now_ms, gemm_ms);
	trainee_kernel(trainee, "softmax", LAUNCH, now_ms + gemm_ms, rest_ms);
	return now_ms + gemm_ms + rest_ms;
}

static void communicate(struct player *player, uint32_t rank, uint32_t communicator,
			double start_ms, double end_ms)
{
	struct trainee *trainee = &player->trainees[rank];
	uint32_t *calls = communicator == WORLD ? player->calls : player->pair_calls;
	struct collective call =
		job_all_reduce(communicator, ++calls[rank], trainee->correlation_id + 1,
			       trainee_clock(trainee, start_ms - 0.01), 5000);

	call.bytes = communicator == WORLD ? 4096 : PAIR_BYTES;
	job_call(trainee->process, &call);
	trainee_kernel(trainee, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", ENQUEUE, start_ms,
		       end_ms - start_ms);
	trainee_waits(trainee, MAIN "train.py:backward;cudaStreamSynchronize", "futex", start_ms,
		      end_ms);
}

static void exchange(struct player *player, uint32_t step)
{
	for (uint32_t i = 0; i + 1 < player->job->ranks; i += 2) {
		double *ready = &player->ready[i];
		double moves_ms = player->job->step_ms * LINK_PART *
				  (1 + LINK_NOISE * job_normal(&player->seed));
		double end_ms =
			fmax(ready[0], ready[1]) + moves_ms + added_ms(player, i, step, LATE_LINK);

		for (uint32_t j = 0; j < 2; j++) {
			communicate(player, i + j, PAIR, ready[j], end_ms);
			/* Some code of the host's follows. */
			ready[j] = end_ms + 0.02 * moves_ms * job_uniform(&player->seed);
		}
	}
}

static void meet(struct player *player)
{
	const struct late_job *job = player->job;
	double last_ms = 0;

	for (uint32_t i = 0; i < job->ranks; i++)
		last_ms = fmax(last_ms, player->ready[i]);
	last_ms += job->step_ms * MOVES_PART / job->collectives;
	for (uint32_t i = 0; i < job->ranks; i++) {
		communicate(player, i, WORLD, player->ready[i], last_ms);
		player->ready[i] = last_ms;
	}
	player->now_ms = last_ms;
}

static void play_step(struct player *player, uint32_t step)
{
	const struct late_job *job = player->job;

	player->step_part = exp(job->uneven_part * job_normal(&player->seed));
	for (uint32_t n = 0; n < job->collectives; n++) {
		for (uint32_t i = 0; i < job->ranks; i++)
			player->ready[i] = work(player, i, step, n, player->ready[i]);
		if (has_pairs(job) && n + 1 == job->collectives)
			exchange(player, step);
		meet(player);
	}
}

void late_job_play(const struct late_job *job)
{
	struct player player = {
		.job = job,
		.seed = job->seed,
		.trainees = calloc(job->ranks, sizeof(*player.trainees)),
		.calls = calloc(job->ranks, sizeof(*player.calls)),
		.pair_calls = calloc(job->ranks, sizeof(*player.pair_calls)),
		.burst = calloc(job->ranks, sizeof(*player.burst)),
		.ready = calloc(job->ranks, sizeof(*player.ready)),
	};

	set_up(&player);
	for (uint32_t step = 0; step < job->steps; step++) {
		if (step == 0 || step == job->restart_at)
			start(&player);
		play_step(&player, step);
		if (step % (job->steps / COMMITS + 1) == 0)
			job_commit();
	}
	job_commit();
	free(player.trainees);
	free(player.calls);
	free(player.pair_calls);
	free(player.burst);
	free(player.ready);
}
