/* The notices of a process (message_process.notices) that reports look at where nothing was measured (run --metrics).
 * METRIC_NOTICE is the agent's: the guest was to measure. Aggregators and reports that do not know it take it for a
 * line like others. The guest says why it does not measure (NOTICE_NO_KERNEL_METRICS in definition.h). Where that is
 * true of all launches or ranges, the notice has the words of one of the others. */
#ifndef METRIC_NOTICE_H
#define METRIC_NOTICE_H

#include <stdbool.h>
#include <string.h>

#define METRIC_NOTICE           "was to be measured by metrics"
#define METRIC_NOTICE_NOT       " are not measured: "
#define METRIC_NOTICE_REFUSED   " are not measured (" /* CUPTI's error */
#define METRIC_NOTICE_NO_LONGER " are no longer measured"

/* Returns whether the notice says why no launch or range of a device is measured, or none any more. A metric that CUPTI
 * does not know, a further context, and a single range are no such reason. */
static inline bool metric_notice_is_refusal(const char *notice)
{
	return strstr(notice, METRIC_NOTICE_NOT) || strstr(notice, METRIC_NOTICE_REFUSED) ||
	       strstr(notice, METRIC_NOTICE_NO_LONGER);
}

#endif
