#include "json_writer.h"

#include <inttypes.h>

#include "collectives_writer.h"
#include "durations_writer.h"
#include "findings_writer.h"
#include "json_text.h"
#include "resource_writer.h"
#include "row_text.h"
#include "stall_writer.h"
#include "statistics_writer.h"
#include "telemetry_writer.h"
#include "text_file.h"

#include "proto/memory_kind.h"
#include "report/digest/marked_steps.h"
#include "report/model/frame_ranks.h"
#include "report/model/report_groups.h"
#include "report/model/report_summary.h"
#include "report/writers/metrics/metrics_writer.h"

static const char *const states[] = {
	[REPORT_COMPLETE] = "complete", [REPORT_STOPPED] = "stopped",       [REPORT_LIVE] = "live",
	[REPORT_EMPTY] = "empty",       [REPORT_INCOMPLETE] = "incomplete",
};

/* Writes an array as a member of the document, with a comma and a newline behind it. */
static void write_rows(FILE *out, const char *name, row_text_fields *fields,
		       const struct report_tree *tree, const void *rows, uint32_t nr, size_t size)
{
	row_text_json(out, name, fields, tree, rows, nr, size);
	fputs(",\n", out);
}

static void write_loss(struct row_text *out, const void *row)
{
	const struct report_tree *tree = out->context;
	const struct report_loss *loss = row;

	row_text_string(out, "reason", tree->strings[loss->reason]);
	row_text_count(out, "count", loss->count);
	row_text_count(out, "ns", loss->ns);
	row_text_string(out, "text", tree->strings[loss->text]);
	row_text_flag(out, "lost", loss->lost);
}

void json_writer_cost(FILE *out, const struct profile_cost *cost)
{
	static const char *const parts[] = {
		[PROFILE_COST_ENTRY] = "entry_ns",   [PROFILE_COST_NATIVE] = "native_ns",
		[PROFILE_COST_PYTHON] = "python_ns", [PROFILE_COST_INTERN] = "intern_ns",
		[PROFILE_COST_EXIT] = "exit_ns",
	};
	struct row_text row = {.out = out};

	fputs("\"cost\":{", out);
	row_text_count(&row, "guest_ns", profile_cost_guest_ns(cost));
	row_text_count(&row, "threads", cost->threads.count);
	row_text_count(&row, "threads_ns", cost->threads.ns);
	row_text_count(&row, "busiest_ns", cost->busiest.ns);
	row_text_count(&row, "busiest_launches", cost->busiest.count);
	row_text_count(&row, "busiest_thread_ns", cost->busiest_thread_ns);
	row_text_count(&row, "processes", cost->processes.count);
	row_text_count(&row, "processes_ns", cost->processes.ns);
	row_text_flag(&row, "estimated", cost->metered < cost->calls.count);
	row_text_count(&row, "launches", cost->calls.count);
	row_text_count(&row, "launches_ns", cost->calls.ns);
	row_text_count(&row, "metered", cost->metered);
	for (uint32_t part = 0; part < PROFILE_COST_PARTS; part++)
		row_text_count(&row, parts[part], cost->part_ns[part]);
	row_text_count(&row, "outliers", cost->outliers.count);
	row_text_count(&row, "outliers_ns", cost->outliers.ns);
	row_text_count(&row, "stacks", cost->stacks.count);
	row_text_count(&row, "stacks_ns", cost->stacks.ns);
	row_text_count(&row, "table_bytes", cost->table_bytes);
	row_text_count(&row, "tables_ns", cost->table_ns);
	row_text_count(&row, "flushes", cost->flushes.count);
	row_text_count(&row, "flushes_ns", cost->flushes.ns);
	row_text_count(&row, "buffers", cost->buffers.count);
	row_text_count(&row, "buffers_ns", cost->buffers.ns);
	row_text_count(&row, "windows", cost->windows.count);
	row_text_count(&row, "windows_ns", cost->windows.ns);
	row_text_count(&row, "agents", cost->nr_agents);
	row_text_count(&row, "agents_cpu_ns", cost->agent_cpu_ns);
	row_text_count(&row, "agents_run_ns", cost->agent_run_ns);
	row_text_count(&row, "agent_peak_bytes", cost->agent_peak_bytes);
	fputs("},\n", out);
}

static void write_totals(FILE *out, const struct report_tree *tree)
{
	char line[REPORT_SUMMARY_SIZE];

	fprintf(out,
		"\"totals\":{\"kernels\":%" PRIu64 ",\"kernel_ns\":%" PRIu64 ",\"copies\":%" PRIu64
		",\"copy_ns\":%" PRIu64 ",\"fills\":%" PRIu64 ",\"memset_ns\":%" PRIu64
		",\"graphs\":%" PRIu64 ",\"graph_ns\":%" PRIu64 ",\"matched\":%" PRIu64
		",\"launches\":%" PRIu64 ",\"launches_failed\":%" PRIu64 ",\"lost\":%" PRIu64
		"},\n",
		tree->kernels, tree->kernel_ns, tree->copies, tree->copy_ns, tree->fills,
		tree->memset_ns, tree->graphs, tree->graph_ns, tree->matched, tree->launches,
		tree->launches_failed, tree->lost);
	json_text_member(out, "summary", report_summary_line(tree, line, sizeof(line)));
	json_text_member(out, "state", states[tree->state]);
	json_text_member(out, "verdict", tree->verdict ? tree->verdict : "");
	fputc('\n', out);
	write_rows(out, "ledger", write_loss, tree, tree->losses, tree->nr_losses,
		   sizeof(*tree->losses));
	json_writer_cost(out, &tree->cost);
}

/* Writes the planes that have records, and those that the user asked for. */
static void write_planes(FILE *out, const struct report_tree *tree)
{
	const char *separator = "\n{";

	fputs("\"planes\":[", out);
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
		const struct report_plane_total *total = &tree->plane_totals[plane];
		struct row_text row = {.out = out};

		if (!total->count && !(tree->planes & 1u << plane))
			continue;
		fputs(separator, out);
		row_text_string(&row, "plane", report_plane_name((enum report_plane)plane));
		row_text_count(&row, "count", total->count);
		row_text_count(&row, "ns", total->ns);
		row_text_count(&row, "bytes", total->bytes);
		for (uint32_t i = 0; i < RESOURCES; i++)
			if (report_planes_resources(1u << plane) & 1u << i)
				row_text_count(&row, resource_member((enum resource)i),
					       total->amounts[i]);
		row_text_flag(&row, "shown", tree->planes & 1u << plane);
		fputc('}', out);
		separator = ",\n{";
	}
	fputs("],\n", out);
}

static void write_notice(struct row_text *out, const void *row)
{
	const struct report_tree *tree = out->context;
	const struct report_notice *notice = row;

	row_text_string(out, "text", tree->strings[notice->text]);
	row_text_count(out, "processes", notice->nr_processes);
}

static void write_process(struct row_text *out, const void *row)
{
	const struct report_tree *tree = out->context;
	const struct report_process *process = row;

	row_text_string(out, "job", tree->strings[process->job]);
	row_text_string(out, "host", tree->strings[process->host]);
	row_text_count(out, "pid", process->pid);
	row_text_number(out, "rank", process->rank != REPORT_RANK_NONE, process->rank);
	row_text_string(out, "command", tree->strings[process->command]);
	row_text_flag(out, "unclean", process->unclean);
}

static void write_busy_row(struct row_text *out, const struct report_busy_row *row)
{
	row_text_string(out, "host", row->host);
	row_text_number(out, "gpu", row->gpu != REPORT_GPU_NONE, row->gpu);
	if (row->whole_device) {
		row_text_string(out, "name", row->device_name);
	} else {
		row_text_number(out, "rank", row->rank != REPORT_RANK_NONE, row->rank);
		row_text_count(out, "pid", row->pid);
		row_text_count(out, "context", row->context_id);
		row_text_count(out, "stream", row->stream_id);
		row_text_string(out, "stream_name", row->stream_name);
		row_text_flag(out, "stream_default", row->stream_default);
		row_text_number(out, "stream_priority",
				row->stream_priority != REPORT_PRIORITY_NONE, row->stream_priority);
	}
	if (!row->whole_device && row->green) {
		row_text_flag(out, "green", true);
		row_text_count(out, "multiprocessors", row->multiprocessors);
	}
	row_text_count(out, "records", row->records);
	row_text_count(out, "busy_ns", row->busy_ns);
	row_text_count(out, "idle_ns", row->idle_ns);
	row_text_count(out, "uncaptured_ns", row->uncaptured_ns);
	row_text_count(out, "overlap_ns", row->overlap_ns);
	row_text_count(out, "first_ns", row->first_ns);
	row_text_count(out, "last_ns", row->last_ns);
	row_text_count(out, "late", row->late);
	row_text_count(out, "late_ns", row->late_ns);
	if (row->whole_device)
		row_text_flag(out, "inexact", row->is_inexact);
	if (row->whole_device) {
		telemetry_writer_json(out, &row->telemetry);
		telemetry_writer_counters_json(out, &row->counters);
	}
}

static void write_busy(FILE *out, const struct report_busy *busy, const char *name,
		       int whole_device)
{
	const char *separator = "\n{";

	fprintf(out, "\"%s\":[", name);
	for (uint32_t i = 0; i < busy->nr_rows; i++) {
		if (!busy->rows[i].whole_device != !whole_device)
			continue;
		fputs(separator, out);
		write_busy_row(&(struct row_text){.out = out}, &busy->rows[i]);
		fputc('}', out);
		separator = ",\n{";
	}
	fputs("],\n", out);
}

static void write_memory(struct row_text *out, const void *of)
{
	static const char *const spaces[MEMORY_SPACES] = {"device", "managed", "host"};
	const struct report_tree *tree = out->context;
	const struct report_memory_row *row = of;
	uint32_t space = row->space < MEMORY_SPACES ? row->space : MEMORY_SPACE_HOST;

	row_text_string(out, "host", tree->strings[row->host]);
	row_text_count(out, "pid", row->pid);
	row_text_number(out, "rank", row->rank != REPORT_RANK_NONE, row->rank);
	row_text_number(out, "gpu", row->gpu != REPORT_GPU_NONE, row->gpu);
	row_text_string(out, "space", spaces[space]);
	row_text_flag(out, "ended", row->ended);
	row_text_count(out, "allocs", row->allocs);
	row_text_count(out, "alloc_bytes", row->alloc_bytes);
	row_text_count(out, "frees", row->frees);
	row_text_count(out, "free_bytes", row->free_bytes);
	row_text_count(out, "live", row->live_count);
	row_text_count(out, "live_bytes", row->live_bytes);
	row_text_count(out, "peak_bytes", row->peak_bytes);
	row_text_count(out, "peak_after_ns", row->peak_after_ns);
	row_text_count(out, "unknown_frees", row->unknown_frees);
	row_text_count(out, "left_out", row->left_out);
}

void json_writer_devices(FILE *out, const struct report_busy *busy)
{
	write_busy(out, busy, "devices", 1);
}

void json_writer_memory(FILE *out, const struct report_tree *tree)
{
	if (tree->nr_memory)
		write_rows(out, "memory", write_memory, tree, tree->memory, tree->nr_memory,
			   sizeof(*tree->memory));
}

/* What each leaf is written with. */
struct leaves {
	const struct report_tree *tree;
	const struct frame_ranks *ranks; /* NULL: they say nothing */
};

static void write_frames(FILE *out, const struct leaves *leaves, const struct report_leaf *leaf)
{
	const struct report_tree *tree = leaves->tree;
	uint32_t chain[REPORT_DEPTH_MAX];
	uint32_t depth = report_tree_path(tree->nodes, leaf->node, chain);

	fputs(",\"frames\":[", out);
	for (uint32_t i = depth; i > 0; i--) {
		json_text_write(out, tree->strings[tree->nodes[chain[i - 1]].name]);
		fputc(',', out);
	}
	json_text_write(out, tree->strings[leaf->name]);
	fputc(']', out);
	if (!leaves->ranks)
		return;
	fputs(",\"frame_ranks\":[", out);
	for (uint32_t i = depth; i > 0; i--)
		fprintf(out, "%" PRIu32 ",",
			frame_ranks_of_node(leaves->ranks, leaf, chain[i - 1]));
	fprintf(out, "%" PRIu32 "]", frame_ranks_of_leaf(leaves->ranks, leaf));
}

/* Returns whether leaves stand for several values of the dimension. */
static bool is_given_up(const struct report_tree *tree, enum report_dimension dimension)
{
	return tree->leaves_given_up & 1u << dimension;
}

/* Writes the dimensions that leaves do not have, because there were too many leaves. */
static void write_given_up(FILE *out, const struct report_tree *tree)
{
	const char *before = "";

	if (!tree->leaves_given_up)
		return;
	fputs("\"leaves_given_up\":[", out);
	for (uint32_t i = 0; i < REPORT_DIMENSIONS; i++) {
		if (!is_given_up(tree, (enum report_dimension)i))
			continue;
		fprintf(out, "%s\"%s\"", before, report_dimension_word((enum report_dimension)i));
		before = ",";
	}
	fputs("],\n", out);
}

static void write_leaf(struct row_text *out, const void *row)
{
	const struct leaves *leaves = out->context;
	const struct report_leaf *leaf = row;

	row_text_string(out, "host", leaves->tree->strings[leaf->host]);
	row_text_number(out, "process", !is_given_up(leaves->tree, REPORT_BY_RANK), leaf->process);
	row_text_number(out, "rank", leaf->rank != REPORT_RANK_NONE, leaf->rank);
	row_text_number(out, "gpu", leaf->gpu != REPORT_GPU_NONE, leaf->gpu);
	row_text_number(out, "context", !is_given_up(leaves->tree, REPORT_BY_CONTEXT),
			leaf->context_id);
	row_text_number(out, "stream", !is_given_up(leaves->tree, REPORT_BY_STREAM),
			leaf->stream_id);
	row_text_number(out, "tid", !is_given_up(leaves->tree, REPORT_BY_THREAD), leaf->tid);
	row_text_string(out, "kind", report_groups_kind(leaf->kind));
	row_text_count(out, "count", leaf->count);
	row_text_count(out, "ns", leaf->ns);
	row_text_count(out, "bytes", leaf->bytes);
	resource_writer_leaf(out, leaves->tree, leaf);
	write_frames(out->out, leaves, leaf);
	row_text_string(out, "plane", report_plane_name(report_plane_of(leaf->kind)));
	if (leaves->tree->steps)
		row_text_string(
			out, "step_kind",
			report_dimension_frame(leaves->tree, REPORT_BY_STEP, leaf->step, NULL, 0));
}

void json_writer_steps(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
		       const struct report_statistics *statistics)
{
	const struct marked_steps steps = marked_steps_of(tree, busy, statistics);

	if (!steps.count)
		return;
	fprintf(out, "\"marked_steps\":{\"count\":%" PRIu64 ",\"least\":%" PRIu64 ",\"mean_ns\":",
		steps.count, steps.least);
	if (steps.mean_ns)
		fprintf(out, "%" PRIu64 "},\n", steps.mean_ns);
	else
		fputs("null},\n", out);
}

int json_writer_write(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
		      const struct report_statistics *statistics,
		      const struct report_collectives *collectives, const struct findings *findings,
		      const struct report_by *by)
{
	struct frame_ranks *ranks;
	int error = frame_ranks_create(tree, by, &ranks);

	if (error)
		return error;
	json_text_begin(out, tree->title);
	fprintf(out, "\"simulated\":%s,\n", tree->simulated ? "true" : "false");
	write_totals(out, tree);
	write_planes(out, tree);
	write_rows(out, "notices", write_notice, tree, tree->notices, tree->nr_notices,
		   sizeof(*tree->notices));
	write_rows(out, "processes", write_process, tree, tree->processes, tree->nr_processes,
		   sizeof(*tree->processes));
	json_writer_devices(out, busy);
	write_busy(out, busy, "streams", 0);
	if (statistics) {
		json_writer_steps(out, tree, busy, statistics);
		statistics_writer_json(out, statistics);
	}
	if (collectives)
		collectives_writer_json(out, collectives);
	if (findings)
		findings_writer_json(out, findings);
	json_writer_memory(out, tree);
	if (ranks)
		fprintf(out, "\"rank_count\":%" PRIu32 ",\n", frame_ranks_all(ranks));
	write_given_up(out, tree);
	error = durations_writer_json(out, tree);
	if (!error)
		error = stall_writer_json(out, tree);
	resource_writer_json(out, tree);
	if (!error)
		error = metrics_writer_json(out, tree);
	row_text_json(out, "leaves", write_leaf, &(struct leaves){tree, ranks}, tree->leaves,
		      tree->nr_leaves, sizeof(*tree->leaves));
	fputs("}\n", out);
	frame_ranks_destroy(ranks);
	return error ? error : text_file_flush(out);
}
