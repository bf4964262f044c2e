/* Writes the closing lines of every report: the contents of the profile, and what is missing from it. Any thread. */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report_tree.h"

#include "proto/ledger.h"

#define REPORT_SUMMARY_SIZE 4096u /* bytes that suffice for all but absurdly long names */

#define REPORT_SUMMARY_NOTICES 16u /* lines, because a job of many processes may have many */

/* Writes one line without a newline, cut to size, for example:
 *	1,234,567 kernels, 12.345 s of GPU time, 100.00 % matched; nothing lost
 *	10 kernels, 1.000 ms of GPU time, 90.00 % matched; lost 12; INCOMPLETE: …
 * The last part is the verdict of report_completeness.h; report_summary_ledger() lists losses and notes one by one.
 * Graphs that were not traced node by node are named after the kernels: "2 graphs, ". The share is rounded down;
 * without records the line says that no GPU work was seen. For REPORT_EMPTY the verdict stands in place of the numbers:
 *	NOTHING WAS RECORDED: no process started CUDA …; lost 12
 * Returns line. */
const char *report_summary_line(const struct report_tree *tree, char *line, size_t size);

/* Writes a line for each counter that is not zero, losses first, each after prefix:
 *	"lost: GPU records lost: activity lane full [record_ring_full]: 10"
 *	"noted: launches for which no GPU record came (none does for …) [launch_expired]: 2"
 * Where the reason has a time, that follows:
 *	"noted: exact windows: kernels ran one by one in them [exact_windows]: 1 (11.390 ms)" */
void report_summary_ledger(FILE *out, const struct report_tree *tree, const char *prefix);

/* Writes what profiling cost, after prefix, if that is known, with the agent's part if it is:
 *	"profiling cost: 1.42 % of the launching threads' time (guest 290.000 ms in 201,000 launches, 1.443 us each,
 *	without CUPTI); agent 0.31 % of a core, 41.2 MiB at most; 210.0 MiB of unwind tables"
 * It calls all metered calls launches. The time each is the mean of the metered calls. If some were interrupted, the
 * line says that their number is left out: "without CUPTI and 3 interrupted launches". */
void report_summary_cost(FILE *out, const struct report_tree *tree, const char *prefix);

/* Writes the line of report_summary_line(), then those of report_summary_ledger() and report_summary_cost(), each after
 * prefix. */
void report_summary_write(FILE *out, const struct report_tree *tree, const char *prefix);

/* Writes the title and an empty line, or nothing where there is no title. */
void report_summary_title(FILE *out, const struct report_tree *tree);

/* Returns whether a plane has records, or its resources were used. */
bool report_summary_has(const struct report_tree *tree, enum report_plane plane);

/* Writes a line, after prefix, for each plane that has records, except GPU work and memory
 * (report_summary_memory). */
void report_summary_planes(FILE *out, const struct report_tree *tree, const char *prefix);

/* Tells whether the tree shows records of more than one plane; line then names them. Otherwise line must not be
 * used. */
bool report_summary_mixed(const struct report_tree *tree, char *line, size_t size);

/* Writes a line for each notice, after prefix: "note: CPython 3.11.2 (3 of 4 processes)", without the count if there is
 * one process. Beyond REPORT_SUMMARY_NOTICES a last line says how many are left out. */
void report_summary_notices(FILE *out, const struct report_tree *tree, const char *prefix);

/* Writes lines about recorded memory, each after prefix:
 *	"GPU0 memory: peak 512.0 MiB after 1.234 s; 12.0 MiB in 3 allocations never freed"
 * They name the host and the process if there are several. Beyond REPORT_SUMMARY_NOTICES a last line sums up the
 * others. */
void report_summary_memory(FILE *out, const struct report_tree *tree, const char *prefix);

/* Writes "GPU0 memory", "GPU? managed memory" or "host memory". text: 32 bytes at least. Returns text. */
const char *report_summary_space(const struct report_memory_row *row, char *text);

/* Writes "12.5 MiB" (B, KiB, MiB, GiB, … as fits). text: 32 bytes at least. Returns text. */
const char *report_summary_bytes(uint64_t bytes, char *text);

/* Writes "1,234.6 J". text: 32 bytes at least. Returns text. */
const char *report_summary_energy(uint64_t mj, char *text);

/* Returns the tree's line of a reason; NULL: nothing was counted, or it is no loss or note. */
const struct report_loss *report_summary_loss(const struct report_tree *tree,
					      enum ledger_reason reason);

/* Returns whether there were capture windows: between them nothing was recorded, so nothing is known to be idle. */
bool report_summary_has_windows(const struct report_tree *tree);

/* Returns 100 * part / whole; 0: there is no whole. */
double report_summary_percent(double part, double whole);

/* Writes "12.35%". It is never 100 % of less than all, nor 0 % of something, as in the page. text: 32 bytes at least.
 * Returns text. */
const char *report_summary_share(double part, double whole, char *text);

/* Write "1,234,567" and "12.346 s" (ns, us, ms, s as fits), rounded as in the page. text: 32 bytes at least. Return
 * text. */
const char *report_summary_count(uint64_t count, char *text);
const char *report_summary_time(uint64_t ns, char *text);

#endif
