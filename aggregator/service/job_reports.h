/* Writes the reports of complete profiles beside their stores. Each runs in a process of its own, so that nobody waits
 * for it, and at most two at a time. Used by the aggregator's thread. */
#ifndef JOB_REPORTS_H
#define JOB_REPORTS_H

#include <stdbool.h>

struct job_reports;

/* program: the path of `flamegrid`, whose `report --files` writes them; copied; NULL: no reports.
 * Returns NULL: out of memory. */
struct job_reports *job_reports_create(const char *program);

/* Ends reports that are being written. Their directories keep their marks, so a next aggregator begins them again.
 * Accepts NULL. */
void job_reports_destroy(struct job_reports *reports);

/* Queues the reports of a directory; coarse: without source lines. 0 or -ENOMEM. */
int job_reports_add(struct job_reports *reports, const char *path, bool coarse);

/* Starts waiting reports, and finishes the marks (job_dir.h) of those that are written. Returns whether others are
 * left. */
bool job_reports_step(struct job_reports *reports);

#endif
