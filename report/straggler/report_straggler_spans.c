#include "report_straggler_spans.h"

#include <errno.h>
#include <stdlib.h>

#include "report/statistics/outlier.h"

/* From a process's first collective to its last one, on whatever communicator, by its host's clock. */
struct stay {
	uint64_t start_ns, end_ns;
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

static void add_stay(struct stay *stay, const struct collective_fold_member *member)
{
	if (member->end_ns <= member->start_ns)
		return;
	if (!stay->end_ns || member->start_ns < stay->start_ns)
		stay->start_ns = member->start_ns;
	if (member->end_ns > stay->end_ns)
		stay->end_ns = member->end_ns;
}

int report_straggler_spans_of_ranks(struct report_straggler *report, const uint32_t *rank_of,
				    uint32_t nr_processes)
{
	struct stay *stays = calloc(nr_processes + 1ul, sizeof(*stays));

	if (!stays)
		return -ENOMEM;
	for (uint32_t i = 0; i < report->nr_communicators; i++) {
		const struct collective_fold *fold = report->communicators[i].fold;

		for (uint32_t j = 0; j < fold->nr_members && fold->used; j++)
			add_stay(&stays[fold->members[j].process], &fold->members[j]);
	}
	for (uint32_t i = 0; i < report->nr_ranks; i++)
		report->ranks[i].run_ns = 0;
	for (uint32_t i = 0; i <= nr_processes; i++)
		if (rank_of[i])
			report->ranks[rank_of[i] - 1].run_ns += stays[i].end_ns - stays[i].start_ns;
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
