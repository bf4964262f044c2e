#include "watched_cost.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ull

/* Reads "NAME: NUMBER" lines of a file of /proc. */
static int read_lines(int pid, const char *file, const char *const names[2], uint64_t *values[2],
		      uint64_t unit)
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	FILE *lines = fopen(path, "r");
	if (!lines)
		return -errno;
	while (fgets(line, sizeof(line), lines))
		for (uint32_t i = 0; i < 2; i++) {
			size_t size = strlen(names[i]);

			if (strncmp(line, names[i], size) == 0 &&
			    sscanf(line + size, "%" SCNu64, values[i]) == 1)
				*values[i] *= unit;
		}
	fclose(lines);
	return 0;
}

int watched_cost_read(int pid, struct watched_cost *cost)
{
	struct timespec cpu;
	clockid_t clock;

	*cost = (struct watched_cost){0};
	int r = -clock_getcpuclockid(pid, &clock);
	if (r == 0 && clock_gettime(clock, &cpu))
		r = -errno;
	if (r)
		return r;
	cost->cpu_ns = (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec;
	r = read_lines(pid, "io", (const char *const[]){"wchar:", "write_bytes:"},
		       (uint64_t *[]){&cost->written_bytes, &cost->disk_bytes}, 1);
	if (r == 0)
		r = read_lines(pid, "status", (const char *const[]){"VmRSS:", "VmHWM:"},
			       (uint64_t *[]){&cost->rss_bytes, &cost->peak_rss_bytes}, 1024);
	if (r)
		*cost = (struct watched_cost){0};
	return r;
}
