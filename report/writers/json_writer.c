#include "json_writer.h"

#include <inttypes.h>

#include "collectives_writer.h"
#include "json_text.h"
#include "statistics_writer.h"
#include "text_file.h"

#include "proto/memory_kind.h"
#include "report/model/frame_ranks.h"
#include "report/model/report_groups.h"
#include "report/model/report_summary.h"

static const char *const states[] = {
	[REPORT_COMPLETE] = "complete", [REPORT_STOPPED] = "stopped",       [REPORT_LIVE] = "live",
	[REPORT_EMPTY] = "empty",       [REPORT_INCOMPLETE] = "incomplete",
};

static void write_totals(FILE *out, const struct report_tree *tree)
{
	char line[REPORT_SUMMARY_SIZE];

	fprintf(out,
		"\"totals\":{\"kernels\":%" PRIu64 ",\"kernel_ns\":%" PRIu64 ",\"copies\":%" PRIu64
		",\"copy_ns\":%" PRIu64 ",\"graphs\":%" PRIu64 ",\"graph_ns\":%" PRIu64
		",\"matched\":%" PRIu64 ",\"launches\":%" PRIu64 ",\"launches_failed\":%" PRIu64
		",\"lost\":%" PRIu64 "},\n",
		tree->kernels, tree->kernel_ns, tree->copies, tree->copy_ns, tree->graphs,
		tree->graph_ns, tree->matched, tree->launches, tree->launches_failed, tree->lost);
	json_text_member(out, "summary", report_summary_line(tree, line, sizeof(line)));
	json_text_member(out, "state", states[tree->state]);
	json_text_member(out, "verdict", tree->verdict ? tree->verdict : "");
	fputs("\n\"ledger\":[", out);
	for (uint32_t i = 0; i < tree->nr_losses; i++) {
		fputs(i ? ",\n{" : "\n{", out);
		json_text_member(out, "reason", tree->strings[tree->losses[i].reason]);
		fprintf(out, "\"count\":%" PRIu64 ",\"ns\":%" PRIu64 ",", tree->losses[i].count,
			tree->losses[i].ns);
		json_text_member(out, "text", tree->strings[tree->losses[i].text]);
		fprintf(out, "\"lost\":%s}", tree->losses[i].lost ? "true" : "false");
	}
	fputs("],\n", out);
}

static void write_plane(FILE *out, const struct report_tree *tree, enum report_plane plane)
{
	const struct report_plane_total *total = &tree->plane_totals[plane];

	json_text_member(out, "plane", report_plane_name(plane));
	fprintf(out, "\"count\":%" PRIu64 ",\"ns\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"shown\":%s",
		total->count, total->ns, total->bytes,
		tree->planes & 1u << plane ? "true" : "false");
}

/* Writes the planes that have records, and those that the user asked for. */
static void write_planes(FILE *out, const struct report_tree *tree)
{
	const char *separator = "\n{";

	fputs("\"planes\":[", out);
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
		if (!tree->plane_totals[plane].count && !(tree->planes & 1u << plane))
			continue;
		fputs(separator, out);
		write_plane(out, tree, (enum report_plane)plane);
		fputc('}', out);
		separator = ",\n{";
	}
	fputs("],\n", out);
}

static void write_notices(FILE *out, const struct report_tree *tree)
{
	fputs("\"notices\":[", out);
	for (uint32_t i = 0; i < tree->nr_notices; i++) {
		fputs(i ? ",\n{" : "\n{", out);
		json_text_member(out, "text", tree->strings[tree->notices[i].text]);
		fprintf(out, "\"processes\":%" PRIu32 "}", tree->notices[i].nr_processes);
	}
	fputs("],\n", out);
}

static void write_processes(FILE *out, const struct report_tree *tree)
{
	fputs("\"processes\":[", out);
	for (uint32_t i = 0; i < tree->nr_processes; i++) {
		const struct report_process *process = &tree->processes[i];

		fputs(i ? ",\n{" : "\n{", out);
		json_text_member(out, "job", tree->strings[process->job]);
		json_text_member(out, "host", tree->strings[process->host]);
		fprintf(out, "\"pid\":%" PRIu32 ",", process->pid);
		json_text_number(out, "rank", process->rank != REPORT_RANK_NONE, process->rank);
		json_text_member(out, "command", tree->strings[process->command]);
		fprintf(out, "\"unclean\":%s}", process->unclean ? "true" : "false");
	}
	fputs("],\n", out);
}

static void write_busy_row(FILE *out, const struct report_busy_row *row)
{
	json_text_member(out, "host", row->host);
	json_text_number(out, "gpu", row->gpu != REPORT_GPU_NONE, row->gpu);
	if (row->whole_device) {
		json_text_member(out, "name", row->device_name);
	} else {
		json_text_number(out, "rank", row->rank != REPORT_RANK_NONE, row->rank);
		fprintf(out, "\"pid\":%" PRIu32 ",\"context\":%" PRIu32 ",\"stream\":%" PRIu32 ",",
			row->pid, row->context_id, row->stream_id);
		json_text_member(out, "stream_name", row->stream_name);
		fprintf(out, "\"stream_default\":%s,", row->stream_default ? "true" : "false");
		json_text_number(out, "stream_priority",
				 row->stream_priority != REPORT_PRIORITY_NONE,
				 row->stream_priority);
		if (row->green)
			fprintf(out, "\"green\":true,\"multiprocessors\":%" PRIu32 ",",
				row->multiprocessors);
	}
	fprintf(out,
		"\"records\":%" PRIu64 ",\"busy_ns\":%" PRIu64 ",\"idle_ns\":%" PRIu64
		",\"overlap_ns\":%" PRIu64 ",\"first_ns\":%" PRIu64 ",\"last_ns\":%" PRIu64
		",\"late\":%" PRIu64 ",\"late_ns\":%" PRIu64,
		row->records, row->busy_ns, row->idle_ns, row->overlap_ns, row->first_ns,
		row->last_ns, row->late, row->late_ns);
	if (row->whole_device)
		fprintf(out, ",\"inexact\":%s", row->is_inexact ? "true" : "false");
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
		write_busy_row(out, &busy->rows[i]);
		fputc('}', out);
		separator = ",\n{";
	}
	fputs("],\n", out);
}

static void write_memory(FILE *out, const struct report_tree *tree)
{
	static const char *const spaces[MEMORY_SPACES] = {"device", "managed", "host"};

	if (!tree->nr_memory)
		return;
	fputs("\"memory\":[", out);
	for (uint32_t i = 0; i < tree->nr_memory; i++) {
		const struct report_memory_row *row = &tree->memory[i];

		fputs(i ? ",\n{" : "\n{", out);
		json_text_member(out, "host", tree->strings[row->host]);
		fprintf(out, "\"pid\":%" PRIu32 ",", row->pid);
		json_text_number(out, "rank", row->rank != REPORT_RANK_NONE, row->rank);
		json_text_number(out, "gpu", row->gpu != REPORT_GPU_NONE, row->gpu);
		fprintf(out,
			"\"space\":\"%s\",\"ended\":%s,\"allocs\":%" PRIu64
			",\"alloc_bytes\":%" PRIu64 ",\"frees\":%" PRIu64 ",\"free_bytes\":%" PRIu64
			",\"live\":%" PRIu64 ",\"live_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64
			",\"peak_after_ns\":%" PRIu64 ",\"unknown_frees\":%" PRIu64
			",\"left_out\":%" PRIu64 "}",
			spaces[row->space < MEMORY_SPACES ? row->space : MEMORY_SPACE_HOST],
			row->ended ? "true" : "false", row->allocs, row->alloc_bytes, row->frees,
			row->free_bytes, row->live_count, row->live_bytes, row->peak_bytes,
			row->peak_after_ns, row->unknown_frees, row->left_out);
	}
	fputs("],\n", out);
}

/* Fills chain, which has room for REPORT_DEPTH_MAX nodes, from the outside in. */
static uint32_t find_path(const struct report_tree *tree, uint32_t node, uint32_t *chain)
{
	uint32_t depth = 0, nr = 0;

	for (uint32_t at = node; at != REPORT_NODE_ROOT && depth < REPORT_DEPTH_MAX;
	     at = tree->nodes[at].parent)
		depth++;
	for (; nr < depth; node = tree->nodes[node].parent)
		chain[depth - ++nr] = node;
	return depth;
}

static void write_frames(FILE *out, const struct report_tree *tree, const struct report_leaf *leaf,
			 const struct frame_ranks *ranks)
{
	uint32_t chain[REPORT_DEPTH_MAX], depth = find_path(tree, leaf->node, chain);

	fputs("\"frames\":[", out);
	for (uint32_t i = 0; i < depth; i++) {
		json_text_write(out, tree->strings[tree->nodes[chain[i]].name]);
		fputc(',', out);
	}
	json_text_write(out, tree->strings[leaf->name]);
	fputs("],", out);
	if (!ranks)
		return;
	fputs("\"frame_ranks\":[", out);
	for (uint32_t i = 0; i < depth; i++)
		fprintf(out, "%" PRIu32 ",", frame_ranks_of_node(ranks, leaf, chain[i]));
	fprintf(out, "%" PRIu32 "],", frame_ranks_of_leaf(ranks, leaf));
}

static void write_leaf(FILE *out, const struct report_tree *tree, const struct report_leaf *leaf,
		       const struct frame_ranks *ranks)
{
	json_text_member(out, "host", tree->strings[leaf->host]);
	fprintf(out, "\"process\":%" PRIu32 ",", leaf->process);
	json_text_number(out, "rank", leaf->rank != REPORT_RANK_NONE, leaf->rank);
	json_text_number(out, "gpu", leaf->gpu != REPORT_GPU_NONE, leaf->gpu);
	fprintf(out,
		"\"context\":%" PRIu32 ",\"stream\":%" PRIu32 ",\"tid\":%" PRIu32
		",\"kind\":\"%s\",\"count\":%" PRIu64 ",\"ns\":%" PRIu64 ",\"bytes\":%" PRIu64 ",",
		leaf->context_id, leaf->stream_id, leaf->tid, report_groups_kind(leaf->kind),
		leaf->count, leaf->ns, leaf->bytes);
	write_frames(out, tree, leaf, ranks);
	fputs("\"plane\":", out);
	json_text_write(out, report_plane_name(report_plane_of(leaf->kind)));
}

static void write_leaves(FILE *out, const struct report_tree *tree, const struct frame_ranks *ranks)
{
	if (ranks)
		fprintf(out, "\"rank_count\":%" PRIu32 ",\n", frame_ranks_all(ranks));
	fputs("\"leaves\":[", out);
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		fputs(i ? ",\n{" : "\n{", out);
		write_leaf(out, tree, &tree->leaves[i], ranks);
		fputc('}', out);
	}
	fputs("]}\n", out);
}

int json_writer_write(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
		      const struct report_statistics *statistics,
		      const struct report_collectives *collectives, const struct report_by *by)
{
	struct frame_ranks *ranks;
	int error = frame_ranks_create(tree, by, &ranks);

	if (error)
		return error;
	fprintf(out, "{\"schema\":%d,\n", JSON_WRITER_SCHEMA);
	json_text_member(out, "title", tree->title);
	fprintf(out, "\n\"simulated\":%s,\n", tree->simulated ? "true" : "false");
	write_totals(out, tree);
	write_planes(out, tree);
	write_notices(out, tree);
	write_processes(out, tree);
	write_busy(out, busy, "devices", 1);
	write_busy(out, busy, "streams", 0);
	if (statistics)
		statistics_writer_json(out, statistics);
	if (collectives)
		collectives_writer_json(out, collectives);
	write_memory(out, tree);
	write_leaves(out, tree, ranks);
	frame_ranks_destroy(ranks);
	return text_file_flush(out);
}
