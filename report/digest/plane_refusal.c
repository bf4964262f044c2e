#include "plane_refusal.h"

#include <stdint.h>
#include <stdio.h>

#include "proto/kernel_refusal.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u

/* Returns the reason for which most samples were counted, and are not in the plane; NULL: none was. */
static const struct report_loss *most_lost(const struct report_tree *tree)
{
	static const enum ledger_reason reasons[] = {
		LEDGER_KERNEL_SAMPLE_OTHER, LEDGER_KERNEL_SAMPLE_LOST, LEDGER_EXACT_SAMPLE_OTHER,
		LEDGER_EXACT_SAMPLE_LOST};
	const struct report_loss *most = NULL;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		const struct report_loss *loss = report_summary_loss(tree, reasons[i]);

		if (loss && (!most || loss->count > most->count))
			most = loss;
	}
	return most;
}

static void say_no_sample(const struct report_tree *tree, char *text)
{
	const struct report_loss *lost = most_lost(tree);
	char count[NUMBER_SIZE];
	int size = snprintf(text, PLANE_REFUSAL_SIZE,
			    "the run was to sample kernels, and no sample came: ");

	if (lost)
		snprintf(text + size, PLANE_REFUSAL_SIZE - (size_t)size, "%s: %s",
			 tree->strings[lost->text], report_summary_count(lost->count, count));
	else if (!tree->kernels)
		snprintf(text + size, PLANE_REFUSAL_SIZE - (size_t)size, "no kernel was recorded");
	else
		snprintf(text + size, PLANE_REFUSAL_SIZE - (size_t)size,
			 "its kernels ran before sampling began, were too short and too few, or "
			 "the program was killed (docs/samples.md)");
}

const char *plane_refusal_of(const struct report_tree *tree, enum report_plane plane, char *text)
{
	if (plane != REPORT_PLANE_STALLS)
		return NULL;
	for (uint32_t i = 0; i < tree->nr_notices; i++) {
		const char *notice = tree->strings[tree->notices[i].text];

		if (kernel_refusal_is(notice))
			return notice;
	}
	if (!tree->was_to_sample)
		return NULL;
	say_no_sample(tree, text);
	return text;
}

const char *plane_refusal_line(const struct report_tree *tree, enum report_plane plane, char *text)
{
	char reason[PLANE_REFUSAL_SIZE];
	const char *refusal = plane_refusal_of(tree, plane, reason);

	if (1u << plane & REPORT_PLANES_RESOURCES)
		snprintf(
			text, PLANE_REFUSAL_LINE_SIZE,
			"the profile has nothing of it: fewer than two readings of NVML's have it, "
			"as the run was short, or NVML does not tell it (`flamegrid doctor`)");
	else if (refusal)
		snprintf(text, PLANE_REFUSAL_LINE_SIZE, "the profile has nothing of it: %s",
			 refusal);
	else
		snprintf(text, PLANE_REFUSAL_LINE_SIZE,
			 "the profile has nothing of it; `flamegrid run %s` records it",
			 report_plane_options(plane));
	return text;
}
