/* The guest's options, from the environment or from the agent that attaches (proto/attach.h). Read once, on the thread
 * that loads the guest or attaches. */
#ifndef GUEST_OPTIONS_H
#define GUEST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/options/graph_mode.h"
#include "proto/options/metric_options.h"
#include "proto/options/nvtx_digits.h"
#include "proto/options/stack_options.h"
#include "proto/options/window_options.h"

struct definition_writer;

struct guest_options {
	struct stack_options stacks;
	enum graph_mode graphs;
	uint32_t record; /* a set of enum record_option */
	enum nvtx_digits digits;
	struct window_options window;
	bool collectives;
	bool meter_full;               /* the meter reads all launches */
	struct metric_options metrics; /* none: no launch is measured */
	uint32_t max_cost;             /* cost_option.h; 0: no limit */
	uint32_t
		sample_rate; /* sample_option.h; 0: no exact windows. With it kernels are sampled */
	const char *api;     /* NULL: no calls are counted; borrowed for good */
};

/* Reads a file of lines NAME=VALUE, which replace the environment from then on. If the file is missing or too large,
 * all options have their defaults. */
void guest_options_use_file(const char *path);

/* Fills *options. An option that is not understood has its default, and a notice says so. */
void guest_options_read(struct guest_options *options, struct definition_writer *notices);

/* Returns whether, by the environment, collectives may be recorded once an agent attaches. */
bool guest_options_may_want_collectives(void);

/* Returns whether the environment wants the guest to wait until an agent attaches. */
bool guest_options_want_dormant(void);

#endif
