#include "notes_writer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "html_text.h"

#include "report/model/report_dimension.h"
#include "report/model/report_summary.h"
#include "report/stalls/stall_agreement.h"

#define VERDICT_MAX 4096u

/* Says also what the page cannot show. */
static void write_verdict(FILE *out, const struct report_tree *tree)
{
	const char *verdict = tree->verdict ? tree->verdict : "";
	char text[VERDICT_MAX];
	const char *before = "";

	if (!tree->leaves_given_up) {
		html_text_json(out, verdict);
		return;
	}
	int size =
		snprintf(text, sizeof(text), "%.*s%smore stacks than a page has room for: not by ",
			 (int)sizeof(text) / 2, verdict, *verdict ? "; " : "");
	for (uint32_t i = 0; i < REPORT_DIMENSIONS; i++) {
		if (!(tree->leaves_given_up & 1u << i))
			continue;
		size += snprintf(text + size, sizeof(text) - (size_t)size, "%s%s", before,
				 report_dimension_word((enum report_dimension)i));
		before = ", ";
	}
	snprintf(text + size, sizeof(text) - (size_t)size, " (flamegrid report --by shows each)");
	html_text_json(out, text);
}

static void write_losses(FILE *out, const struct report_tree *tree)
{
	fputs(",\n\"losses\":[", out);
	for (uint32_t i = 0; i < tree->nr_losses; i++)
		fprintf(out, "%s[%" PRIu32 ",\"%" PRIu64 "\",\"%" PRIu64 "\",%" PRIu32 ",%d]",
			i ? "," : "", tree->losses[i].reason, tree->losses[i].count,
			tree->losses[i].ns, tree->losses[i].text, tree->losses[i].lost != 0);
	fprintf(out, "],\n\"state\":%d,\"verdict\":", (int)tree->state);
	write_verdict(out, tree);
}

static void write_notices(FILE *out, const struct report_tree *tree)
{
	fputs(",\n\"notices\":[", out);
	for (uint32_t i = 0; i < tree->nr_notices; i++)
		fprintf(out, "%s[%" PRIu32 ",%" PRIu32 "]", i ? "," : "", tree->notices[i].text,
			tree->notices[i].nr_processes);
	putc(']', out);
}

static void write_cost(FILE *out, const struct report_tree *tree)
{
	char *text = NULL;
	size_t size = 0;
	FILE *line = open_memstream(&text, &size);

	if (line)
		report_summary_cost(line, tree, "");
	fputs(",\n\"cost\":", out);
	html_text_json(out, line && fclose(line) == 0 && size ? strtok(text, "\n") : "");
	free(text);
}

static void write_processes(FILE *out, const struct report_tree *tree)
{
	bool first = true;

	fprintf(out, ",\n\"processes\":%" PRIu32 ",\"unclean\":[", tree->nr_processes);
	for (uint32_t i = 0; i < tree->nr_processes; i++) {
		const struct report_process *process = &tree->processes[i];

		if (!process->unclean)
			continue;
		fprintf(out, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRId32 "]",
			first ? "" : ",", process->host, process->command, process->pid,
			process->rank);
		first = false;
	}
	putc(']', out);
}

static void write_agreement(FILE *out, const struct report_tree *tree)
{
	const struct stall_agreement_row *total = tree->agreement ? &tree->agreement->total : NULL;

	if (!total || !total->exact)
		return;
	fprintf(out, ",\n\"agreement\":[%.6f,%.6f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
		total->places, total->launches, total->exact, total->matched, total->samples);
}

void notes_writer_json(FILE *out, const struct report_tree *tree)
{
	write_agreement(out, tree);
	write_losses(out, tree);
	write_notices(out, tree);
	write_cost(out, tree);
	write_processes(out, tree);
}
