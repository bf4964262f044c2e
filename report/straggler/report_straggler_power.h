/* Says how late a stage of a pipeline may be without being found. Pure; any thread. */
#ifndef REPORT_STRAGGLER_POWER_H
#define REPORT_STRAGGLER_POWER_H

#include "report_straggler_result.h"

/* Returns about what a stage, or a rank of one, must cost to stand out of the noise of the pipelines, as a part of the
 * time: of the ranks the greatest lateness at which z is STRAGGLER_Z_MIN, or what one that is not named has. 1: not
 * known. 0: there are no pipelines. */
double report_straggler_power_hides(const struct report_straggler *report);

#endif
