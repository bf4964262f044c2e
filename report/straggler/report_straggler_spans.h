/* Finds how long the collectives of communicators took, and those of their ranks in the whole run. Part of
 * report_straggler; one thread. */
#ifndef REPORT_STRAGGLER_SPANS_H
#define REPORT_STRAGGLER_SPANS_H

#include "report_straggler_result.h"

/* Sets the spans of a communicator and of its members. 0 or -ENOMEM. */
int report_straggler_spans_find(struct report_straggler_communicator *communicator);

/* Sets run_ns of all ranks. rank_of: of each process, its index in report->ranks, + 1; 0: none. They have nr_processes
 * + 1 entries. 0 or -ENOMEM. */
int report_straggler_spans_of_ranks(struct report_straggler *report, const uint32_t *rank_of,
				    uint32_t nr_processes);

/* *run_ns is the median run of a communicator's ranks. 0 or -ENOMEM. */
int report_straggler_spans_run(const struct report_straggler *report, const uint32_t *rank_of,
			       const struct report_straggler_communicator *communicator,
			       uint64_t *run_ns);

#endif
