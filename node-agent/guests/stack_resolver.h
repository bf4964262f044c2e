/* Resolves the stacks of one process's ring into stacks of the agent: words (proto/stack_word.h) become frames, and the
 * guest's ids become node ids. Single-threaded: only the agent loop calls it.
 *
 * A launch's stack ends in the one API function that the application called (cuda_file_cut.h). For a stack that created
 * a node of a graph the driver function is not known. If it does not end in libcudart's function, CUDA's frames are
 * removed without a replacement. */
#ifndef STACK_RESOLVER_H
#define STACK_RESOLVER_H

#include <stdint.h>

#include "node-agent/symbols/module_table.h"
#include "proto/ring/record_ring.h"

/* Nodes of a stack at most. What a sample adds within it has room below WIRE_STACK_DEPTH_MAX. */
#define STACK_RESOLVER_DEPTH_MAX 512u

struct stack_resolver;
struct ring_outputs;

/* Creates the resolver; all arguments are borrowed until stack_resolver_destroy() (accepts NULL). *text_room: bytes of
 * names that this process may still bring; names of its Python functions lower it. NULL: out of memory. */
struct stack_resolver *stack_resolver_create(const struct record_ring *ring,
					     const struct ring_outputs *outputs,
					     struct module_table *modules, uint64_t *text_room);
void stack_resolver_destroy(struct stack_resolver *resolver);

/* Enters no new stack from now on. */
void stack_resolver_close(struct stack_resolver *resolver);

/* Finds the node of the guest's stack_id, whatever its value. RECORD_STACK_NONE is the API function alone;
 * RECORD_STACK_FULL is the same with a mark. cbid is the launch's, below 2^16: a stack that is used with two cbids has
 * the function of the first. *node_id is STACK_NODE_NONE if there is no such stack, or no room for it. Words that no
 * guest writes are counted, and so are Python frames without room for a name. 0 or -ENOMEM. */
int stack_resolver_node(struct stack_resolver *resolver, uint32_t stack_id, uint32_t cbid,
			uint32_t *node_id);

/* Finds the node of a stack that did not come in the ring. words: leaf first, at least one, borrowed for the call.
 * Equal stacks have the same number, from 1, without gaps, RECORD_STACKS_MAX at most. Otherwise as
 * stack_resolver_node(). */
int stack_resolver_words(struct stack_resolver *resolver, uint32_t number, const uint64_t *words,
			 uint32_t depth, uint32_t cbid, uint32_t *node_id);

/* Finds the node of a stack that was lost: the API function with a mark. */
int stack_resolver_lost(struct stack_resolver *resolver, uint32_t cbid, uint32_t *node_id);

/* Finds the node of a GPU record's capture_stack_id. It has ids of its own, since one stack_id may be both a launch's
 * and a capture's. *node_id is STACK_NODE_NONE for RECORD_STACK_NONE, and for a stack that has only CUDA's frames. */
int stack_resolver_capture(struct stack_resolver *resolver, uint32_t stack_id, uint32_t *node_id);

#endif
