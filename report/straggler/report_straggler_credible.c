#include "report_straggler_credible.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report_straggler_result.h"

#include "base/array.h"
#include "base/text_print.h"

#define TIMES 2 /* the longest span of a rank */

static uint64_t longest_span(const struct collective_fold *fold)
{
	uint64_t longest_ns = 0;

	for (uint32_t i = 0; i < fold->nr_members; i++) {
		const struct collective_fold_member *member = &fold->members[i];
		const uint64_t spans[] = {
			member->end_ns > member->start_ns ? member->end_ns - member->start_ns : 0,
			member->gpu_end_ns > member->gpu_start_ns
				? member->gpu_end_ns - member->gpu_start_ns
				: 0};

		for (int j = 0; j < 2; j++)
			longest_ns = spans[j] > longest_ns ? spans[j] : longest_ns;
	}
	return longest_ns;
}

/* Returns what cannot be of a member; NULL: nothing. Sums may not fit 64 bits. */
static const char *wrong_of_member(const struct report_straggler_communicator *of, uint32_t index,
				   double most_ns)
{
	const struct straggler_subject *found = &of->members[index].found;
	const double others = of->fold->nr_members - 1;
	double kept_ns = 0, late_ns = 0;

	for (uint32_t i = 0; i < COLLECTIVE_FOLD_BUCKETS; i++) {
		const struct collective_fold_bucket *bucket = &of->fold->members[index].buckets[i];

		kept_ns += (double)bucket->kept_ns;
		late_ns += fabs((double)bucket->late_twice_ns) / 2;
	}
	if (found->last > of->fold->used)
		return "is last in more collectives than were compared";
	if ((double)found->others_ns > others * most_ns || kept_ns > others * most_ns)
		return "is waited for longer than the run takes";
	if (late_ns > most_ns)
		return "is late by more than the run takes";
	return NULL;
}

/* *reason says what cannot be, "of all ranks rank 3 is last in …"; NULL: nothing. The caller owns it. 0 or -ENOMEM. */
static int find_wrong(const struct report_straggler_communicator *of, char **reason)
{
	const struct collective_fold *fold = of->fold;
	const double most_ns = TIMES * (double)longest_span(fold);
	double last = 0;

	*reason = NULL;
	for (uint32_t i = 0; i < fold->nr_members; i++) {
		const char *wrong = wrong_of_member(of, i, most_ns);

		last += (double)of->members[i].found.last;
		if (!wrong)
			continue;
		*reason = text_print(
			"%s: the communicator's rank %" PRIu32 " %s", of->name,
			fold->members[i].rank == COLLECTIVE_NOT_KNOWN ? i : fold->members[i].rank,
			wrong);
		return *reason ? 0 : -ENOMEM;
	}
	const char *wrong = fold->used > fold->collectives || fold->complete > fold->collectives ||
					    fold->by_gpu > fold->used
				    ? "more collectives are compared than there are"
			    : last > (double)fold->used
				    ? "several ranks are the last one in the same collective"
				    : NULL;
	if (wrong)
		*reason = text_print("%s: %s", of->name, wrong);
	return wrong && !*reason ? -ENOMEM : 0;
}

static void fini(struct report_straggler_communicator *of)
{
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		free(of->members[i].behind);
	free(of->members);
}

int report_straggler_credible_keep(struct report_straggler *report)
{
	uint32_t kept = 0;
	int error = 0;

	for (uint32_t i = 0; i < report->nr_communicators; i++) {
		struct report_straggler_communicator *of = &report->communicators[i];
		char *reason = NULL;

		if (!error)
			error = find_wrong(of, &reason);
		if (!reason) {
			report->communicators[kept++] = *of;
			continue;
		}
		fini(of);
		error = array_append(&report->wrong, &report->nr_wrong, &reason, sizeof(reason));
		if (error)
			free(reason);
	}
	report->nr_communicators = kept;
	return error;
}
