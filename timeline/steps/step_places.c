#include "step_places.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_raw.h"
#include "report/digest/host_lines.h"
#include "report/model/report_paths.h"

#define NODES_MAX 1024u /* of a gap's stacks; later ones do not count */

struct node_time {
	uint32_t node;
	uint64_t ns;
};

struct gap {
	const struct step_row *row;
	struct step_place *place;
	struct node_time *nodes; /* owns */
	uint32_t nr_nodes;
};

struct finder {
	struct timeline_source *source;
	struct report_names *names;
	struct report_paths *paths; /* owns */
	struct gap gaps[STEP_PLACES_MAX];
	uint32_t nr_gaps, nr_stacks;
};

/* ---- functions */

static const char *name_of(const struct finder *finder, uint32_t node)
{
	return report_names_get(finder->names, report_paths_node(finder->paths, node)->name);
}

/* The program's own frame on the path of a node; its node is REPORT_NODE_ROOT if there is none. */
static struct host_frame own_frame(const struct finder *finder, uint32_t node)
{
	struct host_frame frame = {.node = REPORT_NODE_ROOT};

	while (node != REPORT_NODE_ROOT && host_lines_take(&frame, node, name_of(finder, node)))
		node = report_paths_node(finder->paths, node)->parent;
	return frame;
}

static uint32_t own_node(const struct finder *finder, uint32_t node)
{
	return own_frame(finder, node).node;
}

/* The next own frame outward, of the same kind: one with a line behind one with a line. Zeroed: there is none. */
static struct host_frame caller_of(const struct finder *finder, const struct host_frame *frame)
{
	const struct host_frame caller =
		own_frame(finder, report_paths_node(finder->paths, frame->node)->parent);

	return caller.has_line == frame->has_line ? caller : (struct host_frame){0};
}

/* 0: there is none. */
static uint32_t text_of(const struct finder *finder, const struct host_frame *frame)
{
	return frame->is_found ? report_paths_node(finder->paths, frame->node)->name : 0;
}

/* Names the innermost frames in which the two launches differ: what both have within is a helper that launches. Where
 * all frames are the same, the innermost stays. */
static void name_launches(const struct finder *finder, uint32_t before_node, uint32_t after_node,
			  struct step_place *place)
{
	struct host_frame before = own_frame(finder, before_node);
	struct host_frame after = own_frame(finder, after_node);

	place->before = text_of(finder, &before);
	place->after = text_of(finder, &after);
	while (before.is_found && after.is_found &&
	       text_of(finder, &before) == text_of(finder, &after)) {
		before = caller_of(finder, &before);
		after = caller_of(finder, &after);
	}
	if (before.is_found && after.is_found) {
		place->before = text_of(finder, &before);
		place->after = text_of(finder, &after);
	}
}

/* REPORT_NODE_ROOT: the stack is not known. */
static int find_launch(struct finder *finder, const struct step_row *row, uint32_t stack_id,
		       uint32_t *node)
{
	const struct fold_key key = {.process_id = row->process_id,
				     .tid = row->gap.tid,
				     .stack_id = stack_id,
				     .kind = RECORD_GPU_KERNEL,
				     .matched = 1};

	*node = REPORT_NODE_ROOT;
	return stack_id && stack_id <= finder->nr_stacks
		       ? report_paths_find(finder->paths, &key, node)
		       : 0;
}

/* ---- samples */

static void add_time(struct gap *gap, uint32_t node, uint64_t ns)
{
	uint32_t i = 0;

	while (i < gap->nr_nodes && gap->nodes[i].node != node)
		i++;
	if (i == NODES_MAX)
		return;
	if (i == gap->nr_nodes)
		gap->nodes[gap->nr_nodes++] = (struct node_time){.node = node};
	gap->nodes[i].ns += ns;
}

static int add_sample(struct finder *finder, struct gap *gap, const struct raw_sample *raw,
		      uint64_t ns)
{
	const struct host_sample *sample = &raw->sample;
	const struct fold_key key = {.process_id = raw->process_id,
				     .tid = sample->tid,
				     .stack_id = sample->stack_id,
				     .kind = (uint8_t)(REPORT_KIND_HOST + sample->kind),
				     .matched = 1};
	uint32_t node;

	if (!sample->stack_id || sample->stack_id > finder->nr_stacks)
		return 0;
	int error = report_paths_find(finder->paths, &key, &node);
	for (; !error && node != REPORT_NODE_ROOT;
	     node = report_paths_node(finder->paths, node)->parent)
		add_time(gap, node, ns);
	return error;
}

static int take_sample(void *context, const struct raw_sample *raw, int64_t realtime_offset_ns)
{
	struct finder *finder = context;
	uint64_t end_ns = raw->sample.time_ns;
	int error = 0;

	(void)realtime_offset_ns;
	if (raw->sample.kind > HOST_SAMPLE_OFF_CPU)
		return 0;
	for (uint32_t i = 0; i < finder->nr_gaps && !error; i++) {
		struct gap *gap = &finder->gaps[i];
		const struct step_gap *time = &gap->row->gap;

		if (gap->row->process_id != raw->process_id || time->tid != raw->sample.tid)
			continue;
		end_ns = raw->sample.time_ns;
		if (!timeline_source_place(finder->source, &TIMELINE_REQUEST_ALL, raw->process_id,
					   &end_ns))
			continue;
		const uint64_t begin_ns =
			end_ns > raw->sample.duration_ns ? end_ns - raw->sample.duration_ns : 0;
		const uint64_t from_ns = begin_ns > time->begin_ns ? begin_ns : time->begin_ns;
		const uint64_t to_ns = end_ns < time->end_ns ? end_ns : time->end_ns;
		if (from_ns < to_ns)
			error = add_sample(finder, gap, raw, to_ns - from_ns);
	}
	return error;
}

static uint32_t depth_of(const struct finder *finder, uint32_t node)
{
	uint32_t depth = 0;

	for (; node != REPORT_NODE_ROOT; node = report_paths_node(finder->paths, node)->parent)
		depth++;
	return depth;
}

static uint64_t time_below(const struct gap *gap, uint32_t node)
{
	for (uint32_t i = 0; i < gap->nr_nodes; i++)
		if (gap->nodes[i].node == node)
			return gap->nodes[i].ns;
	return 0;
}

/* Takes the program's own frame on the path of the innermost frame that has half of the gap. */
static void choose(const struct finder *finder, struct gap *gap)
{
	const uint64_t half_ns = (gap->row->gap.end_ns - gap->row->gap.begin_ns) / 2;
	uint32_t deepest = 0, within = REPORT_NODE_ROOT;

	for (uint32_t i = 0; i < gap->nr_nodes; i++) {
		const uint32_t node = gap->nodes[i].node;

		if (gap->nodes[i].ns < half_ns || depth_of(finder, node) <= deepest)
			continue;
		deepest = depth_of(finder, node);
		within = node;
	}
	within = own_node(finder, within);
	if (within == REPORT_NODE_ROOT)
		return;
	gap->place->within = report_paths_node(finder->paths, within)->name;
	gap->place->within_ns = time_below(gap, within);
}

static int read_samples(struct finder *finder, const char *store_path)
{
	const uint64_t newest = timeline_source_profile(finder->source)->raw_samples;
	struct database *database;

	if (!newest || !finder->nr_gaps)
		return 0;
	for (uint32_t i = 0; i < finder->nr_gaps; i++)
		if (!(finder->gaps[i].nodes = calloc(NODES_MAX, sizeof(struct node_time))))
			return -ENOMEM;
	int error = database_open(store_path, true, &database, NULL);
	if (error)
		return error;
	error = store_raw_each(database, newest, take_sample, finder);
	database_close(database);
	for (uint32_t i = 0; i < finder->nr_gaps && !error; i++)
		choose(finder, &finder->gaps[i]);
	return error;
}

/* ---- all */

static int find(struct finder *finder, struct step_places *places, const struct step_rows *rows,
		const struct step_findings *findings, const char *store_path)
{
	int error = 0;

	for (uint32_t i = 0; i < findings->nr_outliers && !error; i++) {
		const struct step_row *row = &rows->rows[findings->outliers[i].row];
		struct step_place *place = &places->places[i];
		uint32_t before, after;

		if (findings->outliers[i].part != STEP_IDLE_HOST || !row->gap.tid)
			continue;
		error = find_launch(finder, row, row->gap.before, &before);
		if (!error)
			error = find_launch(finder, row, row->gap.after, &after);
		if (!error)
			name_launches(finder, before, after, place);
		if (finder->nr_gaps < STEP_PLACES_MAX)
			finder->gaps[finder->nr_gaps++] = (struct gap){.row = row, .place = place};
	}
	return error ? error : read_samples(finder, store_path);
}

int step_places_init(struct step_places *places, const struct step_rows *rows,
		     const struct step_findings *findings, struct timeline_source *source,
		     const char *store_path, struct report_names *names)
{
	const struct catalog *catalog = timeline_source_profile(source)->collection->catalog;
	struct finder *finder = calloc(1, sizeof(*finder));
	int error = -ENOMEM;

	*places = (struct step_places){
		.places = calloc(findings->nr_outliers + 1ull, sizeof(*places->places))};
	if (!finder)
		return error;
	finder->source = source;
	finder->names = names;
	finder->nr_stacks = catalog_size(catalog).nodes;
	finder->paths = report_paths_create(
		catalog, names, &(struct report_paths_view){.frames = REPORT_FRAMES_USER});
	if (places->places && finder->paths)
		error = find(finder, places, rows, findings, store_path);
	for (uint32_t i = 0; i < finder->nr_gaps; i++)
		free(finder->gaps[i].nodes);
	report_paths_destroy(finder->paths);
	free(finder);
	return error;
}

void step_places_fini(struct step_places *places)
{
	free(places->places);
	*places = (struct step_places){0};
}
