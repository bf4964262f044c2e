#include "report_straggler_spans.h"

#include <errno.h>
#include <stdlib.h>

#include "report/statistics/outlier.h"

struct extent {
	uint64_t start_ns, end_ns;
};

/* From a process's first collective to its last one, on whatever communicator. The host's calls may be over long before
 * the kernels, and kernels may not be known. So the longer extent counts. */
struct stay {
	struct extent host, gpu; /* each by its own clock */
};

/* Each member's span is on its own clock: the GPU's if all times are of kernels. */
int report_straggler_spans_find(struct report_straggler_communicator *communicator)
{
	const struct collective_fold *fold = communicator->fold;
	uint64_t *spans = calloc(fold->nr_members + 1ul, sizeof(*spans));
	const bool by_gpu = fold->by_gpu == fold->used;

	if (!spans)
		return -ENOMEM;
	for (uint32_t i = 0; i < fold->nr_members && fold->used; i++) {
		const struct collective_fold_member *member = &fold->members[i];
		uint64_t start = by_gpu ? member->gpu_start_ns : member->start_ns;
		uint64_t end = by_gpu ? member->gpu_end_ns : member->end_ns;

		spans[i] = communicator->members[i].span_ns = end > start ? end - start : 0;
	}
	communicator->span_ns = outlier_median(spans, fold->nr_members);
	free(spans);
	return 0;
}

static void widen(struct extent *extent, uint64_t start_ns, uint64_t end_ns)
{
	if (end_ns <= start_ns)
		return;
	if (!extent->end_ns || start_ns < extent->start_ns)
		extent->start_ns = start_ns;
	if (end_ns > extent->end_ns)
		extent->end_ns = end_ns;
}

static uint64_t length_of(const struct stay *stay)
{
	const uint64_t host_ns = stay->host.end_ns - stay->host.start_ns;
	const uint64_t gpu_ns = stay->gpu.end_ns - stay->gpu.start_ns;

	return gpu_ns > host_ns ? gpu_ns : host_ns;
}

int report_straggler_spans_of_ranks(struct report_straggler *report, const uint32_t *rank_of,
				    uint32_t nr_processes)
{
	struct stay *stays = calloc(nr_processes + 1ul, sizeof(*stays));

	if (!stays)
		return -ENOMEM;
	for (uint32_t i = 0; i < report->nr_communicators; i++) {
		const struct collective_fold *fold = report->communicators[i].fold;

		for (uint32_t j = 0; j < fold->nr_members && fold->used; j++) {
			const struct collective_fold_member *member = &fold->members[j];
			struct stay *stay = &stays[member->process];

			widen(&stay->host, member->start_ns, member->end_ns);
			widen(&stay->gpu, member->gpu_start_ns, member->gpu_end_ns);
		}
	}
	for (uint32_t i = 0; i < report->nr_ranks; i++)
		report->ranks[i].run_ns = 0;
	for (uint32_t i = 0; i <= nr_processes; i++)
		if (rank_of[i])
			report->ranks[rank_of[i] - 1].run_ns += length_of(&stays[i]);
	free(stays);
	return 0;
}

int report_straggler_spans_run(const struct report_straggler *report, const uint32_t *rank_of,
			       const struct report_straggler_communicator *communicator,
			       uint64_t *run_ns)
{
	const struct collective_fold *fold = communicator->fold;
	uint64_t *runs = calloc(fold->nr_members + 1ul, sizeof(*runs));

	*run_ns = 0;
	if (!runs)
		return -ENOMEM;
	for (uint32_t i = 0; i < fold->nr_members; i++)
		runs[i] = report->ranks[rank_of[fold->members[i].process] - 1].run_ns;
	*run_ns = outlier_median(runs, fold->nr_members);
	free(runs);
	return 0;
}
