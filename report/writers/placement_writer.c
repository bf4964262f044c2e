#include "placement_writer.h"

#include <inttypes.h>

#include "csv_writer.h"
#include "json_text.h"

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

void placement_writer_json(FILE *out, const struct report_placement *placement)
{
	fputs("\"far_threads\":[", out);
	for (uint32_t i = 0; i < placement->nr_rows; i++) {
		const struct report_placement_row *row = &placement->rows[i];

		fputs(i ? ",\n{" : "\n{", out);
		json_text_number(out, "rank", row->rank >= 0, row->rank);
		json_text_member(out, "host", row->host);
		json_text_number(out, "gpu", row->gpu >= 0, row->gpu);
		json_text_number(out, "numa_node", row->known, row->numa_node);
		fprintf(out,
			"\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"looks\":%" PRIu64
			",\"far\":%" PRIu64 "}",
			row->pid, row->tid, row->looks, row->far);
	}
	fputs("],\n", out);
}

void placement_writer_csv(FILE *out, const struct report_placement *placement)
{
	if (placement->nr_rows)
		fputs("# far: rank,host,gpu,numa_node,pid,tid,looks,far_looks\n", out);
	for (uint32_t i = 0; i < placement->nr_rows; i++) {
		const struct report_placement_row *row = &placement->rows[i];

		fputs("# far: ", out);
		csv_writer_number(out, row->rank >= 0, row->rank);
		csv_writer_text(out, row->host);
		fputc(',', out);
		csv_writer_number(out, row->gpu >= 0, row->gpu);
		csv_writer_number(out, row->known, row->numa_node);
		fprintf(out, "%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 "\n", row->pid,
			row->tid, row->looks, row->far);
	}
}
