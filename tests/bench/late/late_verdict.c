#include "late_verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t all_jobs, all_right, all_innocent;

void late_verdict_add(uint32_t jobs, uint32_t right, uint32_t innocent)
{
	all_jobs += jobs;
	all_right += right;
	all_innocent += innocent;
}

int late_verdict_status(void)
{
	fprintf(stderr,
		"%" PRIu64 " of %" PRIu64 " jobs are right; in %" PRIu64
		" another rank is named or marked\n",
		all_right, all_jobs, all_innocent);
	return all_innocent || 100 * all_right < LATE_VERDICT_RIGHT * all_jobs ? EXIT_FAILURE
									       : EXIT_SUCCESS;
}
