/* What a trace of `flamegrid timeline` has, in words. Used by one thread. */
#ifndef TIMELINE_SUMMARY_H
#define TIMELINE_SUMMARY_H

#include "timeline/trace/timeline_events.h"
#include "timeline/trace/trace_writer.h"

struct timeline_summary { /* all borrowed */
	const struct timeline_events *events;
	const struct trace_counts *counts;
	uint32_t nr_calls; /* of NCCL */
	uint64_t whole_ns; /* all that the profile has events of */
	long size;         /* bytes of the trace; 0 or less: not known */
	const char *output_name;
};

/* Says it as two notices. Waits of hosts are no GPU work. */
void timeline_summary_say(const struct timeline_summary *summary);

#endif
