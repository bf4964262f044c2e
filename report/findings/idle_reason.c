#include "idle_reason.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "finding_limits.h"

#include "report/digest/host_lines.h"
#include "report/digest/loader_name.h"
#include "report/model/report_paths.h"

struct of_gpu {
	const struct report_tree *hosts;
	const struct gpu_row *row;
};

static bool is_idle_of_gpu(const struct of_gpu *of, const struct report_leaf *leaf)
{
	return leaf->kind == REPORT_KIND_IDLE && leaf->gpu == of->row->busy->gpu &&
	       strcmp(of->hosts->strings[leaf->host], of->row->busy->host) == 0;
}

static int is_of_gpu(const void *context, const struct report_leaf *leaf)
{
	return is_idle_of_gpu(context, leaf) && !leaf->is_pause;
}

static uint64_t pause_ns_of(const struct of_gpu *of)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < of->hosts->nr_leaves; i++) {
		const struct report_leaf *leaf = &of->hosts->leaves[i];

		if (is_idle_of_gpu(of, leaf) && leaf->is_pause)
			ns += leaf->ns;
	}
	return ns < of->row->busy->idle_ns ? ns : of->row->busy->idle_ns;
}

static bool has_waits(const struct of_gpu *of)
{
	for (uint32_t i = 0; i < of->hosts->nr_leaves; i++) {
		const struct report_leaf *leaf = &of->hosts->leaves[i];

		if (leaf->kind == REPORT_KIND_SYNC &&
		    strcmp(of->hosts->strings[leaf->host], of->row->busy->host) == 0)
			return true;
	}
	return false;
}

/* Sums up the time without a reason. */
static void look_at_unknown(const struct of_gpu *of, struct idle_reason *reason)
{
	const struct report_tree *tree = of->hosts;
	uint64_t known_ns = 0;

	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];
		const char *name = tree->strings[tree->nodes[leaf->node].name];

		if (!is_of_gpu(of, leaf))
			continue;
		if (strcmp(name, REPORT_PATHS_NOT_ON_CPU) == 0)
			reason->off_cpu_ns += leaf->ns;
		else if (strcmp(name, REPORT_PATHS_NO_SAMPLE) != 0)
			known_ns += leaf->ns;
	}
	known_ns += reason->off_cpu_ns + reason->pause_ns;
	if (of->row->busy->idle_ns > known_ns)
		reason->unseen_ns = of->row->busy->idle_ns - known_ns;
}

/* Returns the innermost loader's frame on the path; 0: there is none. *is_below: the line calls it. */
static uint32_t loader_of(const struct report_tree *tree, uint32_t node, uint32_t line,
			  bool *is_below)
{
	*is_below = true;
	for (; node != REPORT_NODE_ROOT; node = tree->nodes[node].parent) {
		const uint32_t name = tree->nodes[node].name;

		*is_below &= name != line;
		if (loader_name_is(tree->strings[name]))
			return name;
	}
	return 0;
}

static bool has_most_in_loader(const struct of_gpu *of, double idle_ns)
{
	uint64_t ns = 0;
	bool is_below;

	for (uint32_t i = 0; i < of->hosts->nr_leaves; i++)
		if (is_of_gpu(of, &of->hosts->leaves[i]) &&
		    loader_of(of->hosts, of->hosts->leaves[i].node, 0, &is_below))
			ns += of->hosts->leaves[i].ns;
	return ns && (double)ns >= IDLE_CAUSE_SHARE * idle_ns;
}

/* Takes what the thread did for the longest under the line, and the loader's frame if most of that was in a loader. */
static void look_at_paths(const struct of_gpu *of, struct idle_reason *reason)
{
	const struct report_tree *tree = of->hosts;
	uint64_t most_ns = 0, most_loader_ns = 0, loader_ns = 0, all_ns = 0;

	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];

		if (!is_of_gpu(of, leaf) || host_lines_of(tree, leaf->node) != reason->line)
			continue;
		bool is_below;
		const uint32_t loader = loader_of(tree, leaf->node, reason->line, &is_below);
		all_ns += leaf->ns;
		loader_ns += loader ? leaf->ns : 0;
		if (loader && leaf->ns >= most_loader_ns) {
			reason->within = loader;
			reason->is_below = is_below;
			most_loader_ns = leaf->ns;
		}
		if (leaf->ns <= most_ns)
			continue;
		const char *what = tree->strings[tree->nodes[leaf->node].name];
		most_ns = leaf->ns;
		snprintf(reason->what, sizeof(reason->what), "%s",
			 strcmp(what, "[CPU]") == 0          ? "works"
			 : strcmp(what, "[Off-CPU]gpu") == 0 ? "waits for the GPU"
							     : "waits");
	}
	if (2 * loader_ns < all_ns)
		reason->within = 0;
}

int idle_reason_find(const struct report_tree *hosts, const struct gpu_row *row,
		     struct idle_reason *reason)
{
	const struct of_gpu of = {hosts, row};
	struct host_lines lines;

	memset(reason, 0, sizeof(*reason));
	if (!hosts)
		return 0;
	int result = host_lines_init(&lines, hosts, REPORT_PLANE_IDLE, is_of_gpu, &of);
	if (result)
		return result;
	reason->pause_ns = pause_ns_of(&of);
	reason->is_recorded = lines.ns > 0 || reason->pause_ns > 0;
	reason->has_waits = has_waits(&of);
	look_at_unknown(&of, reason);
	const double idle_ns = (double)(row->busy->idle_ns - reason->pause_ns);
	if (lines.nr_lines && (double)lines.lines[0].ns >= IDLE_CAUSE_SHARE * idle_ns) {
		reason->line = lines.lines[0].name;
		reason->part = (double)lines.lines[0].ns / idle_ns;
		look_at_paths(&of, reason);
	} else {
		reason->is_loading = has_most_in_loader(&of, idle_ns);
	}
	host_lines_fini(&lines);
	return 0;
}

struct of_gpus {
	const struct report_tree *hosts;
	const struct gpu_row *const *rows;
	uint32_t nr_rows;
};

static int is_of_gpus(const void *context, const struct report_leaf *leaf)
{
	const struct of_gpus *of = context;

	for (uint32_t i = 0; i < of->nr_rows; i++)
		if (is_of_gpu(&(struct of_gpu){of->hosts, of->rows[i]}, leaf))
			return 1;
	return 0;
}

int idle_reason_lines(const struct report_tree *hosts, const struct gpu_row *const *rows,
		      uint32_t nr_rows, struct host_lines *lines)
{
	const struct of_gpus of = {hosts, rows, nr_rows};

	memset(lines, 0, sizeof(*lines));
	if (!hosts)
		return 0;
	int error = host_lines_init(lines, hosts, REPORT_PLANE_IDLE, is_of_gpus, &of);
	if (!error)
		error = host_lines_add_callers(lines, hosts, REPORT_PLANE_IDLE);
	if (error)
		host_lines_fini(lines);
	return error;
}
