#include "collective_exchange_fold.h"

#include <errno.h>

/* A wait for a kernel that began later. Returns false: it has begun after this one's end, so the clocks are wrong. */
static bool wait_of(const struct collective_log_call *call, const struct collective_log_call *last,
		    uint64_t *wait_ns)
{
	const int64_t behind_ns = collective_exchange_begin(last) - collective_exchange_begin(call);

	*wait_ns = 0;
	if (behind_ns <= COLLECTIVE_FOLDS_CLOCK_NS)
		return true;
	*wait_ns = (uint64_t)behind_ns < call->gpu.ns ? (uint64_t)behind_ns : call->gpu.ns;
	return (uint64_t)behind_ns - *wait_ns <= COLLECTIVE_FOLDS_CLOCK_NS;
}

/* Splits a kernel that does not meet all others of its exchange, by when those that it meets began. */
static int split_by_begin(struct collective_folding *folding,
			  const struct collective_exchange_kernel *kernel,
			  const struct collective_split_end *end)
{
	uint64_t wait_ns;

	if (kernel->last_call == COLLECTIVE_EXCHANGE_NONE)
		return 0;
	const struct collective_log_call *call = &folding->calls[kernel->call];
	const struct collective_log_call *last = &folding->calls[kernel->last_call];
	const struct collective_split_end last_end = {
		.key = collective_split_key_of(last->process, &last->gpu)};
	return wait_of(call, last, &wait_ns)
		       ? collective_splits_add_one(&folding->folds->splits, end, &last_end, wait_ns)
		       : 0;
}

/* Splits the kernels of an exchange, which are its first count ones. */
static int split_exchange(struct collective_folding *folding, const struct collective_fold *fold,
			  const struct collective_exchange_kernel *kernels, uint32_t count)
{
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		const struct collective_exchange_kernel *kernel = &kernels[i];
		const struct collective_log_call *call = &folding->calls[kernel->call];
		const struct collective_fold_member *member =
			&fold->members[folding->at[kernel->member]];
		const struct collective_split_end end = {
			.key = collective_split_key_of(call->process, &call->gpu),
			.ns = call->gpu.ns,
			.bus_bytes = kernel->sent_bytes > kernel->received_bytes
					     ? kernel->sent_bytes
					     : kernel->received_bytes,
			.left_out = !call->gpu.total_known ||
				    call->gpu.start_ns + call->gpu.ns <= member->gpu_end_ns,
		};

		/* A whole exchange has one kernel of each rank. */
		if (kernel->whole)
			folding->ends[i] = end;
		else
			error = split_by_begin(folding, kernel, &end);
	}
	return error || !kernels->whole
		       ? error
		       : collective_splits_add(&folding->folds->splits, folding->ends, count);
}

int collective_exchange_split(struct collective_folding *folding,
			      const struct collective_fold *fold,
			      const struct collective_exchanges *exchanges)
{
	const struct collective_exchange_kernel *kernels = exchanges->kernels;
	int error = 0;

	for (uint32_t i = 0, end; i < exchanges->nr_kernels && !error; i = end) {
		for (end = i + 1;
		     end < exchanges->nr_kernels && kernels[end].exchange == kernels[i].exchange;
		     end++)
			;
		error = split_exchange(folding, fold, &kernels[i], end - i);
	}
	return error;
}

/* The begin and the end of a member's collectives. Kernels of exchanges are folded before older ones of collectives, so
 * they tell it only where there are no collectives. */
static void extend_by_exchange(const struct collective_fold *fold,
			       struct collective_fold_member *member,
			       const struct collective_log_call *call)
{
	for (uint32_t i = 0; i < COLLECTIVE_FUNCTIONS; i++)
		if (fold->to[i])
			return;
	collective_folding_extend(member, call);
}

/* Compares an exchange of all ranks, which is an all_to_all; kernels: one of each member. */
static int compare_exchange(struct collective_folding *folding, struct collective_fold *fold,
			    const struct collective_exchange_kernel *kernels)
{
	struct collective_fold_waits waits;

	for (uint32_t i = 0; i < fold->nr_members; i++)
		folding->times[folding->at[kernels[i].member]] =
			folding->calls[kernels[i].call].gpu.ns;
	collective_fold_compare(fold, folding->times, folding->order, &waits);
	fold->collectives++;
	fold->complete +=
		fold->nr_ranks == COLLECTIVE_NOT_KNOWN || fold->nr_members >= fold->nr_ranks;
	fold->by_gpu++;
	for (uint32_t i = 0; i < fold->nr_members; i++) {
		const uint32_t at = folding->at[kernels[i].member], call = kernels[i].call;
		struct collective_sum *sum =
			collective_folding_sum(folding, call, fold->writer == 0);

		if (!sum || collective_folding_count(sum, folding->times[at] - waits.least_ns,
						     at == waits.last, &waits))
			return -ENOMEM;
		extend_by_exchange(fold, &fold->members[at], &folding->calls[call]);
	}
	return 0;
}

int collective_exchange_compare(struct collective_folding *folding, struct collective_fold *fold,
				const struct collective_exchanges *exchanges)
{
	const struct collective_exchange_kernel *kernels = exchanges->kernels;
	int error = 0;

	for (uint32_t i = 0; i < exchanges->nr_kernels && !error; i++)
		if (kernels[i].all && (i == 0 || kernels[i].exchange != kernels[i - 1].exchange))
			error = compare_exchange(folding, fold, &kernels[i]);
	return error;
}
