/* Reads the options of `flamegrid run`. The main thread. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture_options.h"

#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/site_config.h"
#include "node-agent/counters/counter_option.h"
#include "node-agent/watch/bpf_options.h"
#include "proto/stack_source.h"
#include "report/model/report_build.h"
#include "timeline/log/event_log.h"

/* the default for a task of Slurm */
#define RUN_OUTPUT_STEP OUTPUT_DEFAULT "-%q{SLURM_JOB_ID}.%q{SLURM_STEP_ID}"

/* Where the ranks' events become a profile. */
enum run_aggregate {
	/* on the nodes of a step of more than RAW_BUDGET_AGENTS, or with a profile on a disk of several hosts; else the
	 * aggregator says for each node */
	RUN_AGGREGATE_AUTO,
	RUN_AGGREGATE_CENTRAL,
	RUN_AGGREGATE_NODE,
};

struct run_options { /* strings belong to the command line or the configuration */
	const char *output_template, *agent_path, *node_name, *devices_path, *symbol_cache,
		*interface, *wanted_title, *spool, *watch; /* as of job_watch.h */
	const char *aggregator, *keys_path; /* those of a site (site_aggregator.h); NULL: none */
	bool insecure;
	struct site_config config;
	struct capture_options capture;
	struct report_options names;
	struct bpf_options bpf;
	enum stack_source stack_source;
	enum run_aggregate aggregate;
	uint32_t
		max_mib; /* of the profile's store, and of its timeline; 0: as without the option */
	struct event_log_options timeline;
	uint32_t fan_in;                /* nodes of an aggregator (node_block.h); 0: not given */
	struct counter_option counters; /* without a program */
	bool inlines, nvtx, strict, dormant, raw_samples;
	enum log_level log_level; /* 0: not given */
	pid_t task; /* the process to profile, in place of the command; 0: the command */
	char **command;
};

/* Reads only the configuration, names and values, into zeroed options; options->config then has it. 0 or -errno. On
 * error *error, which the caller owns (free(), NULL: no memory), has the words with which `run` ignores the
 * configuration. */
int run_options_check_config(struct run_options *options, char **error);

/* Reads the options of the configuration and of the command line, which has precedence, into options that are zeroed
 * but for defaults. A configuration that cannot be used is ignored after a warning; with --strict on the command line
 * it is an error. OPTION_LINE_GO (option_line.h); otherwise the exit status, after all messages. */
int run_options_parse(struct run_options *options, int argc, char **argv);

/* Returns whether each node of a step keeps a profile of its own. All nodes decide by what they all know, before
 * anything is sent: options that are the same everywhere, and the number of nodes, or JOB_STEP_UNKNOWN. is_shared:
 * output_dir_is_shared(); the host whose disk it is may not see that, and then sends its events. */
bool run_options_fold_on_nodes(const struct run_options *options, int32_t nr_nodes, bool is_shared);

/* Returns whether a node that does not fold by that asks the aggregator, whose WELCOME says (node_way.h). */
bool run_options_ask(const struct run_options *options);

/* Takes --timeline TIME|all, for an option_target; context is a struct event_log_options. */
int run_options_take_timeline(void *context, const char *name, const char *value, char **error);

#endif
