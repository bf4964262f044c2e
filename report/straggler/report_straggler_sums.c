#include "report_straggler_sums.h"

#include <errno.h>

#include "report_straggler_result.h"
#include "report_straggler_roots.h"

/* Such calls are compared with those of no rank, so no writer has all of them. */
static void add_rooted(struct report_straggler *report, const struct collective_sum *sum,
		       uint64_t key)
{
	for (uint32_t i = 0; i < report->nr_communicators; i++) {
		const struct report_straggler_communicator *of = &report->communicators[i];
		const uint32_t at = of->fold->key == key
					    ? collective_fold_find(of->fold, sum->key.process,
								   sum->key.communicator_id)
					    : COLLECTIVE_FOLD_NONE;

		if (at != COLLECTIVE_FOLD_NONE)
			report_straggler_roots_add(&of->members[at].rooted, sum);
	}
}

/* What a sum says of its rank. The bins of all sums of a rank are put together. */
static int add_sum(struct report_straggler *report, const struct collective_sum *sum)
{
	const struct collective_folds *folds = report->folds;
	const struct communicator *end =
		collective_folds_end(folds, sum->key.process, sum->key.communicator_id);
	uint32_t at = COLLECTIVE_FOLD_NONE;

	report->without_gpu += sum->unjoined;
	if (!end || !end->key) {
		report->unknown += sum->numbered;
		return 0;
	}
	if (report_straggler_roots_has(sum->key.function))
		add_rooted(report, sum, end->key);
	for (uint32_t i = 0; i < report->nr_communicators && sum->used; i++) {
		const struct report_straggler_communicator *of = &report->communicators[i];

		if (of->fold->key != end->key || (of->fold->writer == 0) != sum->key.is_across)
			continue;
		at = collective_fold_find(of->fold, sum->key.process, sum->key.communicator_id);
		if (at == COLLECTIVE_FOLD_NONE)
			continue;
		struct straggler_subject *found = &of->members[at].found;
		found->last += sum->last;
		found->others_ns += sum->others_ns;
		found->waited_ns += sum->waited_ns;
		for (uint32_t j = 0; j < sum->nr_behind; j++)
			if (collective_bins_add(&of->members[at].behind, &of->members[at].nr_behind,
						&sum->behind[j]))
				return -ENOMEM;
		break;
	}
	return 0;
}

int report_straggler_sums_add(struct report_straggler *report)
{
	int error = 0;

	for (uint32_t i = 0; i < report->folds->nr_sums && !error; i++)
		error = add_sum(report, &report->folds->sums[i]);
	return error;
}

uint64_t report_straggler_sums_compared(const struct report_straggler *report)
{
	uint64_t used = report->pipeline ? report->pipeline->fold.used : 0;

	for (uint32_t i = 0; i < report->nr_communicators; i++)
		used += report->communicators[i].fold->used;
	return used;
}
