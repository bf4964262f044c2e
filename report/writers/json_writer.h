/* Writes a profile as JSON, for programs: every leaf with its frames, exact totals, the ledger, devices, streams and
 * processes. All numbers are integers of up to 64 bits. Any thread; the arguments must not change meanwhile. */
#ifndef JSON_WRITER_H
#define JSON_WRITER_H

#include <stdio.h>

#include "report/model/report_busy.h"
#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"

struct findings;
struct report_collectives;
struct report_statistics;

/* statistics, collectives and findings may be NULL: then their members are missing. by names the dimensions within
 * which each frame's ranks are counted (frame_ranks.h); NULL: over everything. 0; -ENOMEM: nothing was written;
 * -ENOSPC, -EIO …: out did not take everything. */
int json_writer_write(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
		      const struct report_statistics *statistics,
		      const struct report_collectives *collectives, const struct findings *findings,
		      const struct report_by *by);

/* Write the member "devices", or "memory" if memory was recorded, with a comma and a newline behind it. */
void json_writer_devices(FILE *out, const struct report_busy *busy);
void json_writer_memory(FILE *out, const struct report_tree *tree);

/* Writes the member "cost" in the same way. The text report has the same figures (report_summary_cost()). */
void json_writer_cost(FILE *out, const struct profile_cost *cost);

/* Writes the member "marked_steps", if the program marks steps, in the same way. */
void json_writer_steps(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
		       const struct report_statistics *statistics);

#endif
