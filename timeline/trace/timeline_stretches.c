#include "timeline_stretches.h"

#include <errno.h>

#define STRETCH_NS    60000000000u /* the first one */
#define STRETCH_LEAST 1000u

/* Stretches become shorter where there are too many events, and longer again behind. What was too long has been read in
 * vain. So they grow slowly once that has happened. */
int timeline_stretches_walk(uint64_t from_ns, uint64_t end_ns, timeline_stretches_take *take,
			    void *context)
{
	uint64_t length_ns = STRETCH_NS, growth = 4;
	int error = 0;

	while (from_ns < end_ns && !error) {
		const uint64_t to_ns = end_ns - from_ns > length_ns ? from_ns + length_ns : end_ns;

		error = take(context, from_ns, to_ns);
		if (error == -EFBIG && to_ns - from_ns > STRETCH_LEAST) {
			length_ns = (to_ns - from_ns) / 2;
			growth = 16;
			error = 0;
			continue;
		}
		from_ns = to_ns;
		length_ns += length_ns / growth;
	}
	return error;
}

static void keep_most(uint64_t *most, uint64_t count)
{
	*most = count > *most ? count : *most;
}

void timeline_stretches_count(struct timeline_counts *sum, const struct timeline_counts *counts)
{
	const struct event_sums *log = &counts->log;

	keep_most(&sum->unknown, counts->unknown);
	keep_most(&sum->unclocked, counts->unclocked);
	keep_most(&sum->others, counts->others);
	keep_most(&sum->log.damaged, log->damaged);
	keep_most(&sum->log.compressed, log->compressed);
	keep_most(&sum->log.lost_events, log->lost_events);
	keep_most(&sum->log.foreign, log->foreign);
	keep_most(&sum->log.misnamed, log->misnamed);
	keep_most(&sum->log.nameless, log->nameless);
	keep_most(&sum->log.dropped_events, log->dropped_events);
	if (!sum->log.damaged_number)
		sum->log.damaged_number = log->damaged_number;
	if (!sum->log.misnamed_number)
		sum->log.misnamed_number = log->misnamed_number;
}
