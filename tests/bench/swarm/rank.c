#include "rank.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

#define CBID_LAUNCH_KERNEL 307u
#define WINDOW             1u
#define FIRST_PID          10000u
#define FIRST_STREAM       7u
#define COLLECTIVE_STREAM  9u
#define COLLECTIVE_NS      20000u /* that the kernel of the last rank takes */
#define KERNEL_DELAY_NS    20000u /* from a call to its kernel */

uint32_t rank_tid(const struct rank *rank)
{
	return FIRST_PID + rank->process_id;
}

/* Launches of kernels have odd correlation ids, those of collectives even ones. */
static uint32_t kernel_correlation(uint64_t n)
{
	return (uint32_t)(2 * n + 1);
}

uint32_t rank_step_correlation(uint32_t step)
{
	return 2 * step + 2;
}

static struct launch_record launch(const struct rank *rank, uint64_t at_ns, uint32_t correlation_id,
				   uint32_t stack_id)
{
	return (struct launch_record){.time_ns = rank->workload->monotonic_ns + at_ns,
				      .correlation_id = correlation_id,
				      .stack_id = stack_id,
				      .tid = rank_tid(rank),
				      .cbid = CBID_LAUNCH_KERNEL,
				      .window = WINDOW};
}

static struct gpu_record record(struct rank *rank, uint32_t gpu, uint64_t from_ns, uint64_t ns)
{
	uint64_t start_ns = rank->workload->realtime_ns + from_ns;

	rank->truth[gpu].count++;
	rank->truth[gpu].ns += ns;
	return (struct gpu_record){.start_ns = start_ns,
				   .end_ns = start_ns + ns,
				   .device_id = gpu,
				   .context_id = 1 + gpu,
				   .kind = RECORD_GPU_KERNEL,
				   .window = WINDOW};
}

static bool kernel_is_due(const struct rank *rank, uint64_t until_ns)
{
	return (rank->nr_launches + 1) * rank->workload->launch_ns <= until_ns;
}

static bool step_is_due(const struct rank *rank, uint64_t until_ns)
{
	return rank->nr_steps < rank->workload->nr_steps &&
	       workload_step_ns(rank->workload, rank->nr_steps + 1) <= until_ns;
}

static bool add_launches(struct rank *rank, struct batch_builder *builder, uint64_t until_ns)
{
	const struct workload *workload = rank->workload;
	uint32_t room, used = 0;
	struct launch_record *launches = batch_builder_launch_room(builder, &room);

	while (used < room && kernel_is_due(rank, until_ns)) {
		uint64_t n = rank->nr_launches++;

		launches[used++] = launch(rank, n * workload->launch_ns + n % 47,
					  kernel_correlation(n), workload_stack(workload, n));
	}
	while (used < room && step_is_due(rank, until_ns)) {
		uint32_t step = rank->nr_steps++;

		launches[used++] = launch(rank, workload_step_ns(workload, step) + 1000,
					  rank_step_correlation(step),
					  workload->leaves[workload->options->nr_keys]);
	}
	batch_builder_commit_launches(builder, used);
	return kernel_is_due(rank, until_ns) || step_is_due(rank, until_ns);
}

static struct gpu_record kernel_record(struct rank *rank, uint64_t n)
{
	const struct workload *workload = rank->workload;
	uint64_t from_ns = n * workload->launch_ns + KERNEL_DELAY_NS +
			   workload_random(workload, n, rank->number) % 5000;
	struct gpu_record made = record(rank, (uint32_t)(n % workload->options->nr_gpus), from_ns,
					workload_kernel_ns(workload, rank->number, n));

	made.correlation_id = kernel_correlation(n);
	made.stream_id = FIRST_STREAM + (n % 16 == 15);
	made.name_id = workload_kernel(workload, n);
	return made;
}

/* The kernel of a collective runs from its rank's arrival until the last rank is there. */
static struct gpu_record step_record(struct rank *rank, uint32_t step)
{
	const struct workload *workload = rank->workload;
	uint64_t arrival_ns = workload_arrival_ns(workload, rank->number, step);
	struct gpu_record made = record(rank, 0, workload_step_ns(workload, step) + arrival_ns,
					workload->last_arrivals[step] - arrival_ns + COLLECTIVE_NS);

	made.correlation_id = rank_step_correlation(step);
	made.stream_id = COLLECTIVE_STREAM;
	made.name_id = workload->collective_kernel_name;
	return made;
}

static bool add_records(struct rank *rank, struct batch_builder *builder)
{
	uint32_t room, used = 0;
	struct gpu_record *records = batch_builder_gpu_room(builder, &room);

	while (used < room && rank->nr_records < rank->nr_launches)
		records[used++] = kernel_record(rank, rank->nr_records++);
	while (used < room && rank->nr_step_records < rank->nr_steps)
		records[used++] = step_record(rank, rank->nr_step_records++);
	batch_builder_commit_gpu(builder, used);
	return rank->nr_records < rank->nr_launches || rank->nr_step_records < rank->nr_steps;
}

bool rank_launch(struct rank *rank, struct batch_builder *builder, uint64_t until_ns, bool delivers)
{
	bool more = add_launches(rank, builder, until_ns);

	return delivers ? add_records(rank, builder) || more : more;
}

int rank_remember(struct rank *rank, uint64_t seq)
{
	if (array_reserve(&rank->moments, &rank->max_moments, rank->nr_moments + 1,
			  sizeof(*rank->moments)))
		return -ENOMEM;
	struct rank_moment *moment = &rank->moments[rank->nr_moments++];
	moment->seq = seq;
	memcpy(moment->gpus, rank->truth, sizeof(moment->gpus));
	return 0;
}

const struct rank_moment *rank_moments_since(const struct rank *rank, uint64_t acked_seq,
					     uint32_t *nr_moments)
{
	uint32_t first = rank->nr_moments;

	while (first > 0 && rank->moments[first - 1].seq > acked_seq)
		first--;
	if (first > 0)
		first--; /* the last one that was acknowledged */
	*nr_moments = rank->nr_moments - first;
	return rank->moments + first;
}
