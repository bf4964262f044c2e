#include "report_paths.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/idle_fold.h"
#include "aggregator/core/idle_work.h"
#include "aggregator/profile/exact_stack.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "proto/backward_frame.h"
#include "proto/batch/message.h"
#include "report/frames/cuda_name_cut.h"
#include "report/frames/frame_class.h"
#include "report/frames/inner_range.h"
#include "report/frames/start_frames.h"

#define UNKNOWN_STACK "[unknown stack]"
#define CAPTURED_AT   "[captured at]"
#define NO_CALL_CUPTI "[CUPTI]"          /* overhead without a known call */
#define NO_CALL_UM    "[unified memory]" /* work that the driver started itself */

/* Samples of kernels without a record, and of places that have no leaf of their own. */
#define NO_RECORD    "[no kernel record]"
#define OTHER_PLACES "[other instructions]"

#define BACKWARD_TEXT_MAX 256u

static_assert(IDLE_GAP_MIN_NS == 10000, "as the name says");

/* The API function of either stack is a frame of its own. */
static_assert(2 * (WIRE_STACK_DEPTH_MAX * REPORT_INLINES_MAX + 1) + 1 < REPORT_DEPTH_MAX,
	      "no path is deeper than report_tree.h says");

/* A capture stack under the path of a launch. Rows of many streams and kernels share it. */
struct capture {
	uint32_t launch; /* node */
	uint32_t stack_id;
	uint32_t node;
};

struct report_paths {
	const struct catalog *catalog; /* borrowed */
	struct report_names *names;    /* borrowed */
	struct report_paths_view view;
	/* for each frame: 0: not looked at; 1: the user's; else its framework's name + 1 */
	uint32_t *of_frame;
	struct report_node *nodes;
	uint32_t nr_nodes, room_nodes;
	struct capture *captures;
	uint32_t nr_captures, room_captures;
	struct hash_index node_index, capture_index; /* node; capture + 1 */
	uint32_t *of_node;  /* for each stack node: its node + 1; 0: not made yet */
	uint32_t *of_stack; /* for each stack, by its innermost node, when it is cut: as above */
	uint32_t unknown_stack;
	/* inner ranges: the path of a stack is not that of its outer nodes then */
	bool has_operations;
	uint32_t *of_name; /* for each name: as of_frame, of all frames with it */
	uint32_t room_names;
};

static bool node_equals(const void *context, uint32_t id, const void *key)
{
	const struct report_paths *paths = context;

	return memcmp(&paths->nodes[id], key, sizeof(struct report_node)) == 0;
}

static int add_node(struct report_paths *paths, uint32_t parent, uint32_t name, uint32_t *node)
{
	struct report_node wanted = {parent, name};
	uint32_t hash = hash_index_hash(&wanted, sizeof(wanted));

	*node = hash_index_find(&paths->node_index, hash, node_equals, paths, &wanted);
	if (*node)
		return 0;
	if (array_reserve(&paths->nodes, &paths->room_nodes, paths->nr_nodes + 1,
			  sizeof(*paths->nodes)))
		return -ENOMEM;
	/* The root has no entry, because it is never searched. */
	if (paths->nr_nodes && hash_index_insert(&paths->node_index, hash, paths->nr_nodes))
		return -ENOMEM;
	paths->nodes[paths->nr_nodes] = wanted;
	*node = paths->nr_nodes++;
	return 0;
}

static int add_text(struct report_paths *paths, uint32_t parent, const char *text, uint32_t *node)
{
	uint32_t name;
	int error = report_names_text(paths->names, text, &name);

	return error ? error : add_node(paths, parent, name, node);
}

static bool has_operations(const struct catalog *catalog)
{
	const uint32_t nr_nodes = catalog_size(catalog).nodes;

	for (uint32_t id = 1; id <= nr_nodes; id++)
		if (inner_range_is(catalog, id))
			return true;
	return false;
}

struct report_paths *report_paths_create(const struct catalog *catalog, struct report_names *names,
					 const struct report_paths_view *view)
{
	struct report_paths *paths = calloc(1, sizeof(*paths));
	uint32_t root;

	if (!paths)
		return NULL;
	paths->catalog = catalog;
	paths->names = names;
	paths->view = *view;
	paths->has_operations = has_operations(catalog);
	paths->of_node = calloc((size_t)catalog_size(catalog).nodes + 1, sizeof(*paths->of_node));
	paths->of_stack = calloc((size_t)catalog_size(catalog).nodes + 1, sizeof(*paths->of_stack));
	paths->of_frame =
		calloc((size_t)catalog_size(catalog).frames + 1, sizeof(*paths->of_frame));
	if (!paths->of_node || !paths->of_stack || !paths->of_frame ||
	    add_node(paths, REPORT_NODE_ROOT, 0, &root) ||
	    add_text(paths, REPORT_NODE_ROOT, UNKNOWN_STACK, &paths->unknown_stack)) {
		report_paths_destroy(paths);
		return NULL;
	}
	return paths;
}

void report_paths_destroy(struct report_paths *paths)
{
	if (!paths)
		return;
	hash_index_fini(&paths->node_index);
	hash_index_fini(&paths->capture_index);
	free(paths->nodes);
	free(paths->captures);
	free(paths->of_node);
	free(paths->of_stack);
	free(paths->of_frame);
	free(paths->of_name);
	free(paths);
}

/* Finds the name of the frame's framework. *name is 0: it is the user's. */
static int find_framework(struct report_paths *paths, uint32_t frame_id, uint32_t *name)
{
	uint32_t *known = &paths->of_frame[frame_id];
	char text[FRAME_CLASS_NAME_MAX];
	int error = 0;

	*name = 0;
	if (*known == 0 &&
	    frame_class_framework(paths->catalog, frame_id, paths->view.frameworks, text))
		error = report_names_text(paths->names, text, name);
	if (!error && *known == 0)
		*known = *name + 1;
	*name = error ? 0 : *known - 1;
	return error;
}

/* Notes whose frames have these names. A name that the user's frames have, too, is the user's. */
static int note_names(struct report_paths *paths, const uint32_t *names, uint32_t count,
		      uint32_t framework)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t old = paths->room_names;

		if (array_reserve(&paths->of_name, &paths->room_names, names[i] + 1ull,
				  sizeof(*paths->of_name)))
			return -ENOMEM;
		memset(paths->of_name + old, 0,
		       (paths->room_names - old) * sizeof(*paths->of_name));
		uint32_t *known = &paths->of_name[names[i]];
		*known = *known == 0 || *known == framework + 1 ? framework + 1 : 1;
	}
	return 0;
}

uint32_t *report_paths_frameworks(const struct report_paths *paths, uint32_t nr_names)
{
	uint32_t *frameworks = calloc(nr_names + 1ul, sizeof(*frameworks));

	for (uint32_t i = 0; frameworks && i < nr_names && i < paths->room_names; i++)
		frameworks[i] = paths->of_name[i] ? paths->of_name[i] - 1 : 0;
	return frameworks;
}

/* Returns how many of a frame's names are of the frame's own file. A frame of generated code has the lines of the model
 * behind its own name. */
static uint32_t nr_of_file(const struct report_paths *paths, uint32_t frame_id, uint32_t count)
{
	return catalog_frame(paths->catalog, frame_id)->code ? 1 : count;
}

/* Adds the functions of a stack node under *node, except the innermost `dropped`. */
static int add_frame(struct report_paths *paths, uint32_t stack_node, uint32_t dropped,
		     uint32_t *node)
{
	const uint32_t frame = catalog_node(paths->catalog, stack_node)->frame, *names;
	const char *start = start_frames_name(paths->catalog, stack_node);
	uint32_t framework, count, own;

	if (start)
		return strcmp(report_names_get(paths->names, paths->nodes[*node].name), start) == 0
			       ? 0
			       : add_text(paths, *node, start, node);
	int error = find_framework(paths, frame, &framework);
	bool is_one = framework && paths->view.frames == REPORT_FRAMES_USER;

	if (!error)
		error = report_names_frame(paths->names, frame, &names, &count);
	if (error)
		return error;
	own = nr_of_file(paths, frame, count);
	error = note_names(paths, names, own, framework);
	if (!error)
		error = note_names(paths, names + own, count - own, 0);
	if (!error && is_one) {
		if (paths->nodes[*node].name != framework)
			error = add_node(paths, *node, framework, node);
		names += own;
		count -= own;
	}
	for (uint32_t i = 0; !error && i + dropped < count; i++)
		error = add_node(paths, *node, names[i], node);
	return error;
}

/* Adds [backward] NODE. */
static int add_backward(struct report_paths *paths, uint32_t stack_node, uint32_t *node)
{
	char text[BACKWARD_TEXT_MAX];
	int error = add_frame(paths, stack_node, 0, node);

	if (error || !backward_path_needs_mark(paths->catalog, stack_node))
		return error;
	snprintf(text, sizeof(text), "%s" BACKWARD_FRAME_NEAR,
		 report_names_get(paths->names, paths->nodes[*node].name));
	return add_text(paths, paths->nodes[*node].parent, text, node);
}

/* The nodes of a stack that readers see, leaf first. */
struct chain {
	uint32_t nodes[WIRE_STACK_DEPTH_MAX], depth;
	uint32_t backward;   /* index of [backward] NODE; the depth: there is none */
	const char *instead; /* a frame within it, outside of the rest; NULL: none */
	uint32_t known;      /* the node outside of these whose path is known; 0: none */
};

/* -EPROTO: it is too deep. */
static int make_chain(const struct report_paths *paths, uint32_t stack_node, bool remembered,
		      struct chain *chain)
{
	const struct catalog *catalog = paths->catalog;
	bool backward = false;
	uint32_t id = stack_node;

	chain->depth = 0;
	chain->instead = NULL;
	while (id && !(remembered && paths->of_node[id])) {
		if (chain->depth == WIRE_STACK_DEPTH_MAX)
			return -EPROTO;
		if (paths->has_operations && inner_range_is(catalog, id)) {
			id = catalog_node(catalog, id)->parent;
			continue;
		}
		if (!backward && backward_path_is_node(catalog, id)) {
			if (paths->view.backward == REPORT_BACKWARD_THREAD) {
				id = 0;
				break;
			}
			backward = true;
			chain->backward = chain->depth = backward_path_within(
				catalog, chain->nodes, chain->depth, &chain->instead);
			chain->nodes[chain->depth++] = id;
			id = backward_path_forward(catalog, id);
			continue;
		}
		chain->nodes[chain->depth++] = id;
		id = catalog_node(catalog, id)->parent;
	}
	chain->known = id;
	if (!backward)
		chain->backward = chain->depth;
	return 0;
}

/* Adds a whole stack under base, from the outside in. Nodes under the root are remembered, but for those of a backward
 * pass: what readers see of these depends on the frames within. */
static int add_frames(struct report_paths *paths, uint32_t stack_node, uint32_t base,
		      uint32_t *node)
{
	bool remembered = base == REPORT_NODE_ROOT && !paths->has_operations;
	struct chain chain;
	int error = make_chain(paths, stack_node, remembered, &chain);

	*node = !error && chain.known ? paths->of_node[chain.known] - 1 : base;
	bool backward = chain.backward < chain.depth;
	for (uint32_t i = chain.depth; i > 0 && !error; i--) {
		error = i - 1 == chain.backward ? add_backward(paths, chain.nodes[i - 1], node)
						: add_frame(paths, chain.nodes[i - 1], 0, node);
		if (!error && i - 1 == chain.backward && chain.instead)
			error = add_text(paths, *node, chain.instead, node);
		if (!error && remembered && (!backward || i - 1 > chain.backward))
			paths->of_node[chain.nodes[i - 1]] = *node + 1;
	}
	return error;
}

/* Adds the operations around a stack, from the outside in. */
static int add_operations(struct report_paths *paths, uint32_t stack_id, uint32_t *node)
{
	char name[INNER_RANGE_TEXT_MAX], lines[INNER_RANGE_TEXT_MAX];
	uint32_t ranges[WIRE_STACK_DEPTH_MAX], count = 0;
	int error = 0;

	for (uint32_t id = stack_id; id && count < WIRE_STACK_DEPTH_MAX;
	     id = catalog_node(paths->catalog, id)->parent)
		if (inner_range_is(paths->catalog, id))
			ranges[count++] = id;
	while (count > 0 && !error) {
		inner_range_frames(paths->catalog, ranges[--count], name, lines,
				   report_names_has_lines(paths->names));
		if (*lines)
			error = add_text(paths, *node, lines, node);
		if (*name && !error)
			error = add_text(paths, *node, name, node);
	}
	return error;
}

static int add_stack(struct report_paths *paths, uint32_t stack_id, uint32_t base, uint32_t *node)
{
	struct cuda_name_cut cut;
	const uint32_t *names;
	uint32_t count, name = 0;
	int error = 0;

	cuda_name_cut_make(paths->catalog, stack_id, &cut);
	if (cut.frame) {
		error = report_names_frame(paths->names, cut.frame, &names, &count);
		name = error ? 0 : names[cut.part];
	}
	if (!error && cut.dropped) {
		error = add_frames(paths, catalog_node(paths->catalog, cut.outer)->parent, base,
				   node);
		if (!error)
			error = add_frame(paths, cut.outer, cut.dropped, node);
	} else if (!error) {
		error = add_frames(paths, cut.outer, base, node);
	}
	if (!error && name)
		error = add_node(paths, *node, name, node);
	if (!error && paths->has_operations)
		error = add_operations(paths, stack_id, node);
	return error;
}

static bool capture_equals(const void *context, uint32_t id, const void *key)
{
	const struct report_paths *paths = context;

	return memcmp(&paths->captures[id - 1], key, offsetof(struct capture, node)) == 0;
}

static int keep_capture(struct report_paths *paths, uint32_t hash, const struct capture *capture)
{
	if (array_reserve(&paths->captures, &paths->room_captures, paths->nr_captures + 1,
			  sizeof(*paths->captures)))
		return -ENOMEM;
	if (hash_index_insert(&paths->capture_index, hash, paths->nr_captures + 1))
		return -ENOMEM;
	paths->captures[paths->nr_captures++] = *capture;
	return 0;
}

/* Finds the launch's node, and the capture's node under it. */
static int find_capture(struct report_paths *paths, uint32_t stack_id, uint32_t *node)
{
	struct capture wanted = {.launch = *node, .stack_id = stack_id};
	uint32_t hash = hash_index_hash(&wanted, offsetof(struct capture, node));
	uint32_t id = hash_index_find(&paths->capture_index, hash, capture_equals, paths, &wanted);

	if (id) {
		*node = paths->captures[id - 1].node;
		return 0;
	}
	int error = add_text(paths, *node, CAPTURED_AT, node);
	if (!error)
		error = add_stack(paths, stack_id, *node, node);
	wanted.node = *node;
	return error ? error : keep_capture(paths, hash, &wanted);
}

/* Most rows have a stack that another row has, too. */
static int find_stack(struct report_paths *paths, uint32_t stack_id, uint32_t *node)
{
	int error = 0;

	if (paths->of_stack[stack_id]) {
		*node = paths->of_stack[stack_id] - 1;
		return 0;
	}
	error = add_stack(paths, stack_id, REPORT_NODE_ROOT, node);
	if (!error)
		paths->of_stack[stack_id] = *node + 1;
	return error;
}

/* Adds the host's activity as a frame under its stack. */
static int find_idle(struct report_paths *paths, const struct fold_key *key, uint32_t *node)
{
	const uint8_t cause = key->copy_kind & (uint8_t)~IDLE_PAUSE;
	struct fold_key sample = *key;
	uint32_t name;

	if (cause == IDLE_UNKNOWN)
		return add_text(paths, REPORT_NODE_ROOT, REPORT_PATHS_NO_SAMPLE, node);
	if (cause == IDLE_SHORT)
		return add_text(paths, REPORT_NODE_ROOT, REPORT_PATHS_SHORT_GAPS, node);
	if (cause == IDLE_NOT_ON_CPU)
		return add_text(paths, REPORT_NODE_ROOT, REPORT_PATHS_NOT_ON_CPU, node);
	sample.kind = (uint8_t)(REPORT_KIND_HOST + cause);
	sample.copy_kind = 0;
	int error = report_paths_find(paths, &sample, node);
	if (!error)
		error = report_names_leaf(paths->names, &sample, REPORT_GPU_NONE, &name);
	return error ? error : add_node(paths, *node, name, node);
}

int report_paths_find(struct report_paths *paths, const struct fold_key *key, uint32_t *node)
{
	int error = 0;

	if (key->kind == REPORT_KIND_IDLE)
		return find_idle(paths, key, node);
	if (key->matched && key->stack_id != RECORD_STACK_NONE)
		error = find_stack(paths, key->stack_id, node);
	else if (key->kind == RECORD_GPU_OVERHEAD)
		error = add_text(paths, REPORT_NODE_ROOT, NO_CALL_CUPTI, node);
	else if (key->kind == RECORD_GPU_UNIFIED)
		error = add_text(paths, REPORT_NODE_ROOT, NO_CALL_UM, node);
	else
		*node = paths->unknown_stack;
	if (!error && key->capture_stack_id != RECORD_STACK_NONE)
		error = find_capture(paths, key->capture_stack_id, node);
	return error;
}

int report_paths_mark(struct report_paths *paths, uint32_t node, const char *text, uint32_t *within)
{
	return add_text(paths, node, text, within);
}

/* "+0x1a0", where the place's line is not known. */
static bool is_offset(const struct report_paths *paths, uint32_t frame)
{
	const struct catalog_code *code =
		catalog_code(paths->catalog, catalog_frame(paths->catalog, frame)->code);

	return !code->file &&
	       strncmp(catalog_string(paths->catalog, code->name, NULL), "+0x", 3) == 0;
}

/* Adds a frame of a kernel. The kernel's own lines do not repeat its name. */
static int add_place_frame(struct report_paths *paths, uint32_t frame, uint32_t kernel,
			   uint32_t *node)
{
	const struct catalog_code *code =
		catalog_code(paths->catalog, catalog_frame(paths->catalog, frame)->code);
	const bool is_own = code->file && code->name == kernel;
	const uint32_t *names;
	uint32_t count, line;
	int error;

	if ((is_own || is_offset(paths, frame)) && !report_names_has_lines(paths->names))
		return 0;
	if (is_own) {
		error = report_names_line(paths->names, frame, &line);
		return error ? error : add_node(paths, *node, line, node);
	}
	error = report_names_frame(paths->names, frame, &names, &count);
	for (uint32_t i = 0; !error && i < count; i++)
		error = add_node(paths, *node, names[i], node);
	return error;
}

/* Whatever file it is of, code of a GPU is no framework's frame that readers leave out. */
static int add_place(struct report_paths *paths, uint32_t stack_id, uint32_t *node)
{
	uint32_t frames[WIRE_STACK_DEPTH_MAX], depth = 0;
	const struct catalog_node *at = catalog_node(paths->catalog, stack_id);
	const struct catalog_node *end =
		catalog_node(paths->catalog, exact_stack_kernel(paths->catalog, stack_id));
	int error = 0;

	for (; at != end; at = catalog_node(paths->catalog, at->parent)) {
		if (depth == WIRE_STACK_DEPTH_MAX)
			return -EPROTO;
		frames[depth++] = at->frame;
	}
	const uint32_t kernel =
		catalog_code(paths->catalog, catalog_frame(paths->catalog, at->frame)->code)->name;
	while (depth > 0 && !error)
		error = add_place_frame(paths, frames[--depth], kernel, node);
	return error;
}

int report_paths_stall(struct report_paths *paths, const struct stall_part *part, int32_t gpu,
		       uint32_t *node)
{
	uint32_t name;
	int error = part->has_record ? report_paths_find(paths, part->key, node)
				     : add_text(paths, REPORT_NODE_ROOT, NO_RECORD, node);

	if (!error)
		error = report_names_leaf(paths->names, part->key, gpu, &name);
	if (!error)
		error = add_node(paths, *node, name, node);
	if (error || part->kind == STALL_PART_NOT_SAMPLED)
		return error;
	return part->kind == STALL_PART_PLACE ? add_place(paths, part->stack_id, node)
					      : add_text(paths, *node, OTHER_PLACES, node);
}

int report_paths_agreement(struct report_paths *paths, const struct profile *profile,
			   struct stall_agreement **agreement)
{
	int error = stall_agreement_make(profile, agreement);

	for (uint32_t i = 0; !error && i < (*agreement)->nr_rows; i++) {
		struct stall_agreement_row *row = &(*agreement)->rows[i];

		error = report_names_function(paths->names, row->name, &row->name);
	}
	if (error) {
		free(*agreement);
		*agreement = NULL;
	}
	return error;
}

const struct report_node *report_paths_node(const struct report_paths *paths, uint32_t node)
{
	return &paths->nodes[node];
}

struct report_node *report_paths_take(struct report_paths *paths, uint32_t *nr_nodes)
{
	struct report_node *nodes = paths->nodes;

	*nr_nodes = paths->nr_nodes;
	paths->nodes = NULL;
	paths->nr_nodes = paths->room_nodes = 0;
	return nodes;
}
