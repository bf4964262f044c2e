#include "report_straggler_moments.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report_straggler_result.h"

#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/collective_match.h"
#include "report/absence/straggler_deaths.h"
#include "report/profile/clock_map.h"
#include "report/profile/profile.h"

/* A collective: its number among those compared, from 0, and its time on whatever rank. */
struct entry {
	double at;
	struct report_straggler_moment moment;
};

struct search {
	struct report_straggler *report;
	const struct roster *roster;
	const struct clock_map *clocks;
};

static bool has_parts(const struct report_straggler_communicator *of)
{
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		if (straggler_subject_has_part(&of->members[i].found))
			return true;
	for (uint32_t i = 0; i < of->nr_groups; i++)
		if (straggler_subject_has_part(&of->groups[i].found))
			return true;
	return false;
}

static void widen(struct report_straggler_moment *moment, uint64_t start_ns, uint64_t end_ns)
{
	if (!moment->start_ns || start_ns < moment->start_ns)
		moment->start_ns = start_ns;
	if (end_ns > moment->end_ns)
		moment->end_ns = end_ns;
}

static struct report_straggler_moment moment_of(const struct search *search,
						const struct collective_match *match,
						const struct collective_match_row *row)
{
	uint32_t nr_calls;
	const struct collective_log_call *calls =
		collective_log_calls(search->report->folds->log, &nr_calls);
	struct report_straggler_moment moment = {0};

	for (uint32_t i = 0; i < match->nr_members; i++) {
		const uint32_t entry = match->places[row->entries + i];
		const struct collective_log_call *call = &calls[match->entries[entry].call];
		const struct roster_process *process =
			roster_process(search->roster, call->process);
		const uint64_t start_ns = straggler_deaths_realtime(
			search->clocks, process->identity.host, call->call.start_ns);

		if (start_ns)
			widen(&moment, start_ns, start_ns + call->call.duration_ns);
	}
	return moment;
}

/* Lists the match's collectives. If some of those compared have no raw row, their places are about those of their
 * numbers among all numbers. Returns how many. */
static uint32_t list(const struct search *search, const struct collective_match *match,
		     uint64_t used, struct entry *entries)
{
	uint64_t newest = 1;
	uint32_t count = 0;

	for (uint32_t i = 0; i < match->nr_rows; i++) {
		const struct collective_match_row *row = &match->rows[i];

		newest = row->sequence > newest ? row->sequence : newest;
		if (!collective_match_is_first(row))
			entries[count++] = (struct entry){.moment = moment_of(search, match, row)};
	}
	for (uint32_t i = 0, j = 0; i < match->nr_rows; i++) {
		const struct collective_match_row *row = &match->rows[i];

		if (collective_match_is_first(row))
			continue;
		entries[j].at =
			count == used ? (double)j
				      : (double)(row->sequence - 1) / (double)newest * (double)used;
		j++;
	}
	return count;
}

static struct report_straggler_moment find(const struct entry *entries, uint32_t count,
					   const struct straggler_subject *found)
{
	struct report_straggler_moment moment = {0};

	for (uint32_t i = 0; i < count && straggler_subject_has_part(found); i++)
		if (entries[i].moment.start_ns && entries[i].at >= (double)found->lump_from &&
		    entries[i].at < (double)found->lump_to)
			widen(&moment, entries[i].moment.start_ns, entries[i].moment.end_ns);
	return moment;
}

static int look_at(const struct search *search, const struct collective_match *match,
		   struct report_straggler_communicator *of)
{
	struct entry *entries = calloc(match->nr_rows + 1ul, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	const uint32_t count = list(search, match, of->fold->used, entries);
	for (uint32_t i = 0; i < of->fold->nr_members; i++)
		of->members[i].moment = find(entries, count, &of->members[i].found);
	for (uint32_t i = 0; i < search->report->nr_groups; i++) {
		struct report_straggler_group *group = &search->report->groups[i];

		if (&search->report->communicators[group->communicator] == of)
			group->moment = find(entries, count, &group->group->found);
	}
	free(entries);
	return 0;
}

static int take(void *context, struct collective_match *match)
{
	const struct search *search = context;
	struct report_straggler *report = search->report;
	uint64_t *times_ns = NULL;
	bool is_compared = false;
	int error = 0;

	for (uint32_t i = 0; i < report->nr_communicators && !error; i++) {
		struct report_straggler_communicator *of = &report->communicators[i];

		if (of->fold->key != match->key || !has_parts(of))
			continue;
		if (!is_compared)
			error = collective_match_compare(match, report->folds->log, &times_ns);
		is_compared = true;
		if (!error)
			error = look_at(search, match, of);
	}
	free(times_ns);
	collective_match_fini(match);
	return error;
}

int report_straggler_moments_find(const struct profile *profile, struct report_straggler *report)
{
	const struct collection *collection = profile->collection;
	uint32_t nr_offsets;
	const struct clock_offset *offsets = clock_log_offsets(collection->clocks, &nr_offsets);
	struct clock_map *clocks = clock_map_create(offsets, nr_offsets);
	const struct search search = {report, collection->roster, clocks};
	bool wanted = false;
	int error = clocks ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < report->nr_communicators; i++)
		wanted |= has_parts(&report->communicators[i]);
	if (!error && wanted)
		error = collective_match_each(report->folds->log,
					      roster_size(collection->roster).processes, true, take,
					      (void *)&search);
	clock_map_destroy(clocks);
	return error;
}
