#include "report_refusal.h"

#include <stdbool.h>
#include <stdint.h>

#include "proto/counter_refusal.h"
#include "proto/kernel_refusal.h"
#include "proto/metric_notice.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u

#define PART_EMPTY "this part of a profile has none: the whole has what was recorded"

/* Planes that parts of profiles have (timeline/slice/profile_slice.h). */
#define PLANES_OF_PARTS (1u << REPORT_PLANE_GPU | 1u << REPORT_PLANE_SYNC)

/* Returns the most frequent notice of the kind; NULL: there is none. */
static const char *find_notice(const struct report_tree *tree, bool (*is_refusal)(const char *))
{
	for (uint32_t i = 0; i < tree->nr_notices; i++) {
		const char *notice = tree->strings[tree->notices[i].text];

		if (is_refusal(notice))
			return notice;
	}
	return NULL;
}

/* Returns the reason for which most was counted, and is not here; NULL: none was. */
static const struct report_loss *most_lost(const struct report_tree *tree,
					   const enum ledger_reason *reasons, size_t count)
{
	const struct report_loss *most = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct report_loss *loss = report_summary_loss(tree, reasons[i]);

		if (loss && (!most || loss->count > most->count))
			most = loss;
	}
	return most;
}

static const char *say_no_sample(const struct report_tree *tree, char *text)
{
	static const enum ledger_reason reasons[] = {
		LEDGER_KERNEL_SAMPLE_OTHER, LEDGER_KERNEL_SAMPLE_LOST, LEDGER_EXACT_SAMPLE_OTHER,
		LEDGER_EXACT_SAMPLE_LOST};
	const struct report_loss *lost =
		most_lost(tree, reasons, sizeof(reasons) / sizeof(*reasons));
	char count[NUMBER_SIZE];
	int size = snprintf(text, REPORT_REFUSAL_SIZE,
			    "the run was to sample kernels, and no sample came: ");

	if (lost)
		snprintf(text + size, REPORT_REFUSAL_SIZE - (size_t)size, "%s: %s",
			 tree->strings[lost->text], report_summary_count(lost->count, count));
	else if (!tree->kernels)
		snprintf(text + size, REPORT_REFUSAL_SIZE - (size_t)size, "no kernel was recorded");
	else
		snprintf(text + size, REPORT_REFUSAL_SIZE - (size_t)size,
			 "its kernels ran before sampling began, were too short and too few, or "
			 "the program was killed (docs/samples.md)");
	return text;
}

const char *report_refusal_plane(const struct report_tree *tree, enum report_plane plane,
				 char *text)
{
	if (tree->is_part)
		return PLANES_OF_PARTS & 1u << plane ? PART_EMPTY : REPORT_REFUSAL_PART;
	if (1u << plane & REPORT_PLANES_RESOURCES)
		return "fewer than two readings of NVML's have it, as the run was short, or NVML "
		       "does not tell it (`flamegrid doctor`)";
	if (plane != REPORT_PLANE_STALLS)
		return NULL;
	const char *notice = find_notice(tree, kernel_refusal_is);

	return notice ? notice : tree->was_to_sample ? say_no_sample(tree, text) : NULL;
}

const char *report_refusal_metrics(const struct report_tree *tree, char *text)
{
	static const enum ledger_reason reasons[] = {LEDGER_METRIC_LOST, LEDGER_METRIC_SHARED,
						     LEDGER_METRIC_REFUSED};
	const char *notice = find_notice(tree, metric_notice_is_refusal);
	const struct report_loss *lost =
		most_lost(tree, reasons, sizeof(reasons) / sizeof(*reasons));
	char count[NUMBER_SIZE];

	if (tree->is_part)
		return REPORT_REFUSAL_PART;
	if (notice)
		return notice;
	if (lost) {
		snprintf(text, REPORT_REFUSAL_SIZE, "%s: %s (docs/data-loss.md)",
			 tree->strings[lost->text], report_summary_count(lost->count, count));
		return text;
	}
	return tree->was_to_measure
		       ? "--kernels or --ranges matches no name in this run; or its launches are "
			 "such as are never measured, or too few for the passes "
			 "(docs/metrics.md); or the program was killed. --kernels takes mangled "
			 "names (report --demangle none); names of ranges have their digits, or # "
			 "for them, as run --nvtx-digits says"
		       : NULL;
}

const char *report_refusal_counters(const struct report_tree *tree)
{
	return tree->is_part ? NULL : find_notice(tree, counter_refusal_is);
}

void report_refusal_write(FILE *out, const struct report_tree *tree, const char *prefix)
{
	char text[REPORT_REFUSAL_SIZE];
	const char *stalls = report_refusal_plane(tree, REPORT_PLANE_STALLS, text);

	if (tree->is_part)
		return;
	if (stalls && !report_summary_has(tree, REPORT_PLANE_STALLS))
		fprintf(out, "%snothing of stalls is here: %s\n", prefix, stalls);
	const char *counters = report_refusal_counters(tree);
	if (counters)
		fprintf(out, "%s%s\n", prefix, counters);
	const char *metrics = tree->metrics ? NULL : report_refusal_metrics(tree, text);
	if (metrics)
		fprintf(out, "%snothing was measured: %s\n", prefix, metrics);
}

const char *report_refusal_line(const char *refusal, const char *options, char *text)
{
	if (refusal)
		snprintf(text, REPORT_REFUSAL_LINE_SIZE, "the profile has nothing of it: %s",
			 refusal);
	else
		snprintf(text, REPORT_REFUSAL_LINE_SIZE,
			 "the profile has nothing of it; `flamegrid run %s` records it", options);
	return text;
}
