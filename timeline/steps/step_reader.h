/* Reads the steps of an event log, and what they consist of. The log may be of any length: its events pass in stretches
 * of time of at most TIMELINE_STRETCHES_EVENTS events. Memory grows with the number of steps alone. Used by one
 * thread. */
#ifndef STEP_READER_H
#define STEP_READER_H

#include "step_rows.h"

#include "timeline/trace/nccl_waits.h"
#include "timeline/trace/timeline_source.h"

/* Fills *rows with the steps of the request's ranks that lie within its time. nccl may be NULL. range: the program's
 * ranges of this name are the steps; NULL: steps that it marked as such. request->events_max 0 is
 * TIMELINE_STRETCHES_EVENTS. *counts: of several readings the most that one of them counted, so what is damaged may be
 * more. 0; -EFBIG: a microsecond has more events; -EPROTO: the profile is damaged; or as timeline_source_read(). Call
 * step_rows_fini() in any case. */
int step_reader_read(struct timeline_source *source, const struct timeline_request *request,
		     const char *range, const struct nccl_waits *nccl, struct step_rows *rows,
		     struct timeline_counts *counts);

#endif
