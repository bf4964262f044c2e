/* What host threads did, and what GPUs did not, as rows for a report. Part of report_build; used by one thread. */
#ifndef REPORT_SAMPLES_H
#define REPORT_SAMPLES_H

#include <stdint.h>

#include "aggregator/core/fold_table.h"
#include "report/profile/profile.h"

typedef int report_samples_take(void *context, const struct fold_row *row);

/* How many rows there are at most. */
uint32_t report_samples_count(const struct profile *profile);

/* Hands every row of samples and of idle time to take, until it returns nonzero; returns that. The rows' kinds are an
 * enum report_kind. Samples have no device; that of idle time is the roster's, its copy_kind an enum idle_cause.
 * -EPROTO: a kind that there is not. */
int report_samples_each(const struct profile *profile, report_samples_take *take, void *context);

#endif
