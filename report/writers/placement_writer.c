#include "placement_writer.h"

#include <inttypes.h>

#include "row_text.h"

static void write_known(FILE *out, const char *what, int32_t number)
{
	if (number < 0)
		fprintf(out, "%s?", what);
	else
		fprintf(out, "%s%" PRId32, what, number);
}

static void write_line(FILE *out, const struct report_placement_row *row)
{
	write_known(out, "  rank ", row->rank);
	fprintf(out, " on %s ", row->host);
	write_known(out, "GPU", row->gpu);
	if (row->known)
		fprintf(out,
			" (node %" PRIu32 "): thread %" PRIu32 ", %.1f %% of %" PRIu64 " looks\n",
			row->numa_node, row->tid, 100.0 * (double)row->far / (double)row->looks,
			row->looks);
	else
		fprintf(out, ": thread %" PRIu32 ", on which node the GPU is is not known\n",
			row->tid);
}

void placement_writer_table(FILE *out, const struct report_placement *placement)
{
	if (placement->nr_rows == 0)
		return;
	fputs("threads that launch from the far socket:\n", out);
	for (uint32_t i = 0; i < placement->nr_rows; i++)
		write_line(out, &placement->rows[i]);
}

static void write_row(struct row_text *out, const void *of)
{
	const struct report_placement_row *row = of;

	row_text_number(out, "rank", row->rank >= 0, row->rank);
	row_text_string(out, "host", row->host);
	row_text_number(out, "gpu", row->gpu >= 0, row->gpu);
	row_text_number(out, "numa_node", row->known, row->numa_node);
	row_text_count(out, "pid", row->pid);
	row_text_count(out, "tid", row->tid);
	row_text_count(out, "looks", row->looks);
	row_text_count(out, out->form == ROW_JSON ? "far" : "far_looks", row->far);
}

void placement_writer_json(FILE *out, const struct report_placement *placement)
{
	row_text_json(out, "far_threads", write_row, NULL, placement->rows, placement->nr_rows,
		      sizeof(*placement->rows));
	fputs(",\n", out);
}
