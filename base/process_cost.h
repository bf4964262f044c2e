/* Reads what this program costs its machine. Any thread. */
#ifndef PROCESS_COST_H
#define PROCESS_COST_H

#include <stdint.h>

struct process_cost {
	uint64_t cpu_ns;     /* of all threads since the program began */
	uint64_t peak_bytes; /* the most memory that was resident */
};

/* What cannot be read is 0. */
void process_cost_read(struct process_cost *cost);

#endif
