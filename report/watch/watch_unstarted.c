#include "watch_unstarted.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "base/text_print.h"
#include "report/names/clean_text.h"
#include "report/names/communicator_names.h"

struct member {
	uint32_t job;
	int32_t rank, world_size;
	bool is_running;
};

static int by_rank(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Fills ranks with those that no member has. members: in order of rank. */
static uint32_t list_ranks(const struct member *members, uint32_t count, int32_t world_size,
			   int32_t ranks[static WATCH_UNSTARTED_RANKS])
{
	uint32_t nr = 0, at = 0;

	for (int32_t rank = 0; rank < world_size && nr < WATCH_UNSTARTED_RANKS; rank++) {
		while (at < count && members[at].rank < rank)
			at++;
		if (at == count || members[at].rank != rank)
			ranks[nr++] = rank;
	}
	return nr;
}

/* "ranks 3, 5 have not started: 6 of 8 are here" */
static char *describe(const int32_t *ranks, uint32_t nr_missing, uint32_t nr_here,
		      int32_t world_size)
{
	char names[COMMUNICATOR_NAME_SIZE];

	if (nr_missing <= WATCH_UNSTARTED_RANKS)
		communicator_names_write(ranks, nr_missing, -1, names);
	else
		snprintf(names, sizeof(names), "%" PRIu32 " ranks", nr_missing);
	return text_print("%s %s not started, or used no CUDA yet: %" PRIu32 " of %" PRId32
			  " are here",
			  names, nr_missing == 1 ? "has" : "have", nr_here, world_size);
}

static char *name_job(const struct catalog *catalog, uint32_t job)
{
	uint32_t size;
	const char *text = catalog_string(catalog, job, &size);
	char *clean = size ? clean_text_of(text, size) : NULL;
	char *name = clean ? text_print("ranks of job %s", clean) : strdup("ranks of the job");

	free(clean);
	return name;
}

/* Looks at the members of one job. */
static int add(const struct catalog *catalog, const struct member *members, uint32_t count,
	       struct watch_absence **list, uint32_t *nr)
{
	int32_t ranks[WATCH_UNSTARTED_RANKS], world_size = 0;
	uint32_t nr_here = 0;
	bool is_running = false;

	for (uint32_t i = 0; i < count; i++) {
		nr_here += i == 0 || members[i].rank != members[i - 1].rank;
		is_running |= members[i].is_running;
		if (members[i].world_size > world_size)
			world_size = members[i].world_size;
	}
	if (world_size <= 0 || nr_here >= (uint32_t)world_size)
		return 0;
	const uint32_t nr_missing = (uint32_t)world_size - nr_here;
	const uint32_t nr_listed = list_ranks(members, count, world_size, ranks);
	struct watch_absence absence = {
		.finding = {.name = name_job(catalog, members->job),
			    .text = describe(ranks, nr_missing, nr_here, world_size),
			    .communicator = strdup(""),
			    .ranks = malloc((nr_listed + 1ul) * sizeof(*ranks)),
			    .nr_ranks = nr_listed,
			    .is_group = nr_missing > 1},
		.nr_waiting = nr_here,
		.progress = nr_here,
		.usual_ns = WATCH_UNSTARTED_NS,
		.is_over = !is_running,
	};
	const struct watch_finding *finding = &absence.finding;
	int error = finding->name && finding->text && finding->communicator && finding->ranks
			    ? 0
			    : -ENOMEM;

	if (!error) {
		memcpy(finding->ranks, ranks, nr_listed * sizeof(*ranks));
		error = array_append(list, nr, &absence, sizeof(absence));
	}
	if (error)
		watch_finding_fini(&absence.finding);
	return error;
}

int watch_unstarted_add(const struct profile_recent *recent, struct watch_absence **list,
			uint32_t *count)
{
	const struct collection *collection = recent->profile->collection;
	const uint32_t nr_processes = roster_size(collection->roster).processes;
	struct member *members = calloc(nr_processes + 1ul, sizeof(*members));
	uint32_t nr = 0;
	int error = members ? 0 : -ENOMEM;

	for (uint32_t id = 1; id <= nr_processes && !error; id++) {
		const struct roster_process *process = roster_process(collection->roster, id);

		if (process->rank >= 0)
			members[nr++] =
				(struct member){process->job, process->rank, process->world_size,
						process->state == PROCESS_RUNNING};
	}
	if (nr)
		qsort(members, nr, sizeof(*members), by_rank);
	for (uint32_t i = 0, end; i < nr && !error; i = end) {
		for (end = i + 1; end < nr && members[end].job == members[i].job; end++)
			;
		error = add(collection->catalog, &members[i], end - i, list, count);
	}
	free(members);
	return error;
}
