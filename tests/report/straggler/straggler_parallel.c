#include "straggler_parallel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "straggler_fixture.h"

#define MS        1000000.0
#define HOUR_NS   3600000000000ull
#define OPS_MAX   8192u
#define RANKS_MAX 512u

enum { TENSOR = 1, DATA, STAGES, ALL, COMMUNICATORS };

enum op_kind { OP_FORWARD, OP_BACKWARD, OP_NEXT, OP_BEFORE, OP_REDUCE };

struct op {
	enum op_kind kind;
	bool sends, receives;  /* of OP_NEXT and OP_BEFORE */
	uint32_t communicator; /* of OP_REDUCE */
};

struct rank {
	uint32_t process, correlation_id, tensor, data, stage;
	uint32_t ids[COMMUNICATORS], nr_ids; /* of its communicators; 0: it has none */
	uint64_t sequences[COMMUNICATORS], sends[2], receives[2], groups;
	int64_t gpu_skew_ns;
	double now_ms, noise;
	struct op *ops; /* owns; of a step */
	uint32_t nr_ops, at;
	double came_ms; /* to the operation at which it waits; below 0: it does not */
};

struct job {
	const struct parallel *parallel;
	struct rank *ranks; /* owns */
	uint32_t nr_ranks, step;
	uint64_t seed;
};

/* ---- the schedule */

static void add(struct rank *rank, struct op op)
{
	assert_true(rank->nr_ops < OPS_MAX);
	rank->ops[rank->nr_ops++] = op;
}

static void add_pass(const struct parallel *parallel, struct rank *rank, enum op_kind kind)
{
	add(rank, (struct op){.kind = kind});
	if (parallel->tensor > 1)
		add(rank, (struct op){.kind = OP_REDUCE, .communicator = TENSOR});
}

static void add_exchange(const struct parallel *parallel, struct rank *rank, enum op_kind kind,
			 bool sends, bool receives)
{
	const bool there = kind == OP_NEXT ? rank->stage + 1 < parallel->stages : rank->stage > 0;

	if (there)
		add(rank, (struct op){kind, sends, receives, 0});
}

static void schedule(const struct parallel *parallel, struct rank *rank)
{
	const uint32_t behind = parallel->stages - 1 - rank->stage;
	const uint32_t first = behind < parallel->micro_batches ? behind : parallel->micro_batches;
	const uint32_t steady = parallel->micro_batches - first;

	for (uint32_t i = 0; i < first; i++) {
		add_exchange(parallel, rank, OP_BEFORE, false, true);
		add_pass(parallel, rank, OP_FORWARD);
		add_exchange(parallel, rank, OP_NEXT, true, false);
	}
	if (steady)
		add_exchange(parallel, rank, OP_BEFORE, false, true);
	for (uint32_t i = 0; i < steady; i++) {
		add_pass(parallel, rank, OP_FORWARD);
		add_exchange(parallel, rank, OP_NEXT, true, true);
		add_pass(parallel, rank, OP_BACKWARD);
		add_exchange(parallel, rank, OP_BEFORE, true, i + 1 < steady);
	}
	for (uint32_t i = 0; i < first; i++) {
		add_exchange(parallel, rank, OP_NEXT, false, true);
		add_pass(parallel, rank, OP_BACKWARD);
		add_exchange(parallel, rank, OP_BEFORE, true, false);
	}
	if (parallel->data > 1)
		add(rank, (struct op){.kind = OP_REDUCE, .communicator = DATA});
	if (parallel->all_ranks)
		add(rank, (struct op){.kind = OP_REDUCE, .communicator = ALL});
}

/* ---- what is recorded */

static uint64_t gpu_clock(const struct rank *rank, double ms)
{
	return (uint64_t)((int64_t)(100 * HOUR_NS) + rank->gpu_skew_ns + (int64_t)(ms * MS));
}

static void put_kernel(struct rank *rank, const char *name, const char *stack, double from_ms,
		       double to_ms)
{
	const struct job_kernel kernel = {
		.name = name,
		.stack = stack,
		.correlation_id = ++rank->correlation_id,
		.tid = 9,
		.start_ns = gpu_clock(rank, from_ms),
		.ns = (uint64_t)((to_ms - from_ms) * MS),
	};

	job_kernel(rank->process, &kernel);
}

static void put_call(struct rank *rank, uint32_t communicator, uint8_t function, uint32_t peer,
		     uint64_t function_sequence, double from_ms)
{
	struct collective call =
		job_all_reduce(rank->ids[communicator], ++rank->sequences[communicator],
			       rank->correlation_id + 1, gpu_clock(rank, from_ms), 10000);

	call.function = function;
	call.peer = peer;
	call.function_sequence = function_sequence ? function_sequence : call.sequence;
	call.group = function_sequence ? rank->groups : 0;
	call.bytes = 1 << 20;
	job_call(rank->process, &call);
}

static void put_exchange(struct rank *rank, const struct op *op, double end_ms)
{
	const uint32_t peer = op->kind == OP_NEXT ? rank->stage + 1 : rank->stage - 1;
	const uint32_t side = op->kind == OP_NEXT;

	rank->groups++;
	if (op->sends)
		put_call(rank, STAGES, COLLECTIVE_SEND, peer, ++rank->sends[side], rank->came_ms);
	if (op->receives)
		put_call(rank, STAGES, COLLECTIVE_RECV, peer, ++rank->receives[side],
			 rank->came_ms);
	put_kernel(rank, "ncclDevKernel_SendRecv", "train.py:main;train.py:communicate",
		   rank->came_ms, end_ms);
}

/* ---- the run */

static double noise_of(struct job *job, struct rank *rank)
{
	const double normal = job_normal(&job->seed), noise = job->parallel->noise;

	switch (job->parallel->noise_kind) {
	case PARALLEL_LOGNORMAL:
		return exp(noise * normal);
	case PARALLEL_DRIFT:
		rank->noise = 0.99 * rank->noise + sqrt(1 - 0.99 * 0.99) * normal;
		return fmax(0.1, 1 + noise * rank->noise);
	default:
		return fmax(0.1, 1 + noise * normal);
	}
}

static void pass(struct job *job, struct rank *rank, enum op_kind kind)
{
	const struct parallel *parallel = job->parallel;
	const bool is_time = job->step >= parallel->late_from &&
			     (!parallel->late_to || job->step < parallel->late_to);
	const bool late = is_time && ((int32_t)rank->stage == parallel->late_stage ||
				      rank - job->ranks == parallel->late_rank);
	double ms = parallel->forward_ms * (kind == OP_FORWARD ? 1 : 2);

	ms *= noise_of(job, rank) * (late ? 1 + parallel->late : 1);
	put_kernel(rank, "gemm",
		   kind == OP_FORWARD ? "train.py:main;train.py:forward"
				      : "train.py:main;train.py:backward",
		   rank->now_ms, rank->now_ms + ms);
	rank->now_ms += ms;
}

static uint32_t index_of(const struct parallel *parallel, uint32_t tensor, uint32_t data,
			 uint32_t stage)
{
	return (stage * parallel->data + data) * parallel->tensor + tensor;
}

/* Lists the ranks of an operation, which has the rank itself among them. */
static uint32_t list_partners(const struct job *job, const struct rank *rank, uint32_t *partners)
{
	const struct parallel *parallel = job->parallel;
	const struct op *op = &rank->ops[rank->at];
	const uint32_t own = (uint32_t)(rank - job->ranks);
	uint32_t count = 0;

	if (op->kind != OP_REDUCE) {
		partners[count++] = own;
		partners[count++] =
			index_of(parallel, rank->tensor, rank->data,
				 op->kind == OP_NEXT ? rank->stage + 1 : rank->stage - 1);
		return count;
	}
	for (uint32_t i = 0; i < job->nr_ranks; i++) {
		const struct rank *other = &job->ranks[i];

		if ((op->communicator == ALL ||
		     (other->stage == rank->stage &&
		      (op->communicator == TENSOR ? other->data == rank->data
						  : other->tensor == rank->tensor))))
			partners[count++] = i;
	}
	return count;
}

static bool meets(const struct rank *rank, const struct rank *other)
{
	const struct op *a = &rank->ops[rank->at], *b = &other->ops[other->at];

	if (other->came_ms < 0 || other->at == other->nr_ops)
		return false;
	if (a->kind == OP_REDUCE)
		return b->kind == OP_REDUCE && a->communicator == b->communicator;
	return rank == other || (b->kind == (a->kind == OP_NEXT ? OP_BEFORE : OP_NEXT));
}

/* Lets a rank and its partners pass an operation for which all have come. */
static bool meet(struct job *job, struct rank *rank)
{
	uint32_t partners[RANKS_MAX];
	const uint32_t count = list_partners(job, rank, partners);
	double end_ms = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!meets(rank, &job->ranks[partners[i]]))
			return false;
		end_ms = fmax(end_ms, job->ranks[partners[i]].came_ms);
	}
	end_ms += job->parallel->move_ms > 0 ? job->parallel->move_ms : 0.05;
	for (uint32_t i = 0; i < count; i++) {
		struct rank *other = &job->ranks[partners[i]];
		const struct op *op = &other->ops[other->at];

		if (op->kind == OP_REDUCE) {
			put_call(other, op->communicator, COLLECTIVE_ALL_REDUCE,
				 COLLECTIVE_NOT_KNOWN, 0, other->came_ms);
			put_kernel(other, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
				   "train.py:main;train.py:reduce", other->came_ms, end_ms);
		} else {
			put_exchange(other, op, end_ms);
		}
		other->now_ms = end_ms;
		other->came_ms = -1;
		other->at++;
	}
	return true;
}

/* Goes on until the rank waits, or its step is over. Returns whether it went on. */
static bool go_on(struct job *job, struct rank *rank)
{
	bool went = false;

	while (rank->at < rank->nr_ops) {
		const struct op *op = &rank->ops[rank->at];

		if (op->kind > OP_BACKWARD) {
			if (rank->came_ms < 0)
				rank->came_ms = rank->now_ms;
			if (!meet(job, rank))
				return went;
		} else {
			pass(job, rank, op->kind);
			rank->at++;
		}
		went = true;
	}
	return went;
}

static void step(struct job *job)
{
	bool going = true;

	for (uint32_t i = 0; i < job->nr_ranks; i++) {
		job->ranks[i].at = 0;
		if ((int32_t)job->ranks[i].stage == job->parallel->late_stage)
			job->ranks[i].now_ms += job->parallel->load_ms;
	}
	while (going) {
		going = false;
		for (uint32_t i = 0; i < job->nr_ranks; i++)
			going |= go_on(job, &job->ranks[i]);
	}
	for (uint32_t i = 0; i < job->nr_ranks; i++)
		assert_int_equal(job->ranks[i].at, job->ranks[i].nr_ops);
}

static void join(const struct job *job, struct rank *rank, uint32_t communicator, uint32_t number,
		 uint32_t place, uint32_t nr_ranks)
{
	rank->ids[communicator] = ++rank->nr_ids;
	job_communicator(rank->process, rank->nr_ids,
			 job->parallel->key + communicator * 0x1000 + number, place, nr_ranks);
}

static void begin_rank(struct job *job, uint32_t index)
{
	const struct parallel *parallel = job->parallel;
	struct rank *rank = &job->ranks[index];

	*rank = (struct rank){
		.process = job_process((int32_t)index),
		.tensor = index % parallel->tensor,
		.data = index / parallel->tensor % parallel->data,
		.stage = index / parallel->tensor / parallel->data,
		.gpu_skew_ns =
			parallel->world ? 0 : (int64_t)((job_uniform(&job->seed) - 0.5) * 10e9),
		.ops = calloc(OPS_MAX, sizeof(*rank->ops)),
		.came_ms = -1,
	};
	schedule(parallel, rank);
	if (parallel->tensor > 1)
		join(job, rank, TENSOR, index / parallel->tensor, rank->tensor, parallel->tensor);
	if (parallel->data > 1)
		join(job, rank, DATA, rank->stage * parallel->tensor + rank->tensor, rank->data,
		     parallel->data);
	join(job, rank, STAGES, rank->data * parallel->tensor + rank->tensor, rank->stage,
	     parallel->stages);
	if (parallel->all_ranks)
		join(job, rank, ALL, 0, index, job->nr_ranks);
}

void parallel_play(const struct parallel *parallel)
{
	struct job job = {
		.parallel = parallel,
		.nr_ranks = parallel->tensor * parallel->data * parallel->stages,
		.seed = parallel->seed,
	};

	assert_in_range(job.nr_ranks, 2, RANKS_MAX);
	job.ranks = calloc(job.nr_ranks, sizeof(*job.ranks));
	job_world(parallel->world ? parallel->world : (int32_t)job.nr_ranks);
	for (uint32_t i = 0; i < job.nr_ranks; i++)
		begin_rank(&job, i);
	for (uint32_t i = 0; i < parallel->steps; i++) {
		job.step = i;
		step(&job);
		if (i % 16 == 15)
			job_commit();
		if (i % 16 == 15 && parallel->committed)
			parallel->committed();
	}
	job_commit();
	for (uint32_t i = 0; i < job.nr_ranks; i++)
		free(job.ranks[i].ops);
	free(job.ranks);
}
