#include "report_build.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_behind.h"
#include "report_completeness.h"
#include "report_groups.h"
#include "report_key.h"
#include "report_leaves.h"
#include "report_names.h"
#include "report_notices.h"
#include "report_paths.h"
#include "report_samples.h"
#include "report_streams.h"
#include "report_usage.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "proto/ledger.h"
#include "proto/memory_kind.h"
#include "report/frames/step_path.h"
#include "report/metrics/report_metrics.h"
#include "report/profile/profile_ledger.h"
#include "report/resource/resource_split.h"
#include "report/stalls/stall_split.h"

#define JOB_TEXT_MAX 256u

/* The tree that callers see, and its memory. */
struct report {
	struct report_tree tree; /* first, so that destroy can free the whole */
	struct report_names *names;
	const char **strings;
	uint32_t *frameworks;
	struct report_node *nodes;
	struct report_leaf *leaves;
	struct report_process *processes;
	struct report_loss *losses;
	struct report_notice *notices;
	struct report_memory_row *memory;
	struct stall_agreement *agreement;
	struct report_metrics *metrics;
	char *title, *verdict;
};

/* The state of one build. */
struct builder {
	struct report *report;
	const struct profile *profile;
	const struct collection *collection; /* borrowed from the profile */
	struct report_paths *paths;          /* owns */
	struct report_leaves leaves;
	struct report_split *split; /* owns; NULL: totals are shown as a whole */
	struct step_paths *steps;   /* owns; NULL: they are not wanted */
	enum report_memory memory;
	struct report_piece *pieces; /* borrowed */
	uint32_t nr_pieces;
	uint64_t unmatched, damaged; /* records; histograms */
	const struct resource_usage *usage;
	struct report_usage *usage_rows; /* owns; NULL: none is wanted */
};

void report_tree_destroy(struct report_tree *tree)
{
	struct report *report = (struct report *)tree;

	if (!report)
		return;
	report_names_destroy(report->names);
	free(report->strings);
	free(report->frameworks);
	free(report->nodes);
	report_leaves_free(report->leaves, report->tree.nr_leaves);
	free(report->processes);
	free(report->losses);
	free(report->notices);
	free(report->memory);
	free(report->tree.usage);
	free(report->agreement);
	report_metrics_destroy(report->metrics);
	free(report->title);
	free(report->verdict);
	free(report);
}

/* ---- leaves */

static void add(uint64_t *sum, uint64_t more)
{
	*sum = ledger_add_saturating(*sum, more);
}

static void add_to_plane(struct builder *builder, const struct fold_row *row)
{
	struct report_plane_total *total =
		&builder->report->tree.plane_totals[report_plane_of(row->key.kind)];

	add(&total->count, row->count);
	add(&total->ns, row->ns);
	add(&total->bytes, row->bytes);
}

static void add_to_sums(struct builder *builder, const struct fold_row *row)
{
	struct report_tree *tree = &builder->report->tree;

	add_to_plane(builder, row);
	/* Much overhead comes from calls that are not recorded, so it does not count as unmatched. */
	if (!row->key.matched && row->key.kind != RECORD_GPU_OVERHEAD)
		add(&builder->unmatched, row->count);
	if (report_plane_of(row->key.kind) != REPORT_PLANE_GPU)
		return;
	const bool is_kernel = row->key.kind == RECORD_GPU_KERNEL;
	const bool is_graph = row->key.kind == RECORD_GPU_GRAPH;
	add(is_kernel ? &tree->kernels : is_graph ? &tree->graphs : &tree->copies, row->count);
	add(is_kernel ? &tree->kernel_ns : is_graph ? &tree->graph_ns : &tree->copy_ns, row->ns);
	if (row->key.kind == RECORD_GPU_MEMSET) {
		add(&tree->fills, row->count);
		add(&tree->memset_ns, row->ns);
	}
	if (row->key.matched)
		add(&tree->matched, row->count);
}

static bool is_memory(const struct fold_key *key)
{
	return key->kind == RECORD_GPU_ALLOC || key->kind == RECORD_GPU_FREE;
}

/* node: the innermost frame of the path. part: of resources, which the leaf is; else NULL. */
static int add_leaf_of(struct builder *builder, const struct fold_row *row, uint32_t node,
		       const struct resource_part *part)
{
	const struct fold_key *key = &row->key;
	const struct roster *roster = builder->collection->roster;
	const struct roster_process *process = roster_process(roster, key->process_id);
	struct report_leaf leaf;

	memset(&leaf, 0, sizeof(leaf));
	leaf.job = builder->report->processes[key->process_id - 1].job;
	leaf.host = builder->report->processes[key->process_id - 1].host;
	leaf.process = key->process_id - 1;
	leaf.rank = process->rank >= 0 ? process->rank : REPORT_RANK_NONE;
	leaf.gpu = report_key_gpu(roster, process, key);
	leaf.context_id = key->context_id;
	leaf.stream_id = key->stream_id;
	leaf.tid = key->tid;
	leaf.kind = key->kind;
	if (part)
		report_usage_fill(builder->usage_rows, part, &leaf);
	leaf.is_pause = report_samples_is_pause(key);
	if (is_memory(key) && memory_kind_space(key->copy_kind) == MEMORY_SPACE_HOST)
		leaf.gpu = REPORT_GPU_NONE;
	leaf.node = node;
	int error = builder->steps ? report_names_step(builder->report->names, builder->steps, key,
						       &leaf.step)
				   : 0;
	if (!error && report_kind_has_stream(key->kind))
		error = report_streams_name(builder->report->names, builder->collection->catalog,
					    process, key, &leaf.stream);
	if (!error && report_kind_has_stream(key->kind))
		error = report_streams_context(builder->report->names, process, key, &leaf.context);
	if (!error)
		error = report_names_leaf(builder->report->names, key, leaf.gpu, &leaf.name);
	leaf.count = row->count;
	leaf.ns = row->ns;
	leaf.bytes = row->bytes;
	return error ? error : report_leaves_add(&builder->leaves, &leaf, row);
}

static int add_leaf_at(struct builder *builder, const struct fold_row *row, uint32_t node)
{
	return add_leaf_of(builder, row, node, NULL);
}

/* text: a frame between the path and the leaf; "": none. */
static int add_leaf(struct builder *builder, const struct fold_row *row, const char *text)
{
	uint32_t node;
	int error = report_paths_find(builder->paths, &row->key, &node);

	if (!error && *text)
		error = report_paths_mark(builder->paths, node, text, &node);
	return error ? error : add_leaf_at(builder, row, node);
}

static int take_part(void *context, const struct fold_row *part, enum report_split_part which,
		     const char *text)
{
	(void)which;
	return add_leaf(context, part, text);
}

static int add_row_leaf(struct builder *builder, const struct fold_row *row)
{
	return builder->split ? report_split_each(builder->split, row, take_part, builder)
			      : add_leaf(builder, row, "");
}

/* Memory has no total of all its records, so its plane's total is the sum of the wanted leaves. */
static int add_memory_leaf(struct builder *builder, const struct fold_row *row)
{
	int error = add_row_leaf(builder, row);

	if (!error)
		add_to_plane(builder, row);
	return error;
}

/* Rows of memory become leaves if wanted, and never count in the sums. */
static int add_memory_row(struct builder *builder, const struct fold_row *row)
{
	bool is_free = row->key.kind == RECORD_GPU_FREE;

	if (!row->key.matched)
		add(&builder->unmatched, row->count);
	if (builder->memory != (is_free ? REPORT_MEMORY_FREES : REPORT_MEMORY_ALLOCS))
		return 0;
	return add_memory_leaf(builder, row);
}

static int take_row(void *context, const struct fold_row *row)
{
	struct builder *builder = context;
	int error = 0;

	if (!report_key_is_held(builder->collection, &row->key) ||
	    row->key.kind >= RECORD_GPU_KINDS)
		return -EPROTO;
	builder->damaged += row->near_first == FOLD_NEAR_DAMAGED;
	if (is_memory(&row->key))
		return add_memory_row(builder, row);
	if (builder->report->tree.planes & 1u << report_plane_of(row->key.kind))
		error = add_row_leaf(builder, row);
	if (!error)
		add_to_sums(builder, row);
	return error;
}

static int take_account_row(void *context, const struct fold_row *row)
{
	struct builder *builder = context;

	return report_key_is_held(builder->collection, &row->key) ? add_memory_leaf(builder, row)
								  : -EPROTO;
}

/* Host samples and idle time have no launch, so none of them is unmatched. */
static int take_sample_row(void *context, const struct fold_row *row)
{
	struct builder *builder = context;
	int error = 0;

	if (!report_key_is_held(builder->collection, &row->key))
		return -EPROTO;
	if (builder->report->tree.planes & 1u << report_plane_of(row->key.kind))
		error = add_row_leaf(builder, row);
	if (!error)
		add_to_plane(builder, row);
	return error;
}

/* ---- samples of running kernels */

static int take_stall(void *context, const struct stall_part *part)
{
	struct builder *builder = context;
	const struct fold_row row = report_samples_stall(part);
	const struct roster *roster = builder->collection->roster;
	uint32_t node;
	int error = report_paths_stall(
		builder->paths, part,
		report_key_gpu(roster, roster_process(roster, part->key->process_id), part->key),
		&node);

	return error ? error : add_leaf_at(builder, &row, node);
}

static int find_launch(void *context, const struct fold_key *key, uint32_t *node)
{
	return report_paths_find(((struct builder *)context)->paths, key, node);
}

static int count_stall(void *context, const struct fold_row *row)
{
	struct builder *builder = context;

	if (!report_key_is_held(builder->collection, &row->key))
		return -EPROTO;
	add_to_plane(builder, row);
	return 0;
}

/* The plane has all kernels' time, if any kernel has samples. */
static int add_stalls(struct builder *builder)
{
	struct report_tree *tree = &builder->report->tree;
	struct report_plane_total *total = &tree->plane_totals[REPORT_PLANE_STALLS];
	int error = report_samples_each_stall(builder->profile, count_stall, builder);

	if (total->count)
		total->ns = tree->kernel_ns;
	if (error || !(tree->planes & 1u << REPORT_PLANE_STALLS))
		return error;
	error = report_paths_agreement(builder->paths, builder->profile,
				       &builder->report->agreement);
	tree->agreement = builder->report->agreement;
	return error ? error : stall_split_each(builder->profile, find_launch, take_stall, builder);
}

/* ---- resources */

static int take_usage(void *context, const struct resource_part *part)
{
	struct builder *builder = context;
	struct report_plane_total *total =
		&builder->report->tree.plane_totals[report_usage_plane(builder->usage_rows)];
	const struct fold_row row = report_usage_leaf(builder->usage_rows, part);
	uint32_t node = REPORT_NODE_ROOT;
	int error = part->row ? report_paths_find(builder->paths, &row.key, &node) : 0;

	add(&total->count, row.count);
	for (uint32_t i = 0; i < RESOURCES; i++)
		add(&total->amounts[i], part->amounts[i]);
	report_usage_take(builder->usage_rows, part);
	return error ? error : add_leaf_of(builder, &row, node, part);
}

static int add_resources(struct builder *builder)
{
	struct report_tree *tree = &builder->report->tree;
	int error;

	if (!builder->usage || !(tree->planes & REPORT_PLANES_RESOURCES))
		return 0;
	error = report_usage_create(builder->profile, builder->usage, builder->report->names,
				    tree->planes, &builder->usage_rows);
	if (!error)
		error = resource_split_each(builder->usage, builder->profile, take_usage, builder);
	if (!error)
		tree->usage = report_usage_gpus(builder->usage_rows, &tree->nr_usage);
	return error;
}

static int add_rows(struct builder *builder)
{
	int error = profile_each_total(builder->profile, take_row, builder);

	if (!error &&
	    (builder->memory == REPORT_MEMORY_PEAK || builder->memory == REPORT_MEMORY_LIVE))
		error = report_memory_each(builder->collection, builder->memory, take_account_row,
					   builder);
	if (!error)
		error = report_samples_each(builder->profile, take_sample_row, builder);
	if (!error)
		error = add_stalls(builder);
	if (!error)
		error = add_resources(builder);
	builder->report->leaves = builder->leaves.leaves;
	builder->report->tree.nr_leaves = builder->leaves.nr_leaves;
	builder->report->tree.leaves_given_up = builder->leaves.given_up;
	builder->leaves.leaves = NULL;
	return error;
}

static int find_place(const struct builder *builder, const struct fold_key *key, uint32_t *node,
		      uint32_t *name)
{
	const struct roster *roster = builder->collection->roster;

	if (!report_key_is_held(builder->collection, key) || key->kind >= RECORD_GPU_KINDS)
		return -EPROTO;
	const int32_t gpu = report_key_gpu(roster, roster_process(roster, key->process_id), key);
	int error = report_paths_find(builder->paths, key, node);
	return error ? error : report_names_leaf(builder->report->names, key, gpu, name);
}

static int place_kernel(void *of, const struct fold_key *key, uint32_t *node, const char **kernel)
{
	const struct builder *builder = of;
	uint32_t name;
	int error = find_place(builder, key, node, &name);

	if (!error)
		*kernel = report_groups_activity(report_names_get(builder->report->names, name));
	return error;
}

/* ---- processes and losses */

static int name_job(struct report_names *names, const struct catalog *catalog, uint32_t string_id,
		    uint32_t *index)
{
	char text[JOB_TEXT_MAX];
	uint32_t size;
	const char *job = catalog_string(catalog, string_id, &size);

	snprintf(text, sizeof(text), "job %.*s", (int)size, job);
	return report_names_text(names, text, index);
}

static int add_processes(struct builder *builder)
{
	struct report *report = builder->report;
	const struct roster *roster = builder->collection->roster;
	uint32_t nr_processes = roster_size(roster).processes;
	int error = 0;

	report->processes = calloc(nr_processes ? nr_processes : 1, sizeof(*report->processes));
	if (!report->processes)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_processes && !error; i++) {
		const struct roster_process *process = roster_process(roster, i + 1);
		const struct roster_host *host = roster_host(roster, process->identity.host);
		struct report_process *out = &report->processes[i];

		out->pid = process->identity.pid;
		out->rank = process->rank >= 0 ? process->rank : REPORT_RANK_NONE;
		out->unclean = process->state == PROCESS_UNCLEAN;
		error = report_names_string(report->names, process->command, &out->command);
		if (!error && process->job)
			error = name_job(report->names, builder->collection->catalog, process->job,
					 &out->job);
		if (!error && host)
			error = report_names_string(report->names, host->node, &out->host);
	}
	report->tree.nr_processes = nr_processes;
	return error;
}

static int add_loss(struct builder *builder, const char *reason, const char *text, bool lost,
		    uint64_t count, uint64_t ns)
{
	struct report *report = builder->report;
	struct report_loss *loss = &report->losses[report->tree.nr_losses];

	if (count == 0)
		return 0;
	report->tree.nr_losses++;
	loss->count = count;
	loss->ns = ns;
	loss->lost = lost;
	if (lost)
		add(&report->tree.lost, count);
	int error = report_names_text(report->names, reason, &loss->reason);
	return error ? error : report_names_text(report->names, text, &loss->text);
}

static int add_losses(struct builder *builder, const struct profile *profile)
{
	struct report *report = builder->report;
	struct profile_ledger sums;
	char behind[REPORT_BEHIND_SIZE];

	report->losses = calloc(LEDGER_REASONS + 2, sizeof(*report->losses));
	if (!report->losses)
		return -ENOMEM;
	profile_ledger_sum(builder->collection, builder->unmatched, &sums);
	profile_cost_sum(profile, &report->tree.cost);
	int error = report_behind_text(builder->collection, report->names, behind,
				       &sums.ns[LEDGER_BEHIND]);
	for (uint32_t reason = 0; reason < LEDGER_REASONS && !error; reason++) {
		enum ledger_class class = ledger_reason_class(reason);

		if (class != LEDGER_PRODUCED && class != LEDGER_COST)
			error = add_loss(builder, ledger_reason_name(reason),
					 reason == LEDGER_BEHIND ? behind
								 : ledger_reason_text(reason),
					 class == LEDGER_LOST, sums.count[reason], sums.ns[reason]);
	}
	report->tree.launches = sums.count[LEDGER_LAUNCHES];
	report->tree.launches_failed = sums.count[LEDGER_LAUNCH_FAILED];
	if (!error)
		error = add_loss(builder, "idle_left_out",
				 "records and samples that found no room where idle time is "
				 "explained",
				 false, profile->idle_left_out, 0);
	if (!error)
		error = add_loss(builder, "histogram_damaged",
				 "histograms of durations were damaged, and are not shown", false,
				 builder->damaged, 0);
	return error;
}

/* ---- the whole */

static int add_title(struct report *report, const struct profile *profile)
{
	uint32_t index;
	int error = report_names_text(report->names, profile->title ? profile->title : "", &index);

	if (error)
		return error;
	report->tree.title = report->title = strdup(report_names_get(report->names, index));
	return report->title ? 0 : -ENOMEM;
}

static int build(struct builder *builder, const struct profile *profile)
{
	struct report *report = builder->report;
	uint32_t absent = 0;
	int error = add_processes(builder);

	if (!error)
		error = add_rows(builder);
	for (uint32_t i = 0; i < builder->nr_pieces && !error; i++)
		error = find_place(builder, &builder->pieces[i].key, &builder->pieces[i].node,
				   &builder->pieces[i].name);
	if (!error)
		error = add_losses(builder, profile);
	if (!error)
		error = report_notices_make(profile, report->names, &report->notices,
					    &report->tree.nr_notices, &absent);
	if (!error)
		error = report_memory_make(builder->collection, report->names, &report->memory,
					   &report->tree.nr_memory);
	if (!error)
		error = report_metrics_make(profile, place_kernel, builder, &report->metrics);
	if (!error)
		error = report_completeness_make(profile, report->names, &report->tree, absent,
						 &report->tree.state, &report->verdict);
	if (!error)
		error = add_title(report, profile);
	if (!error) {
		report->strings = report_names_all(report->names);
		report->tree.nr_strings = report_names_count(report->names);
		report->frameworks =
			report_paths_frameworks(builder->paths, report->tree.nr_strings);
		error = report->strings && report->frameworks ? 0 : -ENOMEM;
	}
	report->tree.simulated = profile_is_simulated(profile);
	report->tree.strings = report->strings;
	report->tree.frameworks = report->frameworks;
	report->tree.nodes = report->nodes =
		report_paths_take(builder->paths, &report->tree.nr_nodes);
	report->tree.leaves = report->leaves;
	report->tree.processes = report->processes;
	report->tree.losses = report->losses;
	report->tree.notices = report->notices;
	report->tree.memory = report->memory;
	report->tree.metrics = report->metrics;
	report->tree.is_part = profile->slice != NULL;
	report_notices_wanted(profile, &report->tree);
	report->tree.verdict = report->verdict;
	return error;
}

int report_tree_build(const struct profile *profile, const struct report_options *options,
		      struct report_tree **tree)
{
	struct report *report = calloc(1, sizeof(*report));
	struct builder builder = {.report = report,
				  .collection = profile->collection,
				  .profile = profile,
				  .usage = options ? options->usage : NULL,
				  .memory = options ? options->memory : REPORT_MEMORY_NONE,
				  .pieces = options ? options->pieces : NULL,
				  .nr_pieces = options ? options->nr_pieces : 0,
				  .leaves = {.most = options ? options->leaves_most : 0,
					     .kept = options ? options->leaves_kept : 0}};
	int error = -ENOMEM;

	*tree = NULL;
	if (!report)
		return -ENOMEM;
	report->tree.planes = options && options->planes ? options->planes : 1u << REPORT_PLANE_GPU;
	if (builder.memory != REPORT_MEMORY_NONE)
		report->tree.planes = 1u << REPORT_PLANE_MEMORY;
	report->tree.steps = options && options->steps;
	report->tree.pause_ns = report_samples_pause_ns(profile);
	report->names = report_names_create(profile, options ? options->demangle : DEMANGLE_FULL,
					    options ? options->lines : REPORT_LINES_ON);
	const bool split = !options || options->nccl == REPORT_NCCL_SPLIT;
	if (split)
		builder.split = report_split_create(profile);
	if (report->names && (builder.split || !split))
		builder.paths = report_paths_create(profile->collection->catalog, report->names,
						    options ? &options->view
							    : &(struct report_paths_view){0});
	if (builder.paths && report->tree.steps)
		builder.steps = step_paths_create(profile->collection->catalog);
	if (builder.paths && (builder.steps || !report->tree.steps))
		error = build(&builder, profile);
	report_paths_destroy(builder.paths);
	report_split_destroy(builder.split);
	report_usage_destroy(builder.usage_rows);
	step_paths_destroy(builder.steps);
	report_leaves_fini(&builder.leaves);
	if (error) {
		report_tree_destroy(&report->tree);
		return error;
	}
	*tree = &report->tree;
	return 0;
}
