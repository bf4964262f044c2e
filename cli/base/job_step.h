/* Tells, by the environment, whether this process is one of several that a launcher (srun, mpirun, ...) has started
 * together, and which one. Pure but for job_step_read_own(). */
#ifndef JOB_STEP_H
#define JOB_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_STEP_KEY_SIZE 256u
#define JOB_STEP_UNKNOWN  (-1)
#define JOB_STEP_HASH     0xcbf29ce484222325u

struct job_step {
	/* The step's key: the same in all its processes on all nodes, and different from that of any other step; it has
	 * no blanks. "": the launcher tells none */
	char key[JOB_STEP_KEY_SIZE];
	char job[JOB_STEP_KEY_SIZE]; /* the job's name for people; "": none */
	/* the rank among world_size processes; 0 <= rank < world_size */
	int32_t rank, world_size;
	int32_t nr_nodes; /* JOB_STEP_UNKNOWN */
	/* This node's, from 0; JOB_STEP_UNKNOWN. If the launcher tells only its ranks, it is right where each node has
	 * as many, one after the other; else it may be another node's, too. */
	int32_t node_index;
	/* the block of nodes whose aggregator is meant (node_block.h); 0 as it is read: the job's own */
	uint32_t block;
};

/* Reads the step from an environment block (NAME=VALUE, NUL between). false: the process is not one of several, or its
 * rank is not known; *step is then empty. */
bool job_step_read(const char *environment, size_t size, struct job_step *step);

/* Reads the step from this process's own environment, with the same result. If the launcher names no step, and all of
 * its processes are on this node, the key names the process that started them. */
bool job_step_read_own(struct job_step *step);

/* Continues an FNV-1a hash (draft-eastlake-fnv) from seed, at first JOB_STEP_HASH. It makes short names of long
 * keys. */
uint64_t job_step_hash(uint64_t seed, const char *text);

#endif
