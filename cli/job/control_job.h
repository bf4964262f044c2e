/* Runs `flamegrid control` for a whole job: sends one command to all of its agents, through its aggregator.
 * Single-threaded. */
#ifndef CONTROL_JOB_H
#define CONTROL_JOB_H

#include <stdbool.h>
#include <stdint.h>

struct control_job_options {
	const char *profile;   /* the job's -o; NULL: the next two members say where */
	const char *endpoint;  /* an aggregator's */
	const char *keys_path; /* the agents'; NULL: the connection has none */
	/* for an aggregator that keeps a profile for each job; job NULL: its only job */
	const char *job, *user;
	uint32_t action;            /* enum record_ring_action */
	bool relative;              /* the times are relative to now */
	uint64_t from_ns, until_ns; /* CLOCK_REALTIME of the aggregator; 0: at once, without end */
	uint64_t wait_ns;           /* limit of the wait for all agents */
	bool quiet;                 /* prints nothing but errors */
};

/* Sends the command, and prints which agents have taken it. Returns an exit status. 0: all of them have, and in time;
 * 1: otherwise, after a message. */
int control_job(const struct control_job_options *options);

#endif
