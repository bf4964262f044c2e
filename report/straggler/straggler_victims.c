#include "straggler_victims.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/names/robust.h"

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
 * they share makes none of them late. waited_ns: of each rank of the report; values: room for a double for each. */
static uint64_t waited_more(const struct report_straggler *report,
			    const struct report_straggler_rank *rank, const uint64_t *waited_ns,
			    double *values)
{
	const struct report_straggler_communicator *late =
		&report->communicators[rank->communicator];
	const uint64_t own_ns = waited_ns[rank - report->ranks];
	uint32_t count = 0;

	for (uint32_t i = 0; i < late->fold->nr_members; i++)
		if (i != rank->member)
			values[count++] = (double)waited_ns[late->members[i].of_rank];
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

/* Sets kept_by and kept_on of a named rank. waited_ns, values: as of waited_more(), waited_ns zeroed. */
static void find_keeper(const struct report_straggler *report, struct report_straggler_rank *rank,
			uint64_t *waited_ns, double *values)
{
	const struct report_straggler_communicator *late =
		&report->communicators[rank->communicator];
	const struct straggler_subject *found = &late->members[rank->member].found;
	const uint32_t index = (uint32_t)(rank - report->ranks);
	uint64_t most_ns = found->late_ns > 0 ? (uint64_t)found->late_ns * late->fold->used / 2 : 0;

	for (uint32_t i = 0; i < report->nr_communicators && found->late_ns > 0; i++) {
		const struct report_straggler_communicator *of = &report->communicators[i];
		uint32_t keeper =
			i == rank->communicator ? REPORT_STRAGGLER_NONE : most_waited_for(of);

		if (keeper == REPORT_STRAGGLER_NONE)
			continue;
		const uint32_t by = of->members[keeper].of_rank;
		if ((!of->members[keeper].found.ground && !report->ranks[by].groups) ||
		    !is_keeper(report, by, index))
			continue;
		for (uint32_t j = 0; j < of->fold->nr_members; j++)
			waited_ns[of->members[j].of_rank] = of->members[j].found.waited_ns;
		const uint64_t more_ns = waited_more(report, rank, waited_ns, values);
		if (more_ns > most_ns) {
			most_ns = more_ns;
			rank->kept_by = report->ranks[by].id;
			rank->kept_on = i;
		}
		for (uint32_t j = 0; j < of->fold->nr_members; j++)
			waited_ns[of->members[j].of_rank] = 0;
	}
}

int straggler_victims_find(struct report_straggler *report)
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
