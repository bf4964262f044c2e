#include "timeline_summary.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"

#define PART_SIZE 64u

static uint32_t count_waits(const struct timeline_events *events)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < events->nr_work; i++)
		nr += events->work[i].kind == RECORD_GPU_SYNC;
	return nr;
}

void timeline_summary_say(const struct timeline_summary *summary)
{
	const struct timeline_events *events = summary->events;
	const struct trace_counts *counts = summary->counts;
	const struct event_sums *log = &events->counts.log;
	const uint64_t nr_events = (uint64_t)events->nr_launches + events->nr_work +
				   summary->nr_calls + counts->ranges + counts->idle +
				   counts->loads;
	const uint32_t nr_waits = count_waits(events), nr_work = events->nr_work - nr_waits;
	char ranges[PART_SIZE] = "", calls[PART_SIZE] = "", bytes[PART_SIZE] = "",
	     waits[PART_SIZE] = "";

	if (counts->ranges)
		snprintf(ranges, sizeof(ranges), ", %" PRIu64 " %s", counts->ranges,
			 counts->ranges == 1 ? "range or step" : "ranges and steps");
	if (nr_events && summary->size > 0) /* a pipe tells none */
		snprintf(bytes, sizeof(bytes), "; %.1f bytes an event",
			 (double)summary->size / (double)nr_events);
	if (summary->nr_calls)
		snprintf(calls, sizeof(calls), ", %" PRIu32 " call%s of NCCL", summary->nr_calls,
			 summary->nr_calls == 1 ? "" : "s");
	if (nr_waits)
		snprintf(waits, sizeof(waits), ", %" PRIu32 " wait%s", nr_waits,
			 nr_waits == 1 ? "" : "s");
	log_notice("%" PRIu32 " launch%s and %" PRIu32 " piece%s of GPU work of %" PRIu32
		   " process%s%s, %" PRIu32 " flow%s%s%s%s in %s",
		   events->nr_launches, events->nr_launches == 1 ? "" : "es", nr_work,
		   nr_work == 1 ? "" : "s", events->nr_ranks, events->nr_ranks == 1 ? "" : "es",
		   waits, events->nr_flows, events->nr_flows == 1 ? "" : "s", ranges, calls, bytes,
		   summary->output_name);
	log_notice("the profile has events of %.3f s, in %.1f MiB; %" PRIu64 " of %" PRIu64
		   " blocks were read",
		   (double)summary->whole_ns * 1e-9, (double)log->bytes / (1 << 20),
		   log->blocks_read, log->blocks);
}
