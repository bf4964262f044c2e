/* The test program itself, started again as a guest in a process of its own. Not a fork: of a process with threads it
 * may find their locks taken. Fails the running test on any error. */
#ifndef GUEST_PROGRAM_H
#define GUEST_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/ring/record_ring.h"

enum guest_program_end {
	GUEST_PROGRAM_GOODBYE,
	GUEST_PROGRAM_WAITS, /* to be killed */
	GUEST_PROGRAM_EXITS,
};

/* For main(), if its first argument is "guest": what follows. Returns the exit status. */
int guest_program_run(char **arguments);

/* Starts one that the agent at socket_path takes in, with rank 5 of Slurm's job 99. The caller owns *ready. */
pid_t guest_program_start(const char *socket_path, uint32_t count, enum guest_program_end end,
			  int *ready);

/* Its work, `count` launches with their records, is published; closes ready. */
void guest_program_await(int ready);

/* expected_signal 0: it exits with status 0. */
void guest_program_reap(pid_t pid, int expected_signal);

/* The work alone, in this process. */
void guest_program_write_work(struct record_ring *ring, uint32_t count);

#endif
