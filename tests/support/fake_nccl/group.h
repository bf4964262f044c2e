/* Groups of calls of a thread: what is called within is done at the end of the outermost, initializations at the same
 * time, each in a thread of its own, and launches after them. Each thread has its own. */
#ifndef GROUP_H
#define GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "comm.h"

/* A communicator that is to be made: comm joins; or, comm NULL, parent is split. */
struct group_job {
	struct ncclComm *comm, *parent;
	uint32_t split;
	int color, key;
	ncclComm_t *newcomm;
	ncclResult_t result;
};

/* Now, or at the end of the group that is open. */
ncclResult_t group_make(const struct group_job *job);
struct profiler_task;
ncclResult_t group_launch(const struct profiler_task *call);

/* counts: the program has asked for it, and so it has a number if it is the outermost. */
void group_start(bool counts);
/* ncclInvalidUsage: none is open. */
ncclResult_t group_end(void);

uint32_t group_depth(void);
uint64_t group_number(void);   /* of the outermost group, from 1; 0: none that counts is open */
uint64_t group_start_ns(void); /* of that */

#endif
