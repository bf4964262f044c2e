#include "report_straggler_costs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report_straggler_result.h"

/* What a rank costs the mean of the others, where it is named. */
struct rank_cost {
	double collectives_ns, pipeline_ns;
};

/* A hidden one is the last seldom: what it costs is how late it is. */
static double cost_of(const struct report_straggler_communicator *of,
		      const struct straggler_subject *found)
{
	const double waited_ns = (double)found->others_ns / (of->fold->nr_members - 1);

	return found->ground == STRAGGLER_HIDDEN
		       ? fmax(waited_ns, found->steady * (double)of->span_ns)
		       : waited_ns;
}

static void add(struct rank_cost *cost, bool is_pipeline, double ns)
{
	*(is_pipeline ? &cost->pipeline_ns : &cost->collectives_ns) += ns;
}

static uint32_t index_of(const struct report_straggler_communicator *of, const uint32_t *rank_of,
			 uint32_t member)
{
	return rank_of[of->fold->members[member].process] - 1;
}

static void add_costs(const struct report_straggler_communicator *of, const uint32_t *rank_of,
		      struct rank_cost *costs)
{
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		if (of->members[i].found.ground)
			add(&costs[index_of(of, rank_of, i)], of->is_pipeline,
			    cost_of(of, &of->members[i].found));
	for (uint32_t i = 0; i < of->nr_groups; i++)
		for (uint32_t j = 0; j < of->groups[i].nr_members; j++)
			add(&costs[index_of(of, rank_of, of->groups[i].members[j])],
			    of->is_pipeline, cost_of(of, &of->groups[i].found));
}

/* Returns whether a rank costs enough of its run. Nothing is told of a run whose length is not known. */
static bool is_enough(const struct report_straggler *report, const struct rank_cost *costs,
		      uint32_t index)
{
	const double run_ns = (double)report->ranks[index].run_ns;

	return run_ns <= 0 || fmax(costs[index].collectives_ns, costs[index].pipeline_ns) >
				      STRAGGLER_SHARE_MIN * run_ns;
}

static bool is_group_enough(const struct report_straggler *report,
			    const struct report_straggler_communicator *of, const uint32_t *rank_of,
			    const struct rank_cost *costs, const struct straggler_group *group)
{
	for (uint32_t i = 0; i < group->nr_members; i++)
		if (is_enough(report, costs, index_of(of, rank_of, group->members[i])))
			return true;
	return false;
}

static void take_back(const struct report_straggler *report,
		      struct report_straggler_communicator *of, const uint32_t *rank_of,
		      const struct rank_cost *costs)
{
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		if (!is_enough(report, costs, index_of(of, rank_of, i)))
			of->members[i].found.ground = STRAGGLER_NOT_NAMED;
	for (uint32_t i = of->nr_groups; i-- > 0;)
		if (!is_group_enough(report, of, rank_of, costs, &of->groups[i]))
			report_straggler_drop_group(of, i);
}

int report_straggler_costs_keep(struct report_straggler *report, const uint32_t *rank_of)
{
	const uint32_t count = report->nr_communicators + (report->pipeline != NULL);
	struct rank_cost *costs = calloc(report->nr_ranks + 1ul, sizeof(*costs));

	if (!costs)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		add_costs(&report->communicators[i], rank_of, costs);
	for (uint32_t i = 0; i < count; i++)
		take_back(report, &report->communicators[i], rank_of, costs);
	free(costs);
	return 0;
}
