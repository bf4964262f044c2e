/* Makes the job's environment: ours, with the variables that load the guest into its processes. */
#ifndef JOB_ENVIRONMENT_H
#define JOB_ENVIRONMENT_H

#include <stddef.h>

#define JOB_ENVIRONMENT_INJECTION "CUDA_INJECTION64_PATH" /* the CUDA driver's own variable */
#define JOB_ENVIRONMENT_NVTX      "NVTX_INJECTION64_PATH" /* NVTX's own */
#define JOB_ENVIRONMENT_NCCL      "NCCL_PROFILER_PLUGIN"  /* NCCL's own */
/* bytes of the variable that NCCL reads (src/plugin/plugin_open.cc) */
#define JOB_ENVIRONMENT_NCCL_MAX 254u
#define JOB_ENVIRONMENT_SET_MAX  16u

struct job_environment {
	char **list; /* owns; ends with NULL; for execve() */
	size_t nr_list;
	char *own[JOB_ENVIRONMENT_SET_MAX]; /* owns; in list, too */
	size_t nr_own;
};

/* Copies environ, whose texts are borrowed until fini. 0 or -ENOMEM; on error nothing is owned. */
int job_environment_init(struct job_environment *environment);
void job_environment_fini(struct job_environment *environment);

/* Sets a variable, and replaces one of that name. At most JOB_ENVIRONMENT_SET_MAX calls, asserted. 0; -ENOMEM: nothing
 * is changed. */
int job_environment_set(struct job_environment *environment, const char *name, const char *value);

#endif
