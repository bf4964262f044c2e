/* Adds up what the calls of a communicator's ranks say of their waits. Part of report_straggler; one thread. */
#ifndef REPORT_STRAGGLER_SUMS_H
#define REPORT_STRAGGLER_SUMS_H

#include <stdint.h>

struct report_straggler;

/* Sets last, others_ns, waited_ns and behind of all members by report->folds, and counts the calls that are left out.
 * 0 or -ENOMEM. */
int report_straggler_sums_add(struct report_straggler *report);

/* Returns how many collectives were compared, and stretches of pipelines. */
uint64_t report_straggler_sums_compared(const struct report_straggler *report);

#endif
