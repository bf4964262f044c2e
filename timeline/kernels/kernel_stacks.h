/* Reads GPU work with the launch of each piece, in stretches of time, so that a log of any length passes through
 * bounded memory. Used by one thread. */
#ifndef KERNEL_STACKS_H
#define KERNEL_STACKS_H

#include "timeline/trace/timeline_source.h"

/* launch NULL: it was not kept, or is older than STEP_PENDING_NS (step_pending.h). Nonzero ends the reading. */
typedef int kernel_stacks_take(void *context, const struct timeline_work *work,
			       const struct timeline_launch *launch);

/* Gives take the work that begins in [from_ns, to_ns), each piece once, from one stretch to the next in the order of
 * time. request: of its times none counts. *counts: as timeline_stretches_count() says. 0; -EFBIG: a microsecond has
 * too many events; errors as timeline_source_read(). */
int kernel_stacks_read(struct timeline_source *source, const struct timeline_request *request,
		       uint64_t from_ns, uint64_t to_ns, kernel_stacks_take *take, void *context,
		       struct timeline_counts *counts);

#endif
