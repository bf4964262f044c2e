#include "report_notices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "proto/driver_notice.h"
#include "proto/kernel_refusal.h"
#include "proto/metric_notice.h"
#include "proto/topology_notice.h"
#include "report/profile/cost_notices.h"

#define MISSING_TEXT_SIZE 512u
#define RANGES_SIZE       128u
#define RANGES_MAX        8u

struct said {
	uint32_t text, process;
};

static int by_text(const void *a, const void *b)
{
	const struct said *one = a, *two = b;

	if (one->text != two->text)
		return one->text < two->text ? -1 : 1;
	return (one->process > two->process) - (one->process < two->process);
}

/* Texts have numbers in the order in which they came, so equal counts keep that order. */
static int by_processes(const void *a, const void *b)
{
	const struct report_notice *one = a, *two = b;

	if (one->nr_processes != two->nr_processes)
		return one->nr_processes > two->nr_processes ? -1 : 1;
	return (one->text > two->text) - (one->text < two->text);
}

static uint32_t count_all(const struct roster *roster)
{
	uint32_t count = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		count += roster_process(roster, id)->nr_notices;
	return count;
}

static bool has_words(const char *text, uint32_t size, const char *words)
{
	return size >= strlen(words) && memcmp(text, words, strlen(words)) == 0;
}

/* What is for reports of late hosts or of metrics, or for exports, is no line of others. */
static bool is_label(const struct catalog *catalog, uint32_t notice)
{
	uint32_t size;
	const char *text = catalog_string(catalog, notice, &size);

	return has_words(text, size, TOPOLOGY_NOTICE) || has_words(text, size, DRIVER_NOTICE) ||
	       has_words(text, size, METRIC_NOTICE) || has_words(text, size, KERNEL_NOTICE);
}

/* costs: takes what processes say about --max-cost, if there are several; such notices are not among those said. */
static int collect(const struct catalog *catalog, const struct roster *roster,
		   struct report_names *names, struct said *said, uint32_t *count,
		   struct cost_notice *costs, uint32_t *nr_costs)
{
	const bool several = roster_size(roster).processes > 1;
	int error = 0;

	*count = *nr_costs = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes && !error; id++) {
		const struct roster_process *process = roster_process(roster, id);

		for (uint32_t i = 0; i < process->nr_notices && !error; i++) {
			struct said *added = &said[*count];
			struct cost_notice *cost = &costs[*nr_costs];
			uint32_t size;
			const char *text = catalog_string(catalog, process->notices[i], &size);

			if (is_label(catalog, process->notices[i]))
				continue;
			if (several && cost_notice_parse(text, size, cost)) {
				cost->rank = process->rank;
				cost->pid = process->identity.pid;
				++*nr_costs;
				continue;
			}
			added->process = id;
			error = report_names_string(names, process->notices[i], &added->text);
			++*count;
		}
	}
	return error;
}

/* Different notices may become equal when they are cleaned. Each process then counts once. */
static uint32_t group(const struct said *said, uint32_t count, struct report_notice *notices)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && said[i].text == said[i - 1].text) {
			notices[nr - 1].nr_processes += said[i].process != said[i - 1].process;
			continue;
		}
		notices[nr++] = (struct report_notice){.text = said[i].text, .nr_processes = 1};
	}
	return nr;
}

/* ---- what --max-cost did */

static int note_costs(struct cost_notice *costs, uint32_t nr_costs, struct report_names *names,
		      struct report_notice *notices, uint32_t *nr)
{
	char text[COST_NOTICES_TEXT_SIZE];
	int error = 0;

	qsort(costs, nr_costs, sizeof(*costs), cost_notice_compare);
	for (uint32_t i = 0; i < nr_costs && !error; ++*nr) {
		i += cost_notices_write(&costs[i], nr_costs - i, text, &notices[*nr].nr_processes);
		error = report_names_text(names, text, &notices[*nr].text);
	}
	return error;
}

/* ---- ranks that are not there */

struct member {
	uint32_t job;
	int32_t rank, world_size;
};

static int by_job(const void *a, const void *b)
{
	const struct member *one = a, *two = b;

	if (one->job != two->job)
		return one->job < two->job ? -1 : 1;
	return (one->rank > two->rank) - (one->rank < two->rank);
}

/* Writes the ranks that are not there: "2-3, 6". */
static void write_ranges(const struct member *members, uint32_t count, int32_t world_size,
			 char ranges[static RANGES_SIZE])
{
	int32_t next = 0;
	uint32_t nr_ranges = 0;
	size_t used = 0;

	*ranges = '\0';
	for (uint32_t i = 0; i <= count && next < world_size; i++) {
		const int32_t rank = i < count ? members[i].rank : world_size;

		if (rank > next && nr_ranges++ == RANGES_MAX)
			snprintf(ranges + used, RANGES_SIZE - used, ", ...");
		if (rank > next && nr_ranges <= RANGES_MAX)
			used += (size_t)snprintf(ranges + used, RANGES_SIZE - used,
						 rank > next + 1 ? "%s%" PRId32 "-%" PRId32
								 : "%s%" PRId32,
						 used ? ", " : "", next, rank - 1);
		if (rank >= next)
			next = rank == INT32_MAX ? rank : rank + 1;
	}
}

/* Half of a job's nodes look like a whole job: merged by hand, say. So the ranks of a job that have no process here are
 * counted. members: of one job, in order of rank. */
static int note_missing(const struct catalog *catalog, const struct member *members, uint32_t count,
			struct report_names *names, struct report_notice *notices, uint32_t *nr)
{
	uint32_t nr_ranks = 0, size;
	int32_t world_size = 0;
	char text[MISSING_TEXT_SIZE], ranges[RANGES_SIZE];
	const char *job = catalog_string(catalog, members->job, &size);

	for (uint32_t i = 0; i < count; i++) {
		nr_ranks += i == 0 || members[i].rank != members[i - 1].rank;
		if (members[i].world_size > world_size)
			world_size = members[i].world_size;
	}
	if (world_size <= 0 || nr_ranks >= (uint32_t)world_size)
		return 0;
	write_ranges(members, count, world_size, ranges);
	snprintf(text, sizeof(text),
		 "%" PRIu32 " of %" PRId32
		 " ranks%s%.*s are not in this profile (%s): they have used no "
		 "CUDA, were not recorded, or are in a part that was not merged",
		 (uint32_t)world_size - nr_ranks, world_size, size ? " of job " : "", (int)size,
		 job, ranges);
	notices[*nr].nr_processes = count;
	return report_names_text(names, text, &notices[(*nr)++].text);
}

static int note_ranks(const struct catalog *catalog, const struct roster *roster,
		      struct report_names *names, struct report_notice *notices, uint32_t *nr)
{
	const uint32_t nr_processes = roster_size(roster).processes;
	struct member *members = calloc(nr_processes + 1ul, sizeof(*members));
	uint32_t count = 0;
	int error = members ? 0 : -ENOMEM;

	for (uint32_t id = 1; id <= nr_processes && !error; id++) {
		const struct roster_process *process = roster_process(roster, id);

		if (process->rank >= 0)
			members[count++] =
				(struct member){process->job, process->rank, process->world_size};
	}
	if (!error)
		qsort(members, count, sizeof(*members), by_job);
	for (uint32_t i = 0, end; i < count && !error; i = end) {
		for (end = i + 1; end < count && members[end].job == members[i].job; end++)
			;
		error = note_missing(catalog, &members[i], end - i, names, notices, nr);
	}
	free(members);
	return error;
}

/* ---- what the profile lacks */

static const char *state_of(const struct profile *profile, const struct store_note *note)
{
	if (note->kind == STORE_NOTE_DAMAGED)
		return "damaged, and what it held is missing";
	return profile->written ? "too large to be sent at once, and the stacks of the rest "
				  "come later"
				: "too large to be sent at once, and the stacks of the rest "
				  "are missing";
}

static int note_lacks(const struct profile *profile, struct report_names *names,
		      struct report_notice *notices, uint32_t *nr)
{
	int error = 0;

	for (uint32_t i = 0; i < profile->nr_notes && !error; i++) {
		if (profile->notes[i].kind == STORE_NOTE_FULL ||
		    profile->notes[i].kind == STORE_NOTE_TIMELINE)
			continue; /* the verdict has its words; `timeline` has them */
		char text[STORE_NOTE_SIZE + MISSING_TEXT_SIZE];

		snprintf(text, sizeof(text), "a part of this profile was %s: %s",
			 state_of(profile, &profile->notes[i]), profile->notes[i].text);
		notices[*nr] = (struct report_notice){.nr_processes = 0};
		error = report_names_text(names, text, &notices[(*nr)++].text);
	}
	return error;
}

/* ---- the whole */

int report_notices_make(const struct profile *profile, struct report_names *names,
			struct report_notice **notices, uint32_t *nr_notices, uint32_t *absent)
{
	const struct catalog *catalog = profile->collection->catalog;
	const struct roster *roster = profile->collection->roster;
	uint32_t count = count_all(roster);
	struct said *said = calloc(count + 1, sizeof(*said));
	struct cost_notice *costs = calloc(count + 1, sizeof(*costs));
	uint32_t nr_costs;
	/* a text of a job, and of what the profile lacks, beside those of processes */
	const size_t most = (size_t)count + roster_size(roster).processes + profile->nr_notes;
	int error = -ENOMEM;

	*nr_notices = *absent = 0;
	*notices = calloc(most + 1, sizeof(**notices));
	if (said && costs && *notices)
		error = collect(catalog, roster, names, said, &count, costs, &nr_costs);
	if (error) {
		free(*notices);
		*notices = NULL;
	} else {
		qsort(said, count, sizeof(*said), by_text);
		*nr_notices = group(said, count, *notices);
		error = note_costs(costs, nr_costs, names, *notices, nr_notices);
		qsort(*notices, *nr_notices, sizeof(**notices), by_processes);
	}
	const uint32_t nr_said = *nr_notices;
	if (!error)
		error = note_ranks(catalog, roster, names, *notices, nr_notices);
	if (!error && *nr_notices > nr_said)
		*absent = (*notices)[nr_said].text;
	if (!error)
		error = note_lacks(profile, names, *notices, nr_notices);
	free(said);
	free(costs);
	return error;
}

void report_notices_wanted(const struct profile *profile, struct report_tree *tree)
{
	const struct roster *roster = profile->collection->roster;
	const struct catalog *catalog = profile->collection->catalog;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++) {
		const struct roster_process *process = roster_process(roster, id);

		for (uint32_t i = 0; i < process->nr_notices; i++) {
			uint32_t size;
			const char *text = catalog_string(catalog, process->notices[i], &size);

			tree->was_to_measure |= has_words(text, size, METRIC_NOTICE);
			tree->was_to_sample |= has_words(text, size, KERNEL_NOTICE);
		}
	}
}
