/* The job and rank of a process, from the environment that its launchers set, `flamegrid run` among them. Pure; any
 * thread. */
#ifndef JOB_IDENTITY_H
#define JOB_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define JOB_IDENTITY_JOB_MAX    128u
#define JOB_IDENTITY_SWITCH_MAX 128u

struct job_identity {
	int32_t rank, local_rank, world_size; /* MESSAGE_RANK_NONE: not known */
	char job[JOB_IDENTITY_JOB_MAX];       /* "": none; a longer name is cut */
	/* Slurm's number of the step that started the process; MESSAGE_RANK_NONE: not known, or another launcher did */
	int32_t step;
	/* The launcher's own name of its run, such as Open MPI's: a job may have several, and without a scheduler there
	 * is no job. It has no blanks, and a longer one is cut. "": none. */
	char run[JOB_IDENTITY_JOB_MAX];
	/* "switch s3", "block b1": the last one above the node in Slurm's topology. "": not known, or too long */
	char network_switch[JOB_IDENTITY_SWITCH_MAX];
	bool samples_kernels; /* `flamegrid run` has --record stalls or --sample-gpu */
};

/* Reads an environment block as in /proc/PID/environ (NAME=VALUE, NUL between; the last NUL may be missing). */
void job_identity_read(const char *environment, size_t size, struct job_identity *identity);

#endif
