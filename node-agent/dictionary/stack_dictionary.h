/* Stacks of one agent as a prefix tree, shared by its processes: modules, codes, frames and nodes,
 * each numbered from 1 without gaps in the order in which they came. A stack is the node of its
 * leaf. Codes, frames and nodes are kept until they were sent, and then their keys alone. Single-threaded: only the
 * agent loop calls it. */
#ifndef STACK_DICTIONARY_H
#define STACK_DICTIONARY_H

#include <stdint.h>

#include "id_memory.h"

#include "proto/batch/message.h"

#define STACK_NODE_NONE   0u         /* the stack without frames */
#define STACK_MODULES_MAX (1u << 18) /* files; each costs memory for the agent's life */

struct stack_dictionary;

/* Which codes, frames and nodes are known. Embedded; zeroed memory is an empty one. */
struct stack_memory {
	struct id_memory codes, frames, nodes;
};

uint64_t stack_memory_bytes(const struct stack_memory *memory);
void stack_memory_clear(struct stack_memory *memory); /* gives all memory back */

/* NULL: out of memory. stack_dictionary_destroy() accepts NULL. */
struct stack_dictionary *stack_dictionary_create(void);
void stack_dictionary_destroy(struct stack_dictionary *stacks);

/* Files with the same owner and build id are one module, whatever their paths; files without a build
 * id are told apart by path. Two owners' are two: what one user's file says is nothing for another. Its flags are those
 * of all who said so. 0; -ENOSPC: STACK_MODULES_MAX modules are there; -ENOMEM. On error *module_id is
 * MESSAGE_FRAME_NO_MODULE. */
int stack_dictionary_add_module(struct stack_dictionary *stacks,
				const struct message_module *module, uint32_t *module_id);

/* Equal files and names are one code. 0; -ENOSPC: WIRE_ID_MAX codes are there; -ENOMEM. On error
 * *code_id is MESSAGE_FRAME_NATIVE. */
int stack_dictionary_add_code(struct stack_dictionary *stacks, struct message_code code,
			      uint32_t *code_id);

/* Enters frames[0..depth), leaf first; their modules and codes must be known. *node_budget is how
 * many new nodes this call may make, and is lowered by those that it made. 0; -EDQUOT: the budget
 * is used up; -ENOSPC: WIRE_ID_MAX frames or nodes are there; -ENOMEM. On error *node_id is
 * STACK_NODE_NONE. */
int stack_dictionary_add_stack(struct stack_dictionary *stacks, const struct message_frame *frames,
			       uint32_t depth, uint32_t *node_budget, uint32_t *node_id);

uint32_t stack_dictionary_nr_modules(const struct stack_dictionary *stacks);
uint32_t stack_dictionary_nr_codes(const struct stack_dictionary *stacks);
uint32_t stack_dictionary_nr_frames(const struct stack_dictionary *stacks);
uint32_t stack_dictionary_nr_nodes(const struct stack_dictionary *stacks);

/* Everything from first_id on, in order, of which, but for modules, nothing was sent. Borrowed until the next add or
 * stack_dictionary_sent(). */
const struct message_module *stack_dictionary_modules(const struct stack_dictionary *stacks,
						      uint32_t first_id);
const struct message_code *stack_dictionary_codes(const struct stack_dictionary *stacks,
						  uint32_t first_id);
const struct message_frame *stack_dictionary_frames(const struct stack_dictionary *stacks,
						    uint32_t first_id);
const struct message_node *stack_dictionary_nodes(const struct stack_dictionary *stacks,
						  uint32_t first_id);

/* Which codes, frames and nodes are known from now on is in memory, borrowed until the next call. NULL: in the
 * dictionary's own. Two memories may give equal stacks two ids. */
void stack_dictionary_use(struct stack_dictionary *stacks, struct stack_memory *memory);

/* All was sent: gives codes, frames and nodes back. Ids stay valid. */
void stack_dictionary_sent(struct stack_dictionary *stacks);

/* Bytes that it takes, but for modules, which stay, and for memories of others. */
uint64_t stack_dictionary_bytes(const struct stack_dictionary *stacks);

/* Forgets which codes, frames and nodes are known in the dictionary's own memory. Ids stay valid where they were sent
 * to; equal ones get new ids from now on. Modules stay: their symbols are kept under their ids. */
void stack_dictionary_forget(struct stack_dictionary *stacks);

#endif
