#include "straggler_kept.h"

#include <errno.h>
#include <stdlib.h>

#include "straggler_question.h"
#include "straggler_rank.h"

#include "aggregator/core/kept_window.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/idle_log.h"
#include "aggregator/profile/raw_log.h"
#include "base/array.h"
#include "report/profile/profile.h"

#define WINDOWS_MAX (1ull << 26) /* 77 days: no job is longer */

/* Returns the highest level of all processes of the parties. */
static uint32_t find_level(const struct roster *roster, const struct idle_log *idle,
			   const struct straggler_party *parties, uint32_t nr_parties)
{
	const uint32_t nr_processes = roster_size(roster).processes;
	uint32_t highest = 0;

	for (uint32_t id = 1; id <= nr_processes; id++) {
		uint32_t level = idle_log_level(idle, id);

		for (uint32_t i = 0; i < nr_parties && level > highest; i++)
			if (id == parties[i].process ||
			    straggler_rank_same(roster_process(roster, id),
						roster_process(roster, parties[i].process)))
				highest = level;
	}
	return highest;
}

/* Adds the parts of a window that are kept; those that touch become one. offset_ns leads to the common clock. */
static int add_kept(const struct straggler_window *window, uint32_t level, uint64_t offset_ns,
		    struct straggler_window **kept, uint32_t *nr_kept)
{
	const uint64_t first = (window->start_ns + offset_ns) / KEPT_WINDOW_NS;
	const uint64_t last = (window->end_ns + offset_ns - 1) / KEPT_WINDOW_NS;
	int error = 0;

	if (last < first || last - first >= WINDOWS_MAX)
		return 0;
	for (uint64_t i = first; i <= last && !error; i++) {
		struct straggler_window part = {i * KEPT_WINDOW_NS - offset_ns,
						(i + 1) * KEPT_WINDOW_NS - offset_ns};

		if (i == first)
			part.start_ns = window->start_ns;
		if (i == last)
			part.end_ns = window->end_ns;
		if (kept_window_level(i * KEPT_WINDOW_NS) < level)
			continue;
		if (*nr_kept && (*kept)[*nr_kept - 1].end_ns == part.start_ns)
			(*kept)[*nr_kept - 1].end_ns = part.end_ns;
		else
			error = array_append(kept, nr_kept, &part, sizeof(part));
	}
	return error;
}

static double length_of(const struct straggler_window *windows, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += (double)(windows[i].end_ns - windows[i].start_ns);
	return sum;
}

static int cut(struct straggler_window **windows, uint32_t *count, double *collectives,
	       uint32_t level, uint64_t offset_ns)
{
	struct straggler_window *kept = NULL;
	uint32_t nr_kept = 0;
	int error = 0;

	for (uint32_t i = 0; i < *count && !error; i++)
		error = add_kept(&(*windows)[i], level, offset_ns, &kept, &nr_kept);
	if (error) {
		free(kept);
		return error;
	}
	if (*count)
		*collectives *= length_of(kept, nr_kept) / length_of(*windows, *count);
	free(*windows);
	*windows = kept;
	*count = nr_kept;
	return 0;
}

int straggler_kept_cut(const struct profile *profile, struct straggler_party *parties,
		       uint32_t nr_parties)
{
	const struct collection *collection = profile->collection;
	uint32_t level = find_level(collection->roster, collection->idle, parties, nr_parties);
	int error = 0;

	for (uint32_t i = 0; i < nr_parties && level && !error; i++) {
		const struct roster_process *process =
			roster_process(collection->roster, parties[i].process);
		uint64_t offset_ns =
			(uint64_t)raw_log_offset(collection->raw, process->identity.host);
		struct straggler_windows *windows = &parties[i].windows;

		error = cut(&windows->host, &windows->nr_host, &windows->host_collectives, level,
			    offset_ns);
		if (!error)
			error = cut(&windows->gpu, &windows->nr_gpu, &windows->gpu_collectives,
				    level, offset_ns);
	}
	return error;
}
