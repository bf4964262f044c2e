#include "kernel_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/digest/host_lines.h"
#include "report/model/report_paths.h"

#define RANGE "[NVTX]"

/* Returns the program's own frame on the path of a node. REPORT_NODE_ROOT: there is none. */
static uint32_t own_node(const struct report_paths *paths, const struct report_names *names,
			 uint32_t node)
{
	struct host_frame frame = {.node = REPORT_NODE_ROOT};

	while (node != REPORT_NODE_ROOT) {
		const struct report_node *at = report_paths_node(paths, node);

		if (!host_lines_take(&frame, node, report_names_get(names, at->name)))
			break;
		node = at->parent;
	}
	return frame.node;
}

static void find_lines(struct kernel_place *place, const struct report_paths *paths,
		       const struct report_names *names)
{
	uint32_t node = own_node(paths, names, place->node);

	if (node == REPORT_NODE_ROOT)
		return;
	place->line = report_paths_node(paths, node)->name;
	node = own_node(paths, names, report_paths_node(paths, node)->parent);
	if (node != REPORT_NODE_ROOT)
		place->caller = report_paths_node(paths, node)->name;
}

/* Ranges are the outermost frames of a stack. */
static void find_range(struct kernel_place *place, const struct report_paths *paths,
		       const struct report_names *names)
{
	for (uint32_t node = place->node; node != REPORT_NODE_ROOT && !place->range;) {
		const struct report_node *at = report_paths_node(paths, node);

		if (strncmp(report_names_get(names, at->name), RANGE, strlen(RANGE)) == 0)
			place->range = at->name;
		node = at->parent;
	}
}

static int find(struct kernel_places *places, const struct kernel_times *times,
		struct report_paths *paths)
{
	int error = 0;

	for (uint32_t i = 0; i < times->nr_times && !error; i++) {
		const struct kernel_time *time = &times->times[i];
		const struct fold_key key = {.stack_id = time->stack_id,
					     .capture_stack_id = time->capture_stack_id,
					     .kind = time->kind,
					     .matched = time->stack_id != RECORD_STACK_NONE};

		error = report_paths_find(paths, &key, &places->places[i].node);
	}
	return error;
}

int kernel_places_init(struct kernel_places *places, const struct kernel_times *times,
		       const struct profile *profile, struct report_names *names)
{
	/* The program's own lines are looked for where frames of frameworks are left out. */
	const struct report_paths_view whole = {0}, user = {.frames = REPORT_FRAMES_USER};
	struct report_paths *paths =
		report_paths_create(profile->collection->catalog, names, &whole);
	struct report_paths *own = report_paths_create(profile->collection->catalog, names, &user);
	uint32_t nr_nodes;
	int error = -ENOMEM;

	*places = (struct kernel_places){
		.places = calloc(times->nr_times + 1ull, sizeof(*places->places))};
	if (places->places && paths && own)
		error = find(places, times, own);
	for (uint32_t i = 0; i < times->nr_times && !error; i++)
		find_lines(&places->places[i], own, names);
	if (!error)
		error = find(places, times, paths);
	for (uint32_t i = 0; i < times->nr_times && !error; i++)
		find_range(&places->places[i], paths, names);
	if (!error) {
		places->nodes = report_paths_take(paths, &nr_nodes);
		places->strings = report_names_all(names);
		error = places->nodes && places->strings ? 0 : -ENOMEM;
	}
	report_paths_destroy(own);
	report_paths_destroy(paths);
	return error;
}

void kernel_places_fini(struct kernel_places *places)
{
	free(places->places);
	free(places->nodes);
	free(places->strings);
	*places = (struct kernel_places){0};
}
