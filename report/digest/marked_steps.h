/* The steps that a program marks (flamegrid_step() of api/flamegrid.h). Any thread. */
#ifndef MARKED_STEPS_H
#define MARKED_STEPS_H

#include <stdint.h>

#include "report/model/report_busy.h"
#include "report/model/report_statistics.h"
#include "report/model/report_tree.h"

struct marked_steps {
	uint64_t count; /* of the process that marked most; 0: none marks steps */
	uint64_t least; /* of the one that marked fewest, but some */
	/* of the GPUs' windows without pauses, for one step of a process that marks; 0: not known */
	uint64_t mean_ns;
};

/* Returns how long GPUs worked, on average, from the first work to the last, without pauses. In a merged profile it is
 * the average of all parts, because nobody knows what a GPU did between two. 0: not known, as between capture windows,
 * and where work came too late. */
uint64_t marked_steps_window_ns(const struct report_tree *tree, const struct report_busy *busy);

/* statistics may be NULL: none marks steps. The time is not known between capture windows, nor where work came too
 * late, nor in a merged profile with a process that marks none, nor where a process that marks steps ended without a
 * goodbye after less than a minute: its last steps, or the last work, may be missing. A profile has no times of single
 * steps, so there is no median. */
struct marked_steps marked_steps_of(const struct report_tree *tree, const struct report_busy *busy,
				    const struct report_statistics *statistics);

#endif
