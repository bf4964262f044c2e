#include "report_absence.h"

#include <inttypes.h>
#include <stdio.h>

/* A fault comes first, then the user's choice, then work that was not seen. */
const char *report_absence_line(const struct report_absence_facts *facts, char *line, size_t size)
{
	if (facts->failed)
		snprintf(line, size, "%s", facts->failed);
	else if (facts->is_written && facts->nr_processes == 0)
		snprintf(line, size, "no process has started CUDA yet");
	else if (facts->chosen)
		snprintf(line, size, "%s", facts->chosen);
	else if (facts->has_launches)
		snprintf(line, size,
			 "GPU work was launched, but CUPTI delivered no record of it: it was only "
			 "captured into graphs, failed, or had not ended");
	else if (facts->nr_processes)
		snprintf(line, size,
			 "%" PRIu32 " process%s started CUDA, and launched no GPU work while "
			 "capture was on",
			 facts->nr_processes, facts->nr_processes == 1 ? "" : "es");
	else if (facts->nr_agents == 0)
		snprintf(line, size, "no agent has joined: nothing could be recorded");
	else
		snprintf(line, size,
			 "no process started CUDA (cuInit) under this profiler. It may be a build "
			 "for the CPU alone, have more rights than its caller or a cleared "
			 "environment, or run where a filter of system calls (seccomp) refuses "
			 "connect(). Or its limits (ulimit -n, -d, -v, -l with mlockall) leave no "
			 "room for our library. `flamegrid doctor` says what works here");
	return line;
}
