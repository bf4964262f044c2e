#include "csv_writer.h"

#include "resource_writer.h"
#include "row_text.h"
#include "text_file.h"

#include "report/model/frame_ranks.h"
#include "report/model/report_groups.h"

/* Returns whether leaves stand for several values of the dimension. */
static bool is_given_up(const struct report_tree *tree, enum report_dimension dimension)
{
	return tree->leaves_given_up & 1u << dimension;
}

static void write_leaf(struct row_text *out, const struct report_tree *tree,
		       const struct report_leaf *leaf, const struct frame_ranks *ranks)
{
	static const struct report_process none;
	const struct report_process *process =
		leaf->process < tree->nr_processes ? &tree->processes[leaf->process] : &none;

	row_text_string(out, "host", tree->strings[leaf->host]);
	row_text_number(out, "rank", leaf->rank != REPORT_RANK_NONE, leaf->rank);
	row_text_number(out, "pid", !is_given_up(tree, REPORT_BY_RANK), process->pid);
	row_text_number(out, "gpu", leaf->gpu != REPORT_GPU_NONE, leaf->gpu);
	row_text_number(out, "context", !is_given_up(tree, REPORT_BY_CONTEXT), leaf->context_id);
	row_text_number(out, "stream", !is_given_up(tree, REPORT_BY_STREAM), leaf->stream_id);
	row_text_number(out, "thread", leaf->tid != 0, leaf->tid);
	row_text_string(out, "kind", report_groups_kind(leaf->kind));
	row_text_string(out, "name", report_groups_activity(tree->strings[leaf->name]));
	row_text_count(out, "count", leaf->count);
	row_text_count(out, "ns", leaf->ns);
	row_text_count(out, "bytes", leaf->bytes);
	resource_writer_leaf(out, tree, leaf);
	row_text_stack(out, "stack", tree->nodes, tree->strings, leaf->node);
	row_text_string(out, "plane", report_plane_name(report_plane_of(leaf->kind)));
	if (tree->planes & 1u << REPORT_PLANE_STALLS)
		row_text_flag(out, "shared",
			      leaf->kind == REPORT_KIND_STALL &&
				      report_groups_is_assumed(tree->strings[leaf->name]));
	if (tree->steps)
		row_text_string(out, "step_kind",
				report_dimension_frame(tree, REPORT_BY_STEP, leaf->step, NULL, 0));
	if (ranks)
		row_text_count(out, "ranks", frame_ranks_of_leaf(ranks, leaf));
}

int csv_writer_write(FILE *out, const struct report_tree *tree, const struct report_by *by)
{
	struct frame_ranks *ranks;
	int error = frame_ranks_create(tree, by, &ranks);

	if (error)
		return error;
	write_leaf(&(struct row_text){.out = out, .form = ROW_HEADING}, tree,
		   &(struct report_leaf){0}, ranks);
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		fputc('\n', out);
		write_leaf(&(struct row_text){.out = out, .form = ROW_CSV}, tree, &tree->leaves[i],
			   ranks);
	}
	fputc('\n', out);
	frame_ranks_destroy(ranks);
	return text_file_flush(out);
}
