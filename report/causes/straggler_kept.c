#include "straggler_kept.h"

#include <errno.h>
#include <stdlib.h>

#include "report/profile/straggler_rank.h"
#include "straggler_question.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/kept_log.h"
#include "aggregator/profile/raw_log.h"
#include "base/array.h"
#include "report/profile/profile.h"

/* Of a question; a forged store may ask for more. Ten hours of 65 ranks have 70 million times, of which a job so wide
 * keeps one of hundreds. */
#define TIMES_MAX (1ull << 28)
#define KEPT_MAX  (1ull << 23)

uint32_t straggler_kept_level(const struct collection *collection, enum kept_sort sort,
			      const uint32_t *processes, uint32_t count)
{
	const struct roster *roster = collection->roster;
	const uint32_t nr_processes = roster_size(roster).processes;
	uint32_t highest = 0;

	for (uint32_t id = 1; id <= nr_processes; id++) {
		uint32_t level = kept_log_level(collection->kept, sort, id);

		for (uint32_t i = 0; i < count && level > highest; i++)
			if (id == processes[i] ||
			    straggler_rank_same(roster_process(roster, id),
						roster_process(roster, processes[i])))
				highest = level;
	}
	return highest;
}

/* What is kept. offset_ns leads to the common clock. */
struct keeping {
	uint64_t length_ns, offset_ns;
	uint32_t level;
	struct room *room;
};

struct room {
	uint64_t times, kept; /* that may still be looked at, and be kept */
};

/* Adds the parts of a window that are kept; those that touch become one. 0, -ENOMEM, or -E2BIG: there is no room. */
static int add_kept(const struct straggler_window *window, const struct keeping *keeping,
		    struct straggler_window **kept, uint32_t *nr_kept)
{
	const uint64_t length_ns = keeping->length_ns, offset_ns = keeping->offset_ns;
	const uint64_t first = (window->start_ns + offset_ns) / length_ns;
	const uint64_t last = (window->end_ns + offset_ns - 1) / length_ns;
	int error = 0;

	if (last < first)
		return 0;
	if (last - first >= keeping->room->times)
		return -E2BIG;
	keeping->room->times -= last - first + 1;
	for (uint64_t i = first; i <= last && !error; i++) {
		struct straggler_window part = {
			i == first ? window->start_ns : i * length_ns - offset_ns,
			i == last ? window->end_ns : (i + 1) * length_ns - offset_ns};

		if (kept_window_level(i) < keeping->level)
			continue;
		if (*nr_kept && (*kept)[*nr_kept - 1].end_ns == part.start_ns)
			(*kept)[*nr_kept - 1].end_ns = part.end_ns;
		else
			error = keeping->room->kept--
					? array_append(kept, nr_kept, &part, sizeof(part))
					: -E2BIG;
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

static int cut(struct straggler_window_list *list, const struct keeping *keeping)
{
	struct straggler_window *kept = NULL;
	uint32_t nr_kept = 0;
	int error = 0;

	for (uint32_t i = 0; i < list->count && !error; i++)
		error = add_kept(&list->windows[i], keeping, &kept, &nr_kept);
	if (error) {
		free(kept);
		if (error != -E2BIG)
			return error;
		/* As if nothing were kept. */
		keeping->room->times = keeping->room->kept = 0;
		list->collectives = 0;
		list->is_cut = true;
		list->count = 0;
		return 0;
	}
	if (list->count)
		list->collectives *=
			length_of(kept, nr_kept) / length_of(list->windows, list->count);
	free(list->windows);
	list->windows = kept;
	list->is_cut = list->count > 0;
	list->count = nr_kept;
	return 0;
}

int straggler_kept_cut(const struct profile *profile, struct straggler_party *parties,
		       uint32_t nr_parties)
{
	const struct collection *collection = profile->collection;
	struct room room = {TIMES_MAX, KEPT_MAX};
	uint32_t processes[1 + STRAGGLER_OTHERS_MAX] = {0};
	int error = 0;

	for (uint32_t i = 0; i < nr_parties; i++)
		processes[i] = parties[i].process;
	struct keeping host = {KEPT_LOG_HOST_NS, 0,
			       straggler_kept_level(collection, KEPT_HOST, processes, nr_parties),
			       &room};
	const struct keeping gpu = {
		KEPT_LOG_GPU_NS, 0,
		straggler_kept_level(collection, KEPT_GPU, processes, nr_parties), &room};
	for (uint32_t i = 0; i < nr_parties && !error; i++) {
		const struct roster_process *process =
			roster_process(collection->roster, parties[i].process);
		struct straggler_windows *windows = &parties[i].windows;

		host.offset_ns = (uint64_t)raw_log_offset(collection->raw, process->identity.host);
		if (host.level)
			error = cut(&windows->host, &host);
		if (host.level && !error)
			error = cut(&windows->idle, &host);
		if (gpu.level && !error)
			error = cut(&windows->gpu, &gpu);
	}
	return error;
}
