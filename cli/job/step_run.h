/* Does the part of a `flamegrid run` that is one of several of a step: one agent for each node, one aggregator beside
 * rank 0, one profile. The main thread; call it before any other thread is started. */
#ifndef STEP_RUN_H
#define STEP_RUN_H

#include <stdbool.h>

#include "job_keeper.h"
#include "node_member.h"
#include "site_aggregator.h"

#include "cli/base/job_step.h"
#include "timeline/log/event_log.h"

struct step_run_options { /* strings are borrowed for the call */
	/* the same in all processes of the step, on a file system that all nodes see */
	const char *output_path;
	const char *interface; /* NULL: all */
	/* the site's aggregator, which writes the profile in its own place; NULL: an aggregator of the step's own */
	const struct site_aggregator *site;
	const char *title;
	struct report_options names;
	uint64_t bytes_max; /* aggregator.h, as the next one */
	bool raw_samples;
	/* of the step's aggregator, and of each node that folds */
	struct event_log_options timeline;
	const char *watch;          /* as of job_watch.h */
	bool strict;                /* fails where no node would find the aggregator */
	bool folds_on_nodes;        /* each node keeps a profile of its own (node_profile.h) */
	bool asks;                  /* the aggregator says whether a node does (node_way.h) */
	uint32_t fan_in;            /* then: nodes of a block (node_block.h) */
	const char *spool;          /* as in node_profile.h */
	pid_t task;                 /* as in node_keeper.h */
	struct agent_options agent; /* as in node_keeper.h */
};

struct step_run {
	struct job_keeper aggregator; /* rank 0's */
	struct node_member member;
	char socket_path[STEP_DIR_MAX + 16]; /* the agent's socket, for guests */
	/* whose place of the profile is said at the end; NULL: of none; borrowed */
	const char *site_endpoint;
	bool folds_on_nodes, asks;
};

/* Joins the step's agent, and starts its aggregator on rank 0. 0 or -errno after a warning, with nothing to undo. */
int step_run_start(struct step_run *run, const struct job_step *step,
		   const struct step_run_options *options);

/* Waits, after the command has ended, failed or not, until its data is stored, and the node's last rank for the end of
 * the agent. Rank 0, and the last rank of a node that took over, wait until the profile is written. All that takes two
 * seconds at most from the end of the job (end_budget.h): what is not done goes on alone. Warns. */
void step_run_finish(struct step_run *run, bool failed);

#endif
