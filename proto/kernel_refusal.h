/* Why running kernels are not sampled (run --record stalls): the text of the notice by which a guest says so
 * (NOTICE_NO_KERNEL_SAMPLES in definition.h). Reports recognise such a notice by its words. */
#ifndef KERNEL_REFUSAL_H
#define KERNEL_REFUSAL_H

#include <stdbool.h>
#include <string.h>

#define KERNEL_REFUSAL "kernels of CUDA device "

static inline bool kernel_refusal_is(const char *notice)
{
	return strncmp(notice, KERNEL_REFUSAL, sizeof(KERNEL_REFUSAL) - 1) == 0 &&
	       strstr(notice, " not sampled");
}

#endif
