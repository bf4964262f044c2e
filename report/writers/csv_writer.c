#include "csv_writer.h"

#include <inttypes.h>
#include <string.h>

#include "text_file.h"

#include "report/model/frame_ranks.h"
#include "report/model/report_groups.h"
#include "report/model/report_summary.h"

static void write_quoted(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
}

void csv_writer_text(FILE *out, const char *text)
{
	if (strpbrk(text, ",\"") == NULL) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	write_quoted(out, text);
	fputc('"', out);
}

void csv_writer_number(FILE *out, bool known, int64_t number)
{
	if (known)
		fprintf(out, "%" PRId64, number);
	fputc(',', out);
}

static void write_stack(FILE *out, const struct report_tree *tree, uint32_t node)
{
	uint32_t chain[REPORT_DEPTH_MAX], depth = 0;

	for (; node != REPORT_NODE_ROOT && depth < REPORT_DEPTH_MAX;
	     node = tree->nodes[node].parent)
		chain[depth++] = node;
	fputc('"', out);
	while (depth > 0) {
		write_quoted(out, tree->strings[tree->nodes[chain[--depth]].name]);
		if (depth > 0)
			fputc(';', out);
	}
	fputc('"', out);
}

static void write_leaf(FILE *out, const struct report_tree *tree, const struct report_leaf *leaf,
		       const struct frame_ranks *ranks)
{
	csv_writer_text(out, tree->strings[leaf->host]);
	fputc(',', out);
	csv_writer_number(out, leaf->rank != REPORT_RANK_NONE, leaf->rank);
	fprintf(out, "%" PRIu32 ",", tree->processes[leaf->process].pid);
	csv_writer_number(out, leaf->gpu != REPORT_GPU_NONE, leaf->gpu);
	fprintf(out, "%" PRIu32 ",%" PRIu32 ",", leaf->context_id, leaf->stream_id);
	csv_writer_number(out, leaf->tid != 0, leaf->tid);
	fprintf(out, "%s,", report_groups_kind(leaf->kind));
	csv_writer_text(out, report_groups_activity(tree->strings[leaf->name]));
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", leaf->count, leaf->ns, leaf->bytes);
	write_stack(out, tree, leaf->node);
	fprintf(out, ",%s", report_plane_name(report_plane_of(leaf->kind)));
	if (ranks)
		fprintf(out, ",%" PRIu32, frame_ranks_of_leaf(ranks, leaf));
	fputc('\n', out);
}

int csv_writer_write(FILE *out, const struct report_tree *tree, const struct report_by *by)
{
	char line[REPORT_SUMMARY_SIZE];
	struct frame_ranks *ranks;
	int error = frame_ranks_create(tree, by, &ranks);

	if (error)
		return error;
	fprintf(out,
		"host,rank,pid,gpu,context,stream,thread,kind,name,count,ns,bytes,stack,plane%s\n",
		ranks ? ",ranks" : "");
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		write_leaf(out, tree, &tree->leaves[i], ranks);
	frame_ranks_destroy(ranks);
	fprintf(out, "# %s\n", report_summary_line(tree, line, sizeof(line)));
	report_summary_ledger(out, tree, "# ");
	report_summary_planes(out, tree, "# ");
	return text_file_flush(out);
}
