/* What a `flamegrid run` among others of one step does beside its own command: one agent a node, one aggregator beside
 * rank 0, one profile. The main thread; started before any other. */
#ifndef STEP_RUN_H
#define STEP_RUN_H

#include <stdbool.h>

#include "job_keeper.h"
#include "node_member.h"
#include "site_aggregator.h"

#include "cli/base/job_step.h"

struct step_run_options { /* strings are borrowed for the call */
	/* the same in all processes of the step, on a file system that all nodes see */
	const char *output_path;
	const char *interface; /* NULL: all */
	/* writes the profile, wherever it does; NULL: an aggregator of the step's own */
	const struct site_aggregator *site;
	const char *title;
	struct report_options names;
	bool raw_samples;           /* aggregator.h */
	pid_t task;                 /* as in node_keeper.h */
	struct agent_options agent; /* as in node_keeper.h */
};

struct step_run {
	struct job_keeper aggregator; /* of rank 0 */
	struct node_member member;
	char socket_path[STEP_DIR_MAX + 16]; /* the agent's, for guests */
	bool at_site, says_place;            /* and says where, at the end */
};

/* 0 or -errno after a warning: nothing is to be undone. */
int step_run_start(struct step_run *run, const struct job_step *step,
		   const struct step_run_options *options);

/* The command has ended, failed or not: waits until what it left is stored, at most two seconds; rank 0 until the
 * profile is written. Warns. */
void step_run_finish(struct step_run *run, bool failed);

#endif
