#include "report_straggler_joins.h"

#include <string.h>

static uint32_t count_all(const struct report_straggler *report)
{
	return report->nr_communicators + (report->pipeline != NULL);
}

/* Returns the place of a rank, by index, on a communicator; NULL: it is not there. */
static struct report_straggler_member *member_of(const struct report_straggler *report,
						 uint32_t communicator, uint32_t rank)
{
	const struct report_straggler_communicator *of = &report->communicators[communicator];

	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		if (of->members[i].of_rank == rank)
			return &of->members[i];
	return NULL;
}

/* Returns whether a rank was on one communicator only after it had left the other one. Processes of a rank follow one
 * another. */
static bool are_apart(const struct report_straggler *report, uint32_t rank, uint32_t a, uint32_t b)
{
	const struct report_straggler_communicator *first = &report->communicators[a];
	const struct report_straggler_communicator *second = &report->communicators[b];
	const struct report_straggler_member *of_first = member_of(report, a, rank);
	const struct report_straggler_member *of_second = member_of(report, b, rank);

	if (!of_first || !of_second || first->is_pipeline || second->is_pipeline)
		return false;
	const struct collective_fold_member *x = &first->fold->members[of_first - first->members];
	const struct collective_fold_member *y =
		&second->fold->members[of_second - second->members];

	if (x->process != y->process)
		return true;
	return x->end_ns > x->start_ns && y->end_ns > y->start_ns &&
	       (x->end_ns <= y->start_ns || y->end_ns <= x->start_ns);
}

/* ---- groups */

static uint32_t rank_of(const struct report_straggler *report,
			const struct report_straggler_group *group, uint32_t index)
{
	return report->communicators[group->communicator]
		.members[group->group->members[index]]
		.of_rank;
}

/* Returns whether both are the same ranks by the same name. */
static bool is_same(const struct report_straggler *report, const struct report_straggler_group *a,
		    const struct report_straggler_group *b)
{
	const uint32_t count = a->group->nr_members;

	if (a->group->kind != b->group->kind || count != b->group->nr_members ||
	    strcmp(a->name, b->name) != 0)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (rank_of(report, a, i) != rank_of(report, b, i))
			return false;
	return true;
}

/* Returns whether a group's communicator follows or precedes those of an earlier group and of all that add to it. */
static bool continues(const struct report_straggler *report, uint32_t earlier, uint32_t index)
{
	const struct report_straggler_group *group = &report->groups[index];

	for (uint32_t i = earlier; i < index; i++) {
		const struct report_straggler_group *before = &report->groups[i];

		if (i != earlier && (before->joined != earlier + 1 || !before->adds))
			continue;
		for (uint32_t j = 0; j < group->group->nr_members; j++)
			if (!are_apart(report, rank_of(report, group, j), before->communicator,
				       group->communicator))
				return false;
	}
	return true;
}

static void join_group(struct report_straggler *report, uint32_t index)
{
	struct report_straggler_group *group = &report->groups[index];

	for (uint32_t i = 0; i < index && !group->joined; i++) {
		if (report->groups[i].joined || !is_same(report, &report->groups[i], group))
			continue;
		group->joined = i + 1;
		group->adds = continues(report, i, index);
	}
}

const struct straggler_subject *
report_straggler_joins_group(const struct report_straggler *report,
			     const struct report_straggler_group *group, uint32_t communicator)
{
	const uint32_t index = (uint32_t)(group - report->groups);

	for (uint32_t i = 0; i < report->nr_groups; i++)
		if (report->groups[i].communicator == communicator &&
		    (i == index ||
		     (report->groups[i].joined == index + 1 && report->groups[i].adds)))
			return &report->groups[i].group->found;
	return NULL;
}

/* ---- ranks */

const struct straggler_subject *
report_straggler_joins_rank(const struct report_straggler *report,
			    const struct report_straggler_rank *rank, uint32_t communicator)
{
	const struct report_straggler_member *member;

	if (communicator == rank->communicator)
		return &report->communicators[communicator].members[rank->member].found;
	member = member_of(report, communicator, (uint32_t)(rank - report->ranks));
	return member && member->joined ? &member->found : NULL;
}

/* Joins a communicator to those of a rank that count, if it follows or precedes each of these. */
static void join_rank(struct report_straggler *report, uint32_t index, uint32_t communicator)
{
	const struct report_straggler_rank *rank = &report->ranks[index];
	struct report_straggler_member *member = member_of(report, communicator, index);
	bool all = member && member->found.ground && communicator != rank->communicator;

	for (uint32_t i = 0; i < count_all(report) && all; i++)
		all = !report_straggler_joins_rank(report, rank, i) ||
		      are_apart(report, index, communicator, i);
	if (all)
		member->joined = true;
}

void report_straggler_joins_find(struct report_straggler *report)
{
	for (uint32_t i = 1; i < report->nr_groups; i++)
		join_group(report, i);
	for (uint32_t i = 0; i < report->nr_named; i++)
		for (uint32_t j = 0; j < count_all(report) && report->ranks[i].named > 1; j++)
			join_rank(report, i, j);
}
