/* When a process is captured: options --delay, --duration, --duty, --capture-range and --dormant of `flamegrid run`,
 * given to the guest in its environment. Times are CLOCK_REALTIME: so windows of all processes and nodes open and close
 * together, as far as the clocks agree. Pure; any thread. */
#ifndef WINDOW_OPTIONS_H
#define WINDOW_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_OPTIONS_ENV      "FLAMEGRID_WINDOW"
#define WINDOW_OPTIONS_NAME_MAX 127u /* bytes of an NVTX range's name */
#define WINDOW_OPTIONS_EVERY_MAX 1000000000u
#define WINDOW_OPTIONS_SIZE     384u /* bytes of the text at most, with its NUL */

enum window_range {
	WINDOW_RANGE_NONE,     /* time alone decides */
	WINDOW_RANGE_PROFILER, /* between cudaProfilerStart and cudaProfilerStop */
	WINDOW_RANGE_NVTX,     /* while an NVTX range of this name is open */
	WINDOW_RANGE_CONTROL,  /* between `flamegrid control start` and `stop` */
};

/* Zeroed: the whole run. */
struct window_options {
	uint64_t from_ns, until_ns; /* 0: from the start, to the end */
	uint64_t on_ns, period_ns; /* the first on_ns of each period since the epoch; 0: always */
	enum window_range range;
	/* captures only the last of each `every` ranges of the profiler or of NVTX; 0: all ranges */
	uint32_t every;
	bool dormant; /* neither captures nor subscribes to CUPTI before a command comes */
	char range_name[WINDOW_OPTIONS_NAME_MAX + 1];
};

/* Reads "from=NS,until=NS,duty=NS/NS,dormant,every=N,range=profiler"; also "range=control" or "range=nvtx:NAME". Each
 * part comes at most once, and range last, because NAME may hold any character. NULL or "": the whole run. 0; -EINVAL:
 * not such a text, and *options is the whole run. */
int window_options_parse(const char *text, struct window_options *options);

/* The text that parses to *options; "": the whole run. */
void window_options_format(const struct window_options *options, char text[WINDOW_OPTIONS_SIZE]);

#endif
