#include "report_straggler_victims.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report_straggler_result.h"
#include "report_straggler_roots.h"

#include "report/statistics/robust.h"

#define ROOT_WAITS_PART                                                                            \
	10 /* a root waits for a tenth of what others wait for it, at most: less is noise */

/* ---- collectives */

/* Returns the member for which the others of a communicator waited longest, if for at least half of all their waits. */
static uint32_t most_waited_for(const struct report_straggler_communicator *of)
{
	uint64_t all_ns = 0;
	uint32_t most = 0;

	for (uint32_t i = 0; i < of->fold->nr_members; i++) {
		all_ns += of->members[i].found.others_ns;
		if (of->members[i].found.others_ns > of->members[most].found.others_ns)
			most = i;
	}
	return all_ns && of->members[most].found.others_ns >= all_ns / 2 ? most
									 : REPORT_STRAGGLER_NONE;
}

/* Returns what a late rank waited on another communicator above the median of the others of its own one: a wait that
 * they share makes none of them late. Nor is the rank later than its keeper by that, if this is one of them: they go on
 * together. keeper: index of the rank; waited_ns: of each rank of the report; values: room for a double for each. */
static uint64_t waited_more(const struct report_straggler *report,
			    const struct report_straggler_rank *rank, uint32_t keeper,
			    const uint64_t *waited_ns, double *values)
{
	const struct report_straggler_communicator *late =
		&report->communicators[rank->communicator];
	const uint64_t own_ns = waited_ns[rank - report->ranks];
	uint32_t count = 0;

	for (uint32_t i = 0; i < late->fold->nr_members; i++) {
		const uint32_t of_rank = late->members[i].of_rank;

		if (i != rank->member)
			values[count++] = (double)(of_rank == keeper ? own_ns : waited_ns[of_rank]);
	}
	const uint64_t usual_ns = (uint64_t)robust_median(values, count);
	return own_ns > usual_ns ? own_ns - usual_ns : 0;
}

/* Returns whether a rank is late, and not because of this one. */
static bool is_keeper(const struct report_straggler *report, uint32_t keeper, uint32_t kept)
{
	const struct report_straggler_rank *rank = &report->ranks[keeper];
	uint32_t steps = 0;

	while (rank->kept_by && rank->kept_by != report->ranks[kept].id &&
	       steps++ < report->nr_ranks) {
		uint32_t i = 0;

		while (report->ranks[i].id != rank->kept_by)
			i++;
		rank = &report->ranks[i];
	}
	return keeper != kept && !rank->kept_by;
}

/* A named rank whose keeper is looked for, and the longest wait for one until now. */
struct kept {
	struct report_straggler_rank *rank;
	uint64_t most_ns;
	uint64_t *waited_ns; /* as of waited_more(), both */
	double *values;
};

/* Makes a member of a communicator the keeper, if the rank waited more there than for those before. waited_ns has the
 * waits of all members, and is zeroed. */
static void try_keeper(const struct report_straggler *report, uint32_t communicator,
		       uint32_t keeper, struct kept *kept)
{
	const struct report_straggler_communicator *of = &report->communicators[communicator];
	const uint32_t by = of->members[keeper].of_rank;
	const uint32_t index = (uint32_t)(kept->rank - report->ranks);

	/* With two ranks a communicator shows little, so the keeper may be named on another one. */
	if ((report->ranks[by].named || report->ranks[by].groups) && is_keeper(report, by, index)) {
		const uint64_t more_ns =
			waited_more(report, kept->rank, by, kept->waited_ns, kept->values);

		if (more_ns > kept->most_ns) {
			kept->most_ns = more_ns;
			kept->rank->kept_by = report->ranks[by].id;
			kept->rank->kept_on = communicator;
		}
	}
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		kept->waited_ns[of->members[i].of_rank] = 0;
}

/* Returns the root for which a rank waited. Members that come after the root wait as little as the root: of those that
 * are late, for which the others waited elsewhere, the one that is least late came first. If none is late, the root is
 * the member that waited least. waited_ns: of each rank of the report, how much longer a member was in the calls. */
static uint32_t find_root(const struct report_straggler *report,
			  const struct report_straggler_communicator *of, uint32_t kept,
			  const uint64_t *waited_ns)
{
	uint32_t root = REPORT_STRAGGLER_NONE, least = 0;

	for (uint32_t i = 0; i < of->fold->nr_members; i++) {
		const uint32_t by = of->members[i].of_rank;
		const struct report_straggler_rank *rank = &report->ranks[by];

		least = waited_ns[by] ? least : i;
		if (waited_ns[by] > waited_ns[kept] / ROOT_WAITS_PART ||
		    !(rank->named || rank->groups) || !is_keeper(report, by, kept))
			continue;
		if (root == REPORT_STRAGGLER_NONE ||
		    rank->others_mean_ns < report->ranks[of->members[root].of_rank].others_mean_ns)
			root = i;
	}
	return root == REPORT_STRAGGLER_NONE ? least : root;
}

/* Sets kept_by and kept_on of a named rank. waited_ns, values: as of waited_more(), waited_ns zeroed. */
static void find_keeper(const struct report_straggler *report, struct report_straggler_rank *rank,
			uint64_t *waited_ns, double *values)
{
	const struct report_straggler_communicator *late =
		&report->communicators[rank->communicator];
	const struct straggler_subject *found = &late->members[rank->member].found;
	struct kept kept = {
		.rank = rank,
		.most_ns = found->late_ns > 0 ? (uint64_t)found->late_ns * late->fold->used / 2 : 0,
		.waited_ns = waited_ns,
		.values = values,
	};

	for (uint32_t i = 0; i < report->nr_communicators && found->late_ns > 0; i++) {
		const struct report_straggler_communicator *of = &report->communicators[i];

		if (i == rank->communicator)
			continue;
		const uint32_t last = most_waited_for(of);
		for (uint32_t j = 0; j < of->fold->nr_members && last != REPORT_STRAGGLER_NONE; j++)
			waited_ns[of->members[j].of_rank] = of->members[j].found.waited_ns;
		if (last != REPORT_STRAGGLER_NONE)
			try_keeper(report, i, last, &kept);
		if (report_straggler_roots_find(of, waited_ns))
			try_keeper(
				report, i,
				find_root(report, of, (uint32_t)(rank - report->ranks), waited_ns),
				&kept);
	}
}

static int find_keepers(const struct report_straggler *report)
{
	uint64_t *waited_ns = calloc(report->nr_ranks + 1ul, sizeof(*waited_ns));
	uint32_t most = 1;

	for (uint32_t i = 0; i < report->nr_communicators; i++)
		if (report->communicators[i].fold->nr_members > most)
			most = report->communicators[i].fold->nr_members;
	double *values = calloc(most, sizeof(*values));
	int error = waited_ns && values ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < report->nr_named && !error; i++)
		find_keeper(report, &report->ranks[i], waited_ns, values);
	free(waited_ns);
	free(values);
	return error;
}

/* ---- groups */

/* A group, and room to tell which of its ranks were kept waiting. */
struct kept_group {
	const struct report_straggler_communicator *late;
	const struct straggler_group *group;
	bool *kept;          /* owns, as the others; of each of its ranks */
	uint64_t *waited_ns; /* of each process, on another communicator; zeroed */
	double *values;
};

/* Marks the ranks of a group that waited for a late one on another communicator, by half of the group's lateness more
 * than ranks outside of all groups did. */
static void mark_kept(const struct kept_group *kept, const struct report_straggler_communicator *of)
{
	const struct collective_fold *late = kept->late->fold;
	const uint32_t keeper = most_waited_for(of);
	uint32_t count = 0;

	if (keeper == REPORT_STRAGGLER_NONE || !of->members[keeper].found.ground)
		return;
	const uint32_t by = of->fold->members[keeper].process;
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		kept->waited_ns[of->fold->members[i].process] = of->members[i].found.waited_ns;
	for (uint32_t i = 0; i < late->nr_members; i++)
		if (!kept->late->members[i].in_group && late->members[i].process != by)
			kept->values[count++] = (double)kept->waited_ns[late->members[i].process];
	const double least = (double)kept->group->found.late_ns * (double)late->used / 2 +
			     (count ? robust_median(kept->values, count) : 0);
	for (uint32_t i = 0; i < kept->group->nr_members; i++) {
		const uint32_t process = late->members[kept->group->members[i]].process;

		kept->kept[i] |= process != by && (double)kept->waited_ns[process] >= least;
	}
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		kept->waited_ns[of->fold->members[i].process] = 0;
}

/* Returns whether fewer than three quarters of a group's ranks are late by themselves: the others were kept waiting. */
static bool is_kept(const struct report_straggler *report, const struct kept_group *kept)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < report->nr_communicators; i++)
		if (&report->communicators[i] != kept->late)
			mark_kept(kept, &report->communicators[i]);
	for (uint32_t i = 0; i < kept->group->nr_members; i++) {
		count += kept->kept[i];
		kept->kept[i] = false;
	}
	return 4 * count > kept->group->nr_members;
}

/* Returns a number above those of all processes, and not below that of the ranks of any communicator. */
static size_t room_for_all(const struct report_straggler *report)
{
	size_t room = 1;

	for (uint32_t i = 0; i < report->nr_communicators; i++) {
		const struct collective_fold *fold = report->communicators[i].fold;

		room = fold->nr_members > room ? fold->nr_members : room;
		for (uint32_t j = 0; j < fold->nr_members; j++)
			if (fold->members[j].process >= room)
				room = fold->members[j].process + 1ul;
	}
	return room;
}

static int drop_kept_groups(struct report_straggler *report)
{
	const size_t room = room_for_all(report);
	struct kept_group kept = {
		.kept = calloc(room, sizeof(*kept.kept)),
		.waited_ns = calloc(room, sizeof(*kept.waited_ns)),
		.values = calloc(room, sizeof(*kept.values)),
	};
	const int error = kept.kept && kept.waited_ns && kept.values ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < report->nr_communicators && !error; i++) {
		struct report_straggler_communicator *of = &report->communicators[i];

		kept.late = of;
		for (uint32_t j = of->nr_groups; j-- > 0;) {
			kept.group = &of->groups[j];
			if (kept.group->found.late_ns > 0 && is_kept(report, &kept))
				report_straggler_drop_group(of, j);
		}
	}
	free(kept.kept);
	free(kept.waited_ns);
	free(kept.values);
	return error;
}

/* ---- links */

/* Returns whether a rank's collectives on a slow link take so much longer that it comes late to others. */
static bool is_late_by(const struct report_straggler_communicator *late,
		       const struct straggler_subject *found, uint32_t process,
		       const struct straggler_link *link)
{
	const struct collective_fold *fold = link->fold;
	const uint64_t longer_ns = (link->moves_ns - link->usual_ns) / fold->nr_members;
	bool is_member = false;

	for (uint32_t i = 0; i < fold->nr_members; i++)
		is_member |= fold->members[i].process == process;
	return is_member && fold != late->fold && found->late_ns > 0 &&
	       2 * longer_ns >= (uint64_t)found->late_ns * late->fold->used;
}

static void find_links(const struct report_straggler *report)
{
	for (uint32_t i = 0; i < report->nr_named; i++) {
		struct report_straggler_rank *rank = &report->ranks[i];
		const struct report_straggler_communicator *late =
			&report->communicators[rank->communicator];

		for (uint32_t j = report->nr_links; j-- > 0;)
			if (is_late_by(late, &late->members[rank->member].found,
				       late->fold->members[rank->member].process,
				       &report->links[j]))
				rank->link = &report->links[j];
		if (rank->link)
			rank->kept_by = 0;
	}
}

/* ---- pipelines */

/* The pipelines as judged; NULL: they were not. */
static const struct report_straggler_communicator *
find_pipelines(const struct report_straggler *report)
{
	const struct report_straggler_communicator *of =
		&report->communicators[report->nr_communicators];

	return report->pipeline && of->fold->used ? of : NULL;
}

/* Returns whether a rank of the pipelines is late there, by itself or in a group. */
static bool is_late(const struct report_straggler_communicator *pipelines, uint32_t member)
{
	return pipelines->members[member].found.ground || pipelines->members[member].in_group;
}

/* Returns the late rank of the same pipeline, or else that for which the others waited most; REPORT_STRAGGLER_NONE:
 * none is late. */
static uint32_t find_late(const struct report_straggler *report,
			  const struct report_straggler_communicator *pipelines, uint32_t member)
{
	const struct straggler_stage_rank *ranks = report->pipeline->stages.ranks;
	uint32_t most = REPORT_STRAGGLER_NONE;

	for (uint32_t i = 0; i < pipelines->fold->nr_members; i++) {
		if (!is_late(pipelines, i))
			continue;
		if (most == REPORT_STRAGGLER_NONE) {
			most = i;
			continue;
		}
		const bool same = ranks[i].pipeline == ranks[member].pipeline;
		const bool most_same = ranks[most].pipeline == ranks[member].pipeline;
		if (same != most_same ? same
				      : pipelines->members[i].found.others_ns >
						pipelines->members[most].found.others_ns)
			most = i;
	}
	return most;
}

/* Returns the process's place in the pipelines, if it is not late there, but waits for half of a lateness at least. */
static uint32_t find_victim(const struct report_straggler *report,
			    const struct report_straggler_communicator *pipelines, uint32_t process,
			    const struct straggler_subject *late, uint64_t used, uint32_t others)
{
	const uint32_t place = straggler_pipeline_find(report->pipeline, process);
	uint64_t late_ns = late->late_ns > 0 ? (uint64_t)late->late_ns * used : 0;

	if (late->others_ns / others > late_ns)
		late_ns = late->others_ns / others;
	return place != COLLECTIVE_FOLD_NONE && !is_late(pipelines, place) &&
			       report->pipeline->times[place].waits_ns >= late_ns / 2
		       ? place
		       : REPORT_STRAGGLER_NONE;
}

/* The ranks of a group wait side by side: what one of them is late, all are. */
static bool is_excused(const struct report_straggler *report,
		       const struct report_straggler_communicator *pipelines,
		       const struct report_straggler_communicator *of,
		       const struct straggler_group *group)
{
	uint32_t victims = 0;

	for (uint32_t i = 0; i < group->nr_members; i++) {
		const uint32_t member = group->members[i];
		const uint32_t process = of->fold->members[member].process;
		const uint32_t place = straggler_pipeline_find(report->pipeline, process);

		victims += place != COLLECTIVE_FOLD_NONE &&
			   (is_late(pipelines, place) ||
			    find_victim(report, pipelines, process, &of->members[member].found,
					of->fold->used,
					of->fold->nr_members - 1) != REPORT_STRAGGLER_NONE);
	}
	return 2 * victims >= group->nr_members;
}

static void excuse_victims(struct report_straggler *report)
{
	const struct report_straggler_communicator *pipelines = find_pipelines(report);

	for (uint32_t i = 0; i < report->nr_communicators && pipelines; i++) {
		struct report_straggler_communicator *of = &report->communicators[i];

		for (uint32_t j = 0; j < of->fold->nr_members; j++) {
			struct straggler_subject *found = &of->members[j].found;

			if (!found->ground ||
			    find_victim(report, pipelines, of->fold->members[j].process, found,
					of->fold->used,
					of->fold->nr_members - 1) == REPORT_STRAGGLER_NONE)
				continue;
			of->members[j].excused = true;
			found->ground = STRAGGLER_NOT_NAMED;
		}
		for (uint32_t j = of->nr_groups; j-- > 0;)
			if (is_excused(report, pipelines, of, &of->groups[j]))
				report_straggler_drop_group(of, j);
	}
}

int report_straggler_victims_excuse(struct report_straggler *report)
{
	excuse_victims(report);
	return drop_kept_groups(report);
}

/* Sets kept_by of the ranks that were excused on a communicator. */
static void find_keepers_in_pipeline(struct report_straggler *report,
				     const struct report_straggler_communicator *pipelines,
				     const struct report_straggler_communicator *of)
{
	for (uint32_t i = 0; i < of->fold->nr_members; i++) {
		struct report_straggler_rank *rank = &report->ranks[of->members[i].of_rank];

		rank->excused |= of->members[i].found.others_ns &&
				 find_victim(report, pipelines, of->fold->members[i].process,
					     &of->members[i].found, of->fold->used,
					     of->fold->nr_members - 1) != REPORT_STRAGGLER_NONE;
		if (!of->members[i].excused || rank->named)
			continue;
		const uint32_t late = find_late(
			report, pipelines,
			straggler_pipeline_find(report->pipeline, of->fold->members[i].process));
		if (late != REPORT_STRAGGLER_NONE)
			rank->kept_by = report->ranks[pipelines->members[late].of_rank].id;
	}
}

int report_straggler_victims_find(struct report_straggler *report)
{
	const struct report_straggler_communicator *pipelines = find_pipelines(report);
	int error = find_keepers(report);

	find_links(report);
	for (uint32_t i = 0; i < report->nr_communicators && pipelines; i++)
		find_keepers_in_pipeline(report, pipelines, &report->communicators[i]);
	return error;
}
