/* Writes a trace of a timeline, for Perfetto or in Chrome's format: a track for each host, below it each rank, below
 * that its GPUs with their streams, and its threads.
 *   - A kernel, copy, memset or graph is a slice on its stream; a wait that the profile has is one on its thread.
 *   - A launch is an instant on its thread, with its stack, because no record says when the call returned. It is named
 *     after the function of CUDA that was called. A flow leads from it to its GPU work.
 *   - Ranges and steps that the program marks are slices on a track of their thread.
 *   - Calls of collective libraries are slices on a track of their thread. A flow leads through the calls of a
 *     collective and their kernels on all ranks.
 *   - A GPU has a counter of the share of time that it was busy with work of the rank, and slices of idle time,
 *     which are named after its reason. What NVML told of its clocks and power are counters, too.
 *   - A host's name says how far its clock may be off.
 *   - A slice beside the hosts says what the profile lacks. */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdio.h>

#include "timeline_calls.h"
#include "timeline_events.h"
#include "timeline_gauges.h"
#include "timeline_samples.h"

#include "report/model/report_clocks.h"
#include "report/profile/profile.h"

enum trace_writer_format { TRACE_WRITER_PERFETTO, TRACE_WRITER_CHROME };

struct trace_counts {    /* of what was written beside the events and calls */
	uint64_t ranges; /* and steps */
	uint64_t idle;   /* stretches of idle time */
	uint64_t loads;  /* values of counters */
};

struct trace_content { /* borrowed */
	const struct timeline_events *events;
	const struct timeline_calls *calls;
	const struct timeline_samples *samples;
	const struct timeline_gauges *gauges;
	const struct capture_pauses *pauses;
	const char *lacks; /* what the profile lacks, as a sentence; NULL: nothing */
};

/* Sorts events->marks of each process by thread. 0; -ENOMEM; -EPROTO: the profile is damaged; or what out said. */
int trace_writer_write(FILE *out, enum trace_writer_format format, const struct profile *profile,
		       const struct report_clocks *clocks, const struct trace_content *content,
		       struct trace_counts *counts);

#endif
