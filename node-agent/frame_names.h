/* Asks the symbolizer once for the name of each frame, and sends names when they are found. Single-threaded: only the
 * agent loop calls it. */
#ifndef FRAME_NAMES_H
#define FRAME_NAMES_H

#include <stdint.h>

struct batch_builder;
struct stack_dictionary;
struct string_dictionary;
struct symbolizer;

struct frame_names { /* zeroed but for the pointers, which are borrowed for its life */
	struct stack_dictionary *stacks;
	struct string_dictionary *strings;
	struct symbolizer *symbolizer;
	struct batch_builder *builder;
	uint32_t asked; /* frames */
};

/* Asks for the names of frames that are new. 0 or -errno: the agent can't go on. */
int frame_names_request(struct frame_names *names);

/* Gives the names that were found to the builder. 0 or -errno: the agent can't go on. */
int frame_names_collect(struct frame_names *names);

#endif
