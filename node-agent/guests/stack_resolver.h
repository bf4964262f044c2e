/* The stacks of one process's ring as stacks of the agent: words (proto/stack_word.h) to frames, the
 * guest's ids to node ids. Single-threaded: only the agent loop calls it.
 *
 * How a stack ends. CUDA's own frames at the leaf (libcuda, libcupti, the guest) say nothing that the
 * application wrote, and whether they have names depends on the driver. So every stack ends in the one
 * API function that the application called:
 *	- the outermost of them, if it is libcudart's: one of its exported functions;
 *	- else (libcuda called directly, a runtime linked statically, a walk that ended among CUDA's frames
 *	  or didn't reach them) the driver function that the launch's cbid stands for, as a frame without a
 *	  file. Frames of a static runtime stay outwards of it, and so does the mark of an ended walk.
 * Of a stack that created a node of a graph the driver function is not known: where libcudart's does
 * not stay, CUDA's frames go without one. */
#ifndef STACK_RESOLVER_H
#define STACK_RESOLVER_H

#include <stdint.h>

#include "node-agent/symbols/module_table.h"
#include "proto/ring/record_ring.h"

struct stack_resolver;
struct ring_outputs;

/* All borrowed until stack_resolver_destroy() (accepts NULL). *text_room: bytes of names that may yet
 * be taken for this process; lowered by those of its Python functions. NULL: out of memory. */
struct stack_resolver *stack_resolver_create(const struct record_ring *ring,
					     const struct ring_outputs *outputs,
					     struct module_table *modules, uint64_t *text_room);
void stack_resolver_destroy(struct stack_resolver *resolver);

/* From now on no stack is entered that is not there. */
void stack_resolver_close(struct stack_resolver *resolver);

/* The node of the guest's stack_id, whatever it is: RECORD_STACK_NONE is the API function alone, for RECORD_STACK_FULL
 * a mark says so. cbid, below 2^16, is the launch's: a stack that is used with two has the first one's function.
 * *node_id is STACK_NODE_NONE where there is no such stack or no room for it. What no guest writes is counted, and
 * Python frames without room for a name. 0 or -ENOMEM. */
int stack_resolver_node(struct stack_resolver *resolver, uint32_t stack_id, uint32_t cbid,
			uint32_t *node_id);

/* The same of a stack that did not come in the ring: words leaf first, 1 of them at least, borrowed for the call; equal
 * ones have the same number, from 1, without gaps, RECORD_STACKS_MAX at most. */
int stack_resolver_words(struct stack_resolver *resolver, uint32_t number, const uint64_t *words,
			 uint32_t depth, uint32_t cbid, uint32_t *node_id);

/* The same of a stack that should have come and was lost: the API function, and a mark. */
int stack_resolver_lost(struct stack_resolver *resolver, uint32_t cbid, uint32_t *node_id);

/* The same of a GPU record's capture_stack_id, with ids of its own: one stack_id may be both a
 * launch's and a capture's. RECORD_STACK_NONE, and a stack of CUDA's frames alone, is
 * STACK_NODE_NONE. */
int stack_resolver_capture(struct stack_resolver *resolver, uint32_t stack_id, uint32_t *node_id);

#endif
