/* The options of `flamegrid run`. The main thread. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "capture_options.h"

#include "base/log.h"
#include "cli/base/site_config.h"
#include "node-agent/watch/bpf_options.h"
#include "proto/stack_source.h"
#include "report/model/report_build.h"

#define RUN_OUTPUT "flamegrid-profile" /* without --output; a step's job is added */
#define RUN_OUTPUT_STEP                                                                            \
	RUN_OUTPUT "-%q{SLURM_JOB_ID}.%q{SLURM_STEP_ID}" /* the default of a task of Slurm's */

struct run_options { /* strings are the command line's, or the configuration's */
	const char *output_template, *agent_path, *node_name, *devices_path, *symbol_cache,
		*interface, *wanted_title;
	const char *aggregator, *keys_path; /* a site's (site_aggregator.h); NULL: none */
	bool insecure;
	struct site_config config;
	struct capture_options capture;
	struct report_options names;
	struct bpf_options bpf;
	enum stack_source stack_source;
	bool inlines, nvtx, strict, dormant, raw_samples;
	enum log_level log_level; /* 0: not given */
	pid_t task; /* what the profile is about, in place of the command; 0: the command */
	char **command;
};

/* Takes the configuration alone, names and values, into what is zeroed: options->config has it then. 0 or -errno, with
 * *error (the caller owns it: free(), NULL: no memory) the words with which `run` leaves it alone. */
int run_options_check_config(struct run_options *options, char **error);

/* Takes the configuration's and the command line's, which goes before it, into what is zeroed but for defaults. A
 * configuration that cannot be used is left alone after a warning; with --strict on the command line it is an error.
 * OPTION_LINE_GO (option_line.h); otherwise the exit status, after what there was to say. */
int run_options_parse(struct run_options *options, int argc, char **argv);

#endif
