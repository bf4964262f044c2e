/* `flamegrid control` of a whole job: one command to all of its agents, through its aggregator. Single-threaded. */
#ifndef CONTROL_JOB_H
#define CONTROL_JOB_H

#include <stdbool.h>
#include <stdint.h>

struct control_job_options {
	const char *profile;        /* what the job's -o was; NULL: the next two say where */
	const char *endpoint;       /* an aggregator's */
	const char *keys_path;      /* the agents'; NULL: the connection has none */
	/* of an aggregator that keeps a profile for each job; job NULL: the one that it has */
	const char *job, *user;
	uint32_t action;            /* enum record_ring_action */
	bool relative;              /* the times count from now */
	uint64_t from_ns, until_ns; /* CLOCK_REALTIME of the aggregator; 0: at once, without end */
	uint64_t wait_ns;           /* for all agents, at most */
	bool quiet;                 /* prints nothing but errors */
};

/* Prints which agents have taken it. Returns an exit status: 0 all of them have, and in time; 1 else, after saying what
 * is wrong. */
int control_job(const struct control_job_options *options);

#endif
