/* Whether this process is one of several that a launcher (srun, mpirun, ...) has started together, and which: by the
 * environment. Pure but for step_read_own(). */
#ifndef JOB_STEP_H
#define JOB_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_STEP_KEY_SIZE 256u
#define JOB_STEP_UNKNOWN  (-1)
#define JOB_STEP_HASH     0xcbf29ce484222325u

struct job_step {
	/* the same of all its processes on all nodes, and of no other step's; no blanks. "": the launcher tells none */
	char key[JOB_STEP_KEY_SIZE];
	char job[JOB_STEP_KEY_SIZE]; /* what people call the job; "": nothing */
	int32_t rank, world_size;    /* of world_size processes; 0 <= rank < world_size */
	int32_t nr_nodes;            /* JOB_STEP_UNKNOWN */
};

/* From an environment block (NAME=VALUE, NUL between). false: not one of several, or its rank is not known; *step is
 * then empty. */
bool job_step_read(const char *environment, size_t size, struct job_step *step);

/* From this process's own environment. The same; where the launcher names no step and all of its processes are on
 * this node, the key says which process started them. */
bool job_step_read_own(struct job_step *step);

/* FNV-1a (draft-eastlake-fnv), for short names of long keys: goes on from seed, first JOB_STEP_HASH. */
uint64_t job_step_hash(uint64_t seed, const char *text);

#endif
