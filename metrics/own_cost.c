#include "own_cost.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "metrics_text.h"

#include "base/process_cost.h"

#define NS_PER_S       1000000000u
#define FIELDS_BETWEEN 19 /* of /proc/self/stat, between the name and the start time */

static const struct metrics_family cpu = {"process_cpu_seconds", METRICS_COUNTER, "seconds",
					  "The CPU time of this program."};
static const struct metrics_family resident = {"process_resident_memory_bytes", METRICS_GAUGE,
					       "bytes",
					       "The memory of this program that is resident."};
static const struct metrics_family open_fds = {"process_open_fds", METRICS_GAUGE, NULL,
					       "The file descriptors of this program."};
static const struct metrics_family start_time = {
	"process_start_time_seconds", METRICS_GAUGE, "seconds",
	"The time at which this program began, since the epoch."};

static void write_cpu(struct metrics_text *text)
{
	struct process_cost cost;

	process_cost_read(&cost);
	if (cost.cpu_ns)
		metrics_text_one_ns(text, &cpu, cost.cpu_ns);
}

static void write_resident(struct metrics_text *text)
{
	FILE *file = fopen("/proc/self/statm", "re");
	uint64_t pages;

	if (!file)
		return;
	if (fscanf(file, "%*u %" SCNu64, &pages) == 1)
		metrics_text_one(text, &resident, pages * (uint64_t)sysconf(_SC_PAGESIZE));
	fclose(file);
}

/* The descriptor with which they are counted is left out. */
static void write_open_fds(struct metrics_text *text)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint64_t count = 0;

	if (!directory)
		return;
	while ((entry = readdir(directory)) != NULL)
		count += *entry->d_name != '.';
	closedir(directory);
	metrics_text_one(text, &open_fds, count - 1);
}

/* The start in ticks since boot. The name before it may hold anything. */
static bool read_start(uint64_t *ticks)
{
	char line[1024];
	FILE *file = fopen("/proc/self/stat", "re");
	const size_t size = file ? fread(line, 1, sizeof(line) - 1, file) : 0;

	if (file)
		fclose(file);
	line[size] = '\0';
	const char *at = strrchr(line, ')');

	for (int i = 0; i < FIELDS_BETWEEN + 1 && at; i++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%" SCNu64, ticks) == 1;
}

static void write_start_time(struct metrics_text *text)
{
	struct timespec now, up;
	uint64_t ticks;

	if (!read_start(&ticks) || clock_gettime(CLOCK_REALTIME, &now) ||
	    clock_gettime(CLOCK_BOOTTIME, &up))
		return;
	const uint64_t boot_ns = ((uint64_t)now.tv_sec - (uint64_t)up.tv_sec) * NS_PER_S +
				 (uint64_t)now.tv_nsec - (uint64_t)up.tv_nsec;
	const uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);

	metrics_text_one_ns(text, &start_time, (boot_ns / tick_ns + ticks) * tick_ns);
}

void own_cost_write(struct metrics_text *text)
{
	write_cpu(text);
	write_resident(text);
	write_open_fds(text);
	write_start_time(text);
}
