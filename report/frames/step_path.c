#include "step_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "proto/batch/message.h"
#include "proto/record.h"

#define RANGE "[NVTX]"

/* What the frames from the root to a node say. */
struct found {
	struct step_evidence evidence;
	bool known;
};

struct step_paths {
	const struct catalog *catalog; /* borrowed */
	struct found *of_node;         /* owns; by node */
};

struct step_paths *step_paths_create(const struct catalog *catalog)
{
	struct step_paths *paths = calloc(1, sizeof(*paths));

	if (!paths)
		return NULL;
	paths->catalog = catalog;
	paths->of_node = calloc((size_t)catalog_size(catalog).nodes + 1, sizeof(*paths->of_node));
	if (!paths->of_node) {
		step_paths_destroy(paths);
		return NULL;
	}
	return paths;
}

void step_paths_destroy(struct step_paths *paths)
{
	if (!paths)
		return;
	free(paths->of_node);
	free(paths);
}

static struct step_evidence evidence_of(const struct catalog *catalog, uint32_t node)
{
	struct step_evidence evidence = {.captured = 0};
	struct frame_text name, text = frame_text_mark(catalog, node);

	if (frame_text_begins(text, RANGE)) {
		text.data += strlen(RANGE);
		text.size -= (uint32_t)strlen(RANGE);
		evidence.range = step_kind_of_range(text);
		evidence.captured = step_kind_captured(text);
		return evidence;
	}
	text = frame_text_python(catalog, node, &name);
	if (name.size)
		evidence.function = step_kind_of_function(text, name);
	return evidence;
}

/* Finds what a stack says; none says nothing. */
static int find(struct step_paths *paths, uint32_t stack_id, struct step_evidence *evidence)
{
	uint32_t chain[WIRE_STACK_DEPTH_MAX], depth = 0, id = stack_id;

	for (; id && !paths->of_node[id].known; id = frame_text_parent(paths->catalog, id)) {
		if (depth == WIRE_STACK_DEPTH_MAX)
			return -EPROTO;
		chain[depth++] = id;
	}
	*evidence = paths->of_node[id].evidence;
	while (depth > 0) {
		const struct step_evidence inner = evidence_of(paths->catalog, chain[--depth]);

		step_kind_within(evidence, &inner);
		paths->of_node[chain[depth]] = (struct found){*evidence, true};
	}
	return 0;
}

int step_paths_find(struct step_paths *paths, uint32_t stack_id, uint32_t capture_stack_id,
		    bool is_graph, struct step *step)
{
	const bool captured = capture_stack_id != RECORD_STACK_NONE;
	struct step_evidence launch, capture;
	int error = find(paths, stack_id, &launch);

	if (!error)
		error = find(paths, capture_stack_id, &capture);
	if (!error)
		*step = step_kind_decide(&launch, captured ? &capture : NULL, is_graph || captured);
	return error;
}
