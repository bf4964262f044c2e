/* Reads the options of a capture from the command line, and passes them to the guest through its environment. A
 * variable that is set already holds if its option is not given. */
#ifndef CAPTURE_OPTIONS_H
#define CAPTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/options/graph_mode.h"
#include "proto/options/metric_options.h"
#include "proto/options/nvtx_digits.h"
#include "proto/options/stack_options.h"
#include "proto/options/window_options.h"

struct job_environment;

struct capture_options {
	struct stack_options stacks;
	enum graph_mode graphs;
	uint32_t record; /* a set of enum record_option */
	enum nvtx_digits nvtx_digits;
	/* its from_ns and until_ns come only from the environment */
	struct window_options window;
	uint64_t delay_ns, duration_ns; /* from the job's start; 0: none */
	bool collectives;
	bool meter_full; /* the guests' meters read all launches */
	struct metric_options metrics;
	uint32_t max_cost;    /* cost_option.h; 0: no limit */
	uint32_t sample_rate; /* sample_option.h; 0: no exact windows */
	/* a list of api_options.h; borrowed from the command line or the environment; NULL: none */
	const char *api;
};

/* Sets the defaults, and reads the environment. 0; -EINVAL: a variable is not understood; *error is one line about it,
 * which the caller owns (free()), NULL: out of memory. */
int capture_options_init(struct capture_options *options, char **error);

/* Takes the value of --name, NULL if it has none. The names are "stacks", "graphs", "record", "api", "collectives",
 * "metrics", "kernels", "launches", "meter", "max-cost", "sample-gpu", "delay", "duration", "duty", "capture-range",
 * "step-range" and "every-steps". 0; -ENOENT: it is another option; -EINVAL with *error as above. */
int capture_options_take(struct capture_options *options, const char *name, const char *value,
			 char **error);

/* Checks that at most one option uses the GPUs' counters. 0; -EINVAL with *error as above. */
int capture_options_check(const struct capture_options *options, char **error);

/* Returns the option that uses the GPUs' counters: "--metrics", "--sample-gpu" or "--record stalls"; NULL: none. */
const char *capture_options_of_counters(const struct capture_options *options);

/* Sets the guest's variables. now_ns: CLOCK_REALTIME at the job's start. 0 or -ENOMEM. */
int capture_options_export(const struct capture_options *options, uint64_t now_ns,
			   struct job_environment *environment);

/* Returns whether an option of this name was taken from the environment. */
bool capture_options_is_in_environment(const char *name);

#endif
