/* The job's environment: ours, with the variables that lead the guest into its processes. */
#ifndef JOB_ENVIRONMENT_H
#define JOB_ENVIRONMENT_H

#include "proto/graph_mode.h"
#include "proto/stack_options.h"

#define JOB_ENVIRONMENT_INJECTION "CUDA_INJECTION64_PATH" /* the CUDA driver's own variable */

struct job_environment {
	char **list;  /* owns; ends with NULL; for execve() */
	char *own[4]; /* owns */
};

/* Copies environ, which is borrowed until fini, and sets the guest's library (NULL: leaves alone which one is set), the
 * agent's socket, and what is wanted of stacks and graphs. 0 or -ENOMEM; on error nothing is owned. */
int job_environment_init(struct job_environment *environment, const char *inject_path,
			 const char *socket_path, const struct stack_options *stacks,
			 enum graph_mode graphs);
void job_environment_fini(struct job_environment *environment);

#endif
