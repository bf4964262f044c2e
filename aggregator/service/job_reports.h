/* Writes the reports of profiles that are complete, beside their stores: each in a process of its own, so that nobody
 * waits for it, two at a time. Used by the aggregator's thread. */
#ifndef JOB_REPORTS_H
#define JOB_REPORTS_H

#include <stdbool.h>

struct job_reports;

/* program: `flamegrid` (its `report --files`), copied; NULL: no reports are written. quiet: only failures are said.
 * NULL: out of memory. */
struct job_reports *job_reports_create(const char *program, bool quiet);

/* Those that are being written are ended, and are to be begun again: their directories keep their marks. Accepts
 * NULL. */
void job_reports_destroy(struct job_reports *reports);

/* This directory's are to be written; coarse: without source lines. 0 or -ENOMEM. */
int job_reports_add(struct job_reports *reports, const char *path, bool coarse);

/* Starts those that wait, and looks which are done: their marks go (job_dir.h). Returns whether there are others. */
bool job_reports_step(struct job_reports *reports);

#endif
