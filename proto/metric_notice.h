/* The notices of a process (message_process.notices) that reports look at where nothing was measured (run --metrics).
 * METRIC_NOTICE is the agent's: the guest was to measure. Aggregators and reports that do not know it take it for a
 * line like others. The guest says why it does not measure (NOTICE_NO_KERNEL_METRICS in definition.h): such a notice
 * has the words METRIC_NOTICE_NOT or METRIC_NOTICE_NO_LONGER. */
#ifndef METRIC_NOTICE_H
#define METRIC_NOTICE_H

#include <stdbool.h>
#include <string.h>

#define METRIC_NOTICE           "was to be measured by metrics"
#define METRIC_NOTICE_NOT       "not measured"
#define METRIC_NOTICE_NO_LONGER "no longer measured"

/* Returns whether the notice says why launches or ranges are not measured. */
static inline bool metric_notice_is_refusal(const char *notice)
{
	return strstr(notice, METRIC_NOTICE_NOT) || strstr(notice, METRIC_NOTICE_NO_LONGER);
}

#endif
