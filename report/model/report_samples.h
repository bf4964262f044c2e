/* Turns the work of host threads and the idle time of GPUs into rows for a report. Part of report_build; used by one
 * thread. */
#ifndef REPORT_SAMPLES_H
#define REPORT_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/fold_table.h"
#include "report/profile/profile.h"
#include "report/stalls/stall_split.h"

typedef int report_samples_take(void *context, const struct fold_row *row);

/* Hands every row of samples and of idle time to take until it returns nonzero, and returns that value. The rows'
 * kinds are an enum report_kind. Samples have no device. The device of idle time is the roster's, and its copy_kind
 * an enum idle_cause. Samples of running kernels are left out. -EPROTO: a kind is not known. */
int report_samples_each(const struct profile *profile, report_samples_take *take, void *context);

/* Hands every row of samples of running kernels to take, in the same way. Their count is a number of samples; they have
 * no time. */
int report_samples_each_stall(const struct profile *profile, report_samples_take *take,
			      void *context);

/* Returns the row of a part of a kernel's time. */
struct fold_row report_samples_stall(const struct stall_part *part);

/* Returns whether a row of this key, as handed to take, is idle time in a pause. */
bool report_samples_is_pause(const struct fold_key *key);

/* Returns the idle time that is in pauses. */
uint64_t report_samples_pause_ns(const struct profile *profile);

#endif
