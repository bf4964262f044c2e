/* The kind of an inference server's step (step_kind.h) for launches, from all frames of their stacks. Each node of the
 * tree of stacks is looked at once. Used by one thread. */
#ifndef STEP_PATH_H
#define STEP_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "step_kind.h"

struct catalog;
struct step_paths;

/* The catalog is borrowed until destroy, and must not grow. NULL: out of memory. step_paths_destroy() accepts NULL. */
struct step_paths *step_paths_create(const struct catalog *catalog);
void step_paths_destroy(struct step_paths *paths);

/* Finds the step of work by the stacks of its launch and of its capture, which must be in the catalog;
 * RECORD_STACK_NONE: not known, or none. is_graph: a graph launched the work. 0; -EPROTO: a stack is deeper than the
 * wire allows. */
int step_paths_find(struct step_paths *paths, uint32_t stack_id, uint32_t capture_stack_id,
		    bool is_graph, struct step *step);

#endif
