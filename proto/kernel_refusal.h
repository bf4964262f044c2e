/* The notices of a process (message_process.notices) that reports look at where no kernel was sampled (run --record
 * stalls, --sample-gpu). KERNEL_NOTICE is the agent's: the guest was to sample kernels. Aggregators and reports that do
 * not know it take it for a line like others. The guest says why it does not sample (NOTICE_NO_KERNEL_SAMPLES in
 * definition.h): reports recognise such a notice by its words. */
#ifndef KERNEL_REFUSAL_H
#define KERNEL_REFUSAL_H

#include <stdbool.h>
#include <string.h>

#define KERNEL_NOTICE  "was to be sampled in its kernels"
#define KERNEL_REFUSAL "kernels of CUDA device "

static inline bool kernel_refusal_is(const char *notice)
{
	return strncmp(notice, KERNEL_REFUSAL, sizeof(KERNEL_REFUSAL) - 1) == 0 &&
	       strstr(notice, " not sampled");
}

#endif
