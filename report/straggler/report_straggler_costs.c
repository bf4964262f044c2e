#include "report_straggler_costs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report_straggler_result.h"

/* What a rank costs the mean of the others. */
struct rank_cost {
	double collectives_ns, pipeline_ns;
};

/* The same of a communicator on which it is named, while a process was there. */
struct place {
	uint32_t rank, process;
	uint64_t start_ns, end_ns; /* by the process's host */
	double cost_ns;
};

struct places {
	struct place *list; /* owns */
	uint64_t *edges;    /* owns; room for two of each place */
	uint32_t count;
};

/* A hidden one is the last seldom: what it costs is how late it is. */
static double cost_of(const struct report_straggler_communicator *of,
		      const struct straggler_subject *found)
{
	const double waited_ns = (double)found->others_ns /
				 straggler_subject_waiters(found, of->fold->nr_members);

	return found->ground == STRAGGLER_HIDDEN
		       ? fmax(waited_ns, found->steady * (double)of->span_ns)
		       : waited_ns;
}

static uint32_t index_of(const struct report_straggler_communicator *of, const uint32_t *rank_of,
			 uint32_t member)
{
	return rank_of[of->fold->members[member].process] - 1;
}

static void add(const struct report_straggler_communicator *of, const uint32_t *rank_of,
		uint32_t member, double ns, struct rank_cost *costs, struct places *places)
{
	const struct collective_fold_member *from = &of->fold->members[member];
	const uint32_t rank = index_of(of, rank_of, member);

	if (of->is_pipeline)
		costs[rank].pipeline_ns += ns;
	else if (from->end_ns <= from->start_ns)
		costs[rank].collectives_ns += ns;
	else
		places->list[places->count++] = (struct place){
			.rank = rank,
			.process = from->process,
			.start_ns = from->start_ns,
			.end_ns = from->end_ns,
			.cost_ns = ns,
		};
}

static void add_costs(const struct report_straggler_communicator *of, const uint32_t *rank_of,
		      struct rank_cost *costs, struct places *places)
{
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		if (of->members[i].found.ground)
			add(of, rank_of, i, cost_of(of, &of->members[i].found), costs, places);
	for (uint32_t i = 0; i < of->nr_groups; i++)
		for (uint32_t j = 0; j < of->groups[i].nr_members; j++)
			add(of, rank_of, of->groups[i].members[j],
			    cost_of(of, &of->groups[i].found), costs, places);
}

static int by_process(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->process > y->process) - (x->process < y->process);
}

static int by_time(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns what the places of one process cost together: at each time, as much as the costliest of them there. */
static double cost_together(const struct place *places, uint32_t count, uint64_t *edges)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		edges[2 * i] = places[i].start_ns;
		edges[2 * i + 1] = places[i].end_ns;
	}
	qsort(edges, 2ul * count, sizeof(*edges), by_time);
	for (uint32_t i = 1; i < 2 * count; i++) {
		double most = 0;

		for (uint32_t j = 0; j < count; j++)
			if (places[j].start_ns <= edges[i - 1] && places[j].end_ns >= edges[i])
				most = fmax(most, places[j].cost_ns / (double)(places[j].end_ns -
									       places[j].start_ns));
		sum += most * (double)(edges[i] - edges[i - 1]);
	}
	return sum;
}

static void sum_places(struct places *places, struct rank_cost *costs)
{
	uint32_t end;

	qsort(places->list, places->count, sizeof(*places->list), by_process);
	for (uint32_t first = 0; first < places->count; first = end) {
		const struct place *of = &places->list[first];

		for (end = first + 1;
		     end < places->count && places->list[end].process == of->process;)
			end++;
		costs[of->rank].collectives_ns += cost_together(of, end - first, places->edges);
	}
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

/* The most places that there can be. */
static size_t count_places(const struct report_straggler *report)
{
	size_t count = 1;

	for (uint32_t i = 0; i < report->nr_communicators; i++) {
		count += report->communicators[i].fold->nr_members;
		for (uint32_t j = 0; j < report->communicators[i].nr_groups; j++)
			count += report->communicators[i].groups[j].nr_members;
	}
	return count;
}

int report_straggler_costs_keep(struct report_straggler *report, const uint32_t *rank_of)
{
	const uint32_t count = report->nr_communicators + (report->pipeline != NULL);
	const size_t most = count_places(report);
	struct rank_cost *costs = calloc(report->nr_ranks + 1ul, sizeof(*costs));
	struct places places = {
		.list = calloc(most, sizeof(*places.list)),
		.edges = calloc(2 * most, sizeof(*places.edges)),
	};
	const int error = costs && places.list && places.edges ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !error; i++)
		add_costs(&report->communicators[i], rank_of, costs, &places);
	if (!error)
		sum_places(&places, costs);
	for (uint32_t i = 0; i < count && !error; i++)
		take_back(report, &report->communicators[i], rank_of, costs);
	free(costs);
	free(places.list);
	free(places.edges);
	return error;
}
