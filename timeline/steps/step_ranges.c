#include "step_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "report/model/report_names.h"
#include "report/model/report_paths.h"

#define RANGE_PREFIX "[NVTX]"

enum in_range { RANGE_NEW, RANGE_WITHIN, RANGE_OUTSIDE };

/* EARLIER: it is open, but the mark that opened it is missing. */
enum open_range { OPEN_NONE, OPEN_STEP, OPEN_EARLIER };

struct thread {
	uint32_t process_id, tid;
	uint16_t window; /* of its last mark; 0: there was none */
	enum open_range open;
};

struct step_ranges {
	const struct profile *profile;
	const char *name;
	struct report_names *names; /* owns, as all below */
	struct report_paths *paths;
	uint8_t *stacks; /* [id]: enum in_range */
	uint32_t nr_stacks;
	uint32_t *numbers; /* [process - 1]: of its last step */
	struct thread *threads;
	uint32_t nr_threads, room_threads, recent; /* recent: the thread of the last mark */
};

struct step_ranges *step_ranges_create(const struct profile *profile, const char *name)
{
	const struct catalog *catalog = profile->collection->catalog;
	struct step_ranges *ranges = calloc(1, sizeof(*ranges));

	if (!ranges)
		return NULL;
	*ranges = (struct step_ranges){
		.profile = profile,
		.name = name,
		.names = report_names_create(profile, DEMANGLE_NONE, REPORT_LINES_OFF),
		.nr_stacks = catalog_size(catalog).nodes,
	};
	if (ranges->names)
		ranges->paths =
			report_paths_create(catalog, ranges->names, &(struct report_paths_view){0});
	ranges->stacks = calloc(ranges->nr_stacks + 1ull, 1);
	ranges->numbers = calloc(roster_size(profile->collection->roster).processes + 1ull,
				 sizeof(*ranges->numbers));
	if (ranges->paths && ranges->stacks && ranges->numbers)
		return ranges;
	step_ranges_destroy(ranges);
	return NULL;
}

void step_ranges_destroy(struct step_ranges *ranges)
{
	if (!ranges)
		return;
	report_paths_destroy(ranges->paths);
	report_names_destroy(ranges->names);
	free(ranges->stacks);
	free(ranges->numbers);
	free(ranges->threads);
	free(ranges);
}

/* Finds whether the range is open at a mark. 0; -EPROTO; -ENOMEM. */
static int look(struct step_ranges *ranges, const struct timeline_launch *mark, bool *is_within)
{
	const struct fold_key key = {.process_id = mark->process_id,
				     .tid = mark->tid,
				     .stack_id = mark->stack_id,
				     .kind = RECORD_GPU_KERNEL,
				     .matched = 1};
	uint8_t *known = &ranges->stacks[mark->stack_id <= ranges->nr_stacks ? mark->stack_id : 0];
	uint32_t node = REPORT_NODE_ROOT;
	int error = 0;

	if (*known == RANGE_NEW && known != ranges->stacks)
		error = report_paths_find(ranges->paths, &key, &node);
	if (*known == RANGE_NEW && !error)
		*known = RANGE_OUTSIDE;
	for (; node != REPORT_NODE_ROOT && !error;
	     node = report_paths_node(ranges->paths, node)->parent) {
		const char *text = report_names_get(ranges->names,
						    report_paths_node(ranges->paths, node)->name);

		if (strncmp(text, RANGE_PREFIX, strlen(RANGE_PREFIX)) == 0 &&
		    strcmp(text + strlen(RANGE_PREFIX), ranges->name) == 0)
			*known = RANGE_WITHIN;
	}
	*is_within = *known == RANGE_WITHIN;
	return error;
}

static struct thread *find_thread(struct step_ranges *ranges, const struct timeline_launch *mark)
{
	uint32_t i = ranges->recent;

	for (uint32_t looked = 0; looked < ranges->nr_threads; looked++) {
		if (ranges->threads[i].tid == mark->tid &&
		    ranges->threads[i].process_id == mark->process_id) {
			ranges->recent = i;
			return &ranges->threads[i];
		}
		i = i + 1 < ranges->nr_threads ? i + 1 : 0;
	}
	if (array_reserve(&ranges->threads, &ranges->room_threads, ranges->nr_threads + 1ull,
			  sizeof(*ranges->threads)))
		return NULL;
	ranges->recent = ranges->nr_threads;
	ranges->threads[ranges->nr_threads] =
		(struct thread){.process_id = mark->process_id, .tid = mark->tid};
	return &ranges->threads[ranges->nr_threads++];
}

int step_ranges_add(struct step_ranges *ranges, const struct timeline_launch *launch,
		    struct timeline_steps *steps)
{
	struct timeline_launch made = *launch;
	bool is_within;

	if (!(launch->flags & RECORD_LAUNCH_MARK) || launch->mark != RECORD_MARK_RANGES)
		return 0;
	struct thread *thread = find_thread(ranges, launch);
	int error = thread ? look(ranges, launch, &is_within) : -ENOMEM;
	if (error)
		return error;
	if (thread->window && thread->window != launch->window) {
		thread->window = launch->window;
		thread->open = is_within ? OPEN_EARLIER : OPEN_NONE;
		return 0;
	}
	const enum open_range before = thread->open;

	thread->window = launch->window;
	if (is_within == (before != OPEN_NONE))
		return 0;
	thread->open = is_within ? OPEN_STEP : OPEN_NONE;
	if (before == OPEN_EARLIER)
		return 0;
	made.mark = is_within ? RECORD_MARK_STEP : RECORD_MARK_STEP_END;
	if (is_within)
		made.correlation_id = ++ranges->numbers[launch->process_id - 1];
	return timeline_steps_add(steps, &made);
}
