/* The line that every report ends with: what there is, and what is missing. Any thread. */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report_tree.h"

#define REPORT_SUMMARY_SIZE 4096u /* bytes that suffice for all but absurdly long names */

#define REPORT_SUMMARY_NOTICES 16u /* lines; a job of many processes may say much */

/* One line without a newline, cut to size, e.g.
 *	1,234,567 kernels, 12.345 s of GPU time, 100.00 % matched; nothing lost
 *	10 kernels, 1.000 ms of GPU time, 90.00 % matched; lost 12; INCOMPLETE: …
 * What was lost and noted, one by one, is said by report_summary_ledger(); what stands behind is the verdict of
 * report_completeness.h. Graphs that were not traced node by node are named after the kernels: "2 graphs, ". The share
 * is rounded down; of no records at all it says that no GPU work was seen. Returns line. */
const char *report_summary_line(const struct report_tree *tree, char *line, size_t size);

/* A line for each counter that is not zero, lost ones first, each begun with prefix:
 *	"lost: GPU records lost: activity lane full [record_ring_full]: 10"
 *	"noted: launches for which no GPU record came [launch_expired]: 2" */
void report_summary_ledger(FILE *out, const struct report_tree *tree, const char *prefix);

/* "host waits: 12,345 in 1.230 s", with ", 4,096 bytes" where there are any: a plane's own total, shown or not. Returns
 * line. */
const char *report_summary_plane(const struct report_tree *tree, enum report_plane plane,
				 char *line, size_t size);

/* Such a line for each plane which has records but that of GPU work, and memory (report_summary_memory), each begun
 * with prefix. */
void report_summary_planes(FILE *out, const struct report_tree *tree, const char *prefix);

/* Whether the tree shows records of more than one plane; then line says which. Otherwise line is not to be used. */
bool report_summary_mixed(const struct report_tree *tree, char *line, size_t size);

/* A line for each notice, at most REPORT_SUMMARY_NOTICES (then how many more there are), each begun
 * with prefix: "note: CPython 3.11.2 (3 of 4 processes)". Of a single process without the count. */
void report_summary_notices(FILE *out, const struct report_tree *tree, const char *prefix);

/* Lines about memory, where it was recorded, at most REPORT_SUMMARY_NOTICES and a last one about what they hold, each
 * begun with prefix:
 *	"GPU0 memory: peak 512.0 MiB after 1.234 s; 12.0 MiB in 3 allocations never freed"
 * With the host and process, where there are more than one. */
void report_summary_memory(FILE *out, const struct report_tree *tree, const char *prefix);

/* "GPU0 memory", "GPU? managed memory", "host memory". text: 32 bytes at least. Returns text. */
const char *report_summary_space(const struct report_memory_row *row, char *text);

/* "12.5 MiB" (B, KiB, MiB, GiB, … as fits). text: 32 bytes at least. Returns text. */
const char *report_summary_bytes(uint64_t bytes, char *text);

/* "1,234,567" and "12.345 s" (ns, us, ms, s as fits). text: 32 bytes at least. Return text. */
const char *report_summary_count(uint64_t count, char *text);
const char *report_summary_time(uint64_t ns, char *text);

#endif
