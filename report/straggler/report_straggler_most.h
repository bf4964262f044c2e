/* Finds the rank for which the others waited most, where nobody is named. Pure; any thread. */
#ifndef REPORT_STRAGGLER_MOST_H
#define REPORT_STRAGGLER_MOST_H

#include "report_straggler_result.h"

struct report_straggler_most {
	const struct report_straggler_rank *rank; /* NULL: there are no ranks */
	/* where it looks late, or else where the others waited most for it; NULL: in no collectives */
	const struct report_straggler_communicator *on;
	const struct straggler_subject *found; /* on that communicator */
	double all_ns;                         /* others_mean_ns of all ranks */
};

/* All pointers are borrowed from the report. */
struct report_straggler_most report_straggler_most_find(const struct report_straggler *report);

#endif
