/* What a guest records besides launches and GPU work: option --record of `flamegrid run`, given to the guest in its
 * environment. Pure; any thread. */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include <stdint.h>

#define RECORD_OPTIONS_ENV  "FLAMEGRID_RECORD"
#define RECORD_OPTIONS_SIZE 64u /* bytes that a list needs at most, with its NUL */

enum record_option {
	RECORD_OPTION_SYNC = 1u << 0,     /* "sync": where the host waits for the GPU */
	RECORD_OPTION_OVERHEAD = 1u << 1, /* "overhead": of CUPTI, JIT compiler and lazy loading */
	RECORD_OPTION_UNIFIED = 1u << 2,  /* "um": unified memory's faults and migrations */
	RECORD_OPTION_MODULES = 1u << 3,  /* "modules": loading of GPU code */
	RECORD_OPTION_MEMORY = 1u << 4,   /* "memory": allocations and frees */
	RECORD_OPTION_NVTX = 1u << 5,     /* "nvtx": ranges as frames */
	RECORD_OPTION_MARKS = 1u << 6,    /* "marks": when steps and ranges began; not in "all" */
	RECORD_OPTION_STALLS = 1u << 7,   /* "stalls": samples of running kernels; not in "all" */
	RECORD_OPTION_METRICS =
		1u << 8, /* launches are measured: metric_options.h, and no name here */
};

/* Reads a list of the names above, separated by commas; NULL or "": none; "all": all. *options becomes a set of enum
 * record_option. 0; -EINVAL: an unknown name, and *options is 0. */
int record_options_parse(const char *text, uint32_t *options);

/* The list that parses to `options`. */
void record_options_format(uint32_t options, char text[RECORD_OPTIONS_SIZE]);

#endif
