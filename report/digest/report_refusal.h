/* Why what was asked for is not in a profile: a plane, samples of counters, or measurements. Any thread. */
#ifndef REPORT_REFUSAL_H
#define REPORT_REFUSAL_H

#include <stdio.h>

#include "report/model/report_plane.h"
#include "report/model/report_tree.h"

#define REPORT_REFUSAL_SIZE      512u
#define REPORT_REFUSAL_LINE_SIZE (REPORT_REFUSAL_SIZE + 128u)

/* Of what a part of a profile never has (profile_slice.h). */
#define REPORT_REFUSAL_PART "a part of a profile has none: the whole has what was recorded"

/* Say why nothing of an empty plane, or of the metrics, is here: that the profile is a part of another, what most
 * processes have said, or else what the ledger knows. text: REPORT_REFUSAL_SIZE bytes. Return text, or a string that
 * lives as long as the tree; NULL: it is not known that the run was to record it. Of the planes of resources a reason
 * is always known. */
const char *report_refusal_plane(const struct report_tree *tree, enum report_plane plane,
				 char *text);
const char *report_refusal_metrics(const struct report_tree *tree, char *text);

/* Writes "the profile has nothing of it: ..." with such a reason; refusal NULL: with the options of `run` that record
 * it. Returns text, which has REPORT_REFUSAL_LINE_SIZE bytes. */
const char *report_refusal_line(const char *refusal, const char *options, char *text);

/* Says why a GPU has no samples of its counters, though the run asked for them (--sample-counters). Use may be here all
 * the same, by NVML. Returns a string of the tree; NULL: nothing refused them. */
const char *report_refusal_counters(const struct report_tree *tree);

/* Writes a line, after prefix, for each of these that the run was to record, and that is not here: the last lines of a
 * run. */
void report_refusal_write(FILE *out, const struct report_tree *tree, const char *prefix);

#endif
