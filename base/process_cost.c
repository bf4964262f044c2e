#include "process_cost.h"

#include <sys/resource.h>
#include <time.h>

void process_cost_read(struct process_cost *cost)
{
	struct timespec used;
	struct rusage usage;

	*cost = (struct process_cost){0};
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
		cost->cpu_ns = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		cost->peak_bytes = (uint64_t)usage.ru_maxrss << 10;
}
