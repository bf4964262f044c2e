/* Decides where a report ends a stack: cuts CUDA's own frames at the leaf, which it knows by their names (cuda_name.h).
 * The agent has cut before, by files alone (node-agent/guests/cuda_file_cut.h), when it did not know names yet. What is
 * left for this cut are frames of a runtime in the application's own file, and those that the agent keeps outside of
 * the driver's function. Pure; any thread. */
#ifndef CUDA_NAME_CUT_H
#define CUDA_NAME_CUT_H

#include <stdint.h>

struct catalog;

/* The end of a stack that readers see. */
struct cuda_name_cut {
	uint32_t outer;   /* the innermost visible stack node; 0: none */
	uint32_t dropped; /* number of its innermost inlined functions that are hidden */
	uint32_t frame;   /* of the API function that follows; 0: none, and the stack is complete */
	uint32_t part;    /* index of that function among the frame's own */
};

/* Of CUDA's frames the outermost with the name of an API function stays. The leaf itself may have any name, because the
 * inner functions of a static runtime have no telling names. */
void cuda_name_cut_make(const struct catalog *catalog, uint32_t node_id, struct cuda_name_cut *cut);

#endif
