#include "report_summary.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proto/ledger.h"

#define NUMBER_SIZE 32u

const char *report_summary_count(uint64_t count, char *text)
{
	char digits[NUMBER_SIZE];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count), out = 0;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			text[out++] = ',';
		text[out++] = digits[i];
	}
	text[out] = '\0';
	return text;
}

const char *report_summary_time(uint64_t ns, char *text)
{
	static const char *const units[] = {"us", "ms", "s"};
	uint64_t unit_ns = 1000;
	unsigned int thousandths;
	int unit = 0;

	if (ns < 1000) {
		snprintf(text, NUMBER_SIZE, "%" PRIu64 " ns", ns);
		return text;
	}
	while (unit < 2 && ns >= unit_ns * 1000) {
		unit_ns *= 1000;
		unit++;
	}
	/* Below 1000 anyway; the compiler, which counts the digits, cannot know. */
	thousandths = (unsigned int)(ns % unit_ns / (unit_ns / 1000)) % 1000;
	snprintf(text, NUMBER_SIZE, "%" PRIu64 ".%03u %s", ns / unit_ns, thousandths, units[unit]);
	return text;
}

static bool is_loss(const char *reason)
{
	for (uint32_t i = 0; i < LEDGER_REASONS; i++)
		if (strcmp(reason, ledger_reason_name(i)) == 0)
			return ledger_reason_class(i) == LEDGER_LOST;
	return false;
}

static void append(char *line, size_t size, const char *text)
{
	size_t length = strlen(line);

	snprintf(line + length, size - length, "%s", text);
}

/* " (a 1, b 2)", or nothing. */
static void append_reasons(const struct report_tree *tree, bool losses, const char *open,
			   const char *close, char *line, size_t size)
{
	char number[NUMBER_SIZE];
	bool first = true;

	for (uint32_t i = 0; i < tree->nr_losses; i++) {
		const char *reason = tree->strings[tree->losses[i].reason];

		if (is_loss(reason) != losses)
			continue;
		append(line, size, first ? open : ", ");
		append(line, size, reason);
		append(line, size, " ");
		append(line, size, report_summary_count(tree->losses[i].count, number));
		first = false;
	}
	if (!first)
		append(line, size, close);
}

/* Rounded down, so that 100.00 % means all; and of nothing there is no share. */
static void append_matched(const struct report_tree *tree, char *line, size_t size)
{
	uint64_t records = tree->kernels + tree->copies + tree->graphs;
	char number[2 * NUMBER_SIZE];

	if (records == 0) {
		append(line, size, ", no GPU work was seen");
		return;
	}
	uint64_t share = (uint64_t)((unsigned __int128)tree->matched * 10000 / records);
	snprintf(number, sizeof(number), ", %" PRIu64 ".%02" PRIu64 " %% matched", share / 100,
		 share % 100);
	append(line, size, number);
}

const char *report_summary_line(const struct report_tree *tree, char *line, size_t size)
{
	char number[NUMBER_SIZE];

	*line = '\0';
	if (tree->simulated)
		append(line, size, "SIMULATED GPU: ");
	append(line, size, report_summary_count(tree->kernels, number));
	append(line, size, tree->kernels == 1 ? " kernel, " : " kernels, ");
	if (tree->graphs) {
		append(line, size, report_summary_count(tree->graphs, number));
		append(line, size, tree->graphs == 1 ? " graph, " : " graphs, ");
	}
	append(line, size,
	       report_summary_time(tree->kernel_ns + tree->copy_ns + tree->graph_ns, number));
	append(line, size, " of GPU time");
	append_matched(tree, line, size);
	if (tree->lost) {
		append(line, size, "; lost ");
		append(line, size, report_summary_count(tree->lost, number));
		append_reasons(tree, true, " (", ")", line, size);
	} else {
		append(line, size, "; nothing lost");
	}
	append_reasons(tree, false, "; noted: ", "", line, size);
	return line;
}

const char *report_summary_plane(const struct report_tree *tree, enum report_plane plane,
				 char *line, size_t size)
{
	const struct report_plane_total *total = &tree->plane_totals[plane];
	char count[NUMBER_SIZE], time[NUMBER_SIZE];

	snprintf(line, size, "%s: %s in %s", report_plane_label(plane),
		 report_summary_count(total->count, count), report_summary_time(total->ns, time));
	if (total->bytes) {
		append(line, size, ", ");
		append(line, size, report_summary_count(total->bytes, count));
		append(line, size, " bytes");
	}
	return line;
}

void report_summary_planes(FILE *out, const struct report_tree *tree, const char *prefix)
{
	char line[REPORT_SUMMARY_SIZE];

	for (uint32_t plane = REPORT_PLANE_GPU + 1; plane < REPORT_PLANES; plane++)
		if (tree->plane_totals[plane].count)
			fprintf(out, "%s%s\n", prefix,
				report_summary_plane(tree, (enum report_plane)plane, line,
						     sizeof(line)));
}

bool report_summary_mixed(const struct report_tree *tree, char *line, size_t size)
{
	uint32_t nr_planes = 0;

	snprintf(line, size, "several planes side by side, never to be added up:");
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
		if (!(tree->planes & 1u << plane) || !tree->plane_totals[plane].count)
			continue;
		append(line, size, nr_planes++ ? ", " : " ");
		append(line, size, report_plane_name((enum report_plane)plane));
	}
	return nr_planes > 1;
}

void report_summary_notices(FILE *out, const struct report_tree *tree, const char *prefix)
{
	char number[NUMBER_SIZE], all[NUMBER_SIZE];

	for (uint32_t i = 0; i < tree->nr_notices && i < REPORT_SUMMARY_NOTICES; i++) {
		const struct report_notice *notice = &tree->notices[i];

		fprintf(out, "%snote: %s", prefix, tree->strings[notice->text]);
		if (tree->nr_processes > 1)
			fprintf(out, " (%s of %s processes)",
				report_summary_count(notice->nr_processes, number),
				report_summary_count(tree->nr_processes, all));
		fputc('\n', out);
	}
	if (tree->nr_notices > REPORT_SUMMARY_NOTICES)
		fprintf(out, "%snote: %s more in the JSON report\n", prefix,
			report_summary_count(tree->nr_notices - REPORT_SUMMARY_NOTICES, number));
}
