#include "report_straggler_experts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report_straggler_result.h"
#include "straggler_expert_work.h"
#include "straggler_steps.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/kept_log.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_schema.h"
#include "base/array.h"
#include "report/causes/straggler_kept.h"
#include "report/causes/straggler_others.h"
#include "report/statistics/robust.h"

struct finding {
	struct report_straggler *report;
	const struct straggler_look *look; /* NULL: the whole run */
	struct straggler_expert_input input;
};

static bool is_exchange(uint32_t function)
{
	return function == COLLECTIVE_SEND || function == COLLECTIVE_RECV ||
	       function == COLLECTIVE_ALL_TO_ALL;
}

static bool is_of(const struct collective_sum *sum, const struct collective_fold_member *member)
{
	return sum->key.process == member->process &&
	       sum->key.communicator_id == member->communicator_id;
}

/* Returns whether at least half of what was compared on a communicator are exchanges. */
static bool has_exchanges(const struct collective_folds *folds, const struct collective_fold *fold)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < folds->nr_sums; i++)
		if (is_of(&folds->sums[i], &fold->members[0]) &&
		    is_exchange(folds->sums[i].key.function))
			used += folds->sums[i].used;
	return used && used >= fold->used / 2;
}

/* The bytes of a member's sends and receives. */
static uint64_t bytes_of(const struct collective_folds *folds,
			 const struct collective_fold_member *member)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < folds->nr_sums; i++)
		if (is_of(&folds->sums[i], member) &&
		    folds->sums[i].key.function != COLLECTIVE_ALL_TO_ALL &&
		    is_exchange(folds->sums[i].key.function))
			bytes += folds->sums[i].bytes;
	return bytes;
}

/* ---- a late member */

static double compare_bytes(const struct finding *finding, const struct collective_fold *fold,
			    uint32_t late, const uint32_t *others, uint32_t nr_others)
{
	const struct collective_folds *folds = finding->report->folds;
	double bytes[STRAGGLER_OTHERS_MAX];

	for (uint32_t i = 0; i < nr_others; i++)
		bytes[i] = (double)bytes_of(folds, &fold->members[others[i]]);
	double median = robust_median(bytes, nr_others);
	return median > 0 ? (double)bytes_of(folds, &fold->members[late]) / median : 0;
}

/* Returns how many times as long as the others the late one computes before the exchanges where it does most more. 0:
 * that does not explain its lateness. */
static double compare_work(const struct straggler_expert_work *late,
			   const struct straggler_expert_work *others, uint32_t nr_others,
			   double late_ns)
{
	double most = REPORT_STRAGGLER_EXPERTS_EXPLAINS * late_ns, times = 0;
	uint64_t count = 0;

	for (uint32_t i = 0; i < late->nr_parts; i++)
		count += late->parts[i].count;
	for (uint32_t i = 0; i < late->nr_parts; i++) {
		const struct straggler_expert_part *part = &late->parts[i];
		double means[STRAGGLER_OTHERS_MAX];
		uint32_t known = 0;

		for (uint32_t j = 0; j < nr_others; j++) {
			means[known] =
				straggler_expert_work_mean(&others[j], part->node, part->name);
			known += means[known] >= 0;
		}
		const double own = straggler_expert_work_mean(late, part->node, part->name);
		const double median = robust_median(means, known);
		const double excess = (own - median) * (double)part->count / (double)count;
		if (own <= 0 || median <= 0 || known < nr_others / 2 || excess <= most)
			continue;
		most = excess;
		times = own / median;
	}
	return times;
}

static void find_level(struct finding *finding, const struct collective_fold *fold,
		       const uint32_t *members, uint32_t count)
{
	uint32_t processes[1 + STRAGGLER_OTHERS_MAX];

	for (uint32_t i = 0; i < count; i++)
		processes[i] = fold->members[members[i]].process;
	finding->input.level = straggler_kept_level(finding->input.profile->collection, KEPT_GPU,
						    processes, count);
	if (finding->look)
		finding->input.window_ns = finding->look->window_ns << finding->input.level;
}

static int read_work(struct finding *finding, const struct collective_fold_member *member,
		     struct straggler_expert_work *work)
{
	return straggler_expert_work_read(&finding->input, member->process, member->communicator_id,
					  work);
}

static int compare_member(struct finding *finding, const struct report_straggler_communicator *of,
			  struct report_straggler_experts *experts)
{
	struct straggler_expert_work late, works[STRAGGLER_OTHERS_MAX] = {{0}};
	uint32_t members[1 + STRAGGLER_OTHERS_MAX];
	const uint32_t *others = members + 1;
	const uint32_t count =
		straggler_others_choose(finding->input.profile->collection->roster, of->fold,
					experts->member, NULL, 0, members) -
		1;
	const double late_ns = (double)of->members[experts->member].found.late_ns;

	experts->bytes_times = compare_bytes(finding, of->fold, experts->member, others, count);
	find_level(finding, of->fold, members, 1 + count);
	int error = read_work(finding, &of->fold->members[experts->member], &late);
	for (uint32_t i = 0; i < count && !error; i++)
		error = read_work(finding, &of->fold->members[others[i]], &works[i]);
	if (!error)
		experts->gpu_times = compare_work(&late, works, count, late_ns);
	for (uint32_t i = 0; i < count; i++)
		straggler_expert_work_fini(&works[i]);
	straggler_expert_work_fini(&late);
	return error;
}

/* ---- communicators */

static int add(struct finding *finding, struct report_straggler_experts *experts)
{
	struct report_straggler *report = finding->report;

	return array_append(&report->experts, &report->nr_experts, experts, sizeof(*experts));
}

static double share_of(const struct report_straggler_communicator *of, uint64_t waited_ns)
{
	return of->span_ns ? (double)waited_ns / (double)of->span_ns : 0;
}

static int find_members(struct finding *finding, uint32_t communicator, uint64_t steps)
{
	const struct report_straggler_communicator *of =
		&finding->report->communicators[communicator];
	int error = 0;

	for (uint32_t i = 0; i < of->fold->nr_members && !error; i++) {
		const struct straggler_subject *found = &of->members[i].found;
		struct report_straggler_experts experts = {
			.communicator = communicator,
			.member = i,
			.steps = steps,
			.waited_ns = found->others_ns / (of->fold->nr_members - 1),
		};

		experts.share = share_of(of, experts.waited_ns);
		if (!found->ground || found->ground == STRAGGLER_STALL ||
		    finding->report->ranks[of->members[i].of_rank].kept_by)
			continue;
		error = compare_member(finding, of, &experts);
		if (!error)
			error = add(finding, &experts);
	}
	return error;
}

static bool is_anyone_late(const struct report_straggler_communicator *of)
{
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		if (of->members[i].found.ground || of->members[i].excused)
			return true;
	return of->nr_groups > 0;
}

static int find_imbalance(struct finding *finding, uint32_t communicator, uint64_t steps)
{
	const struct report_straggler_communicator *of =
		&finding->report->communicators[communicator];
	struct report_straggler_experts experts = {
		.communicator = communicator,
		.member = REPORT_STRAGGLER_NONE,
		.steps = steps,
	};

	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		experts.waited_ns += of->members[i].found.others_ns / (of->fold->nr_members - 1);
	experts.share = share_of(of, experts.waited_ns);
	return experts.share >= REPORT_STRAGGLER_EXPERTS_SHARE_MIN ? add(finding, &experts) : 0;
}

static int find_all(struct finding *finding)
{
	const struct report_straggler *report = finding->report;
	int error = 0;

	for (uint32_t i = 0; i < report->nr_communicators && !error; i++) {
		const struct report_straggler_communicator *of = &report->communicators[i];
		uint64_t steps;

		if (!of->fold->used || !has_exchanges(report->folds, of->fold))
			continue;
		error = straggler_steps_count(report->folds, of->fold->members[0].process, &steps);
		if (!error)
			error = is_anyone_late(of) ? find_members(finding, i, steps)
						   : find_imbalance(finding, i, steps);
	}
	return error;
}

int report_straggler_experts_find(const struct profile *profile, const char *store_path,
				  const struct straggler_look *look,
				  struct report_straggler *report)
{
	struct finding finding = {
		.report = report,
		.look = look,
		.input = {.profile = profile, .folds = report->folds},
	};
	int error = database_open(store_path, true, &finding.input.database, NULL);

	if (error)
		return error;
	error = store_schema_show(finding.input.database);
	if (!error)
		error = find_all(&finding);
	database_close(finding.input.database);
	return error;
}
