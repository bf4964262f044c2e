/* The stacks of one agent's processes, as a prefix tree. It consists of modules, codes, frames and nodes, each kind
 * numbered from 1 without gaps in the order of arrival. A stack is the node of its leaf. Codes, frames and nodes are
 * kept until they were sent; after that only their keys are. Single-threaded: only the agent loop calls it. */
#ifndef STACK_DICTIONARY_H
#define STACK_DICTIONARY_H

#include <stdint.h>

#include "id_memory.h"

#include "proto/batch/message.h"

#define STACK_NODE_NONE   0u         /* the stack without frames */
#define STACK_MODULES_MAX (1u << 18) /* files; each costs memory for the agent's life */

struct stack_dictionary;

/* The codes, frames and nodes that are known. Embedded; zeroed memory is an empty memory. */
struct stack_memory {
	struct id_memory codes, frames, nodes;
};

uint64_t stack_memory_bytes(const struct stack_memory *memory);
void stack_memory_clear(struct stack_memory *memory); /* gives all memory back */

/* NULL: out of memory. stack_dictionary_destroy() accepts NULL. */
struct stack_dictionary *stack_dictionary_create(void);
void stack_dictionary_destroy(struct stack_dictionary *stacks);

/* Files with the same owner and build id are one module, whatever their paths. Files without a build id are told apart
 * by path. Files of two owners are two modules, since one user's file must not name another user's functions. A module
 * has all flags that were ever added with it. Returns 0; -ENOSPC: there are STACK_MODULES_MAX modules; -ENOMEM. On
 * error *module_id is MESSAGE_FRAME_NO_MODULE. */
int stack_dictionary_add_module(struct stack_dictionary *stacks,
				const struct message_module *module, uint32_t *module_id);

/* Codes with equal files and names are one. Returns 0; -ENOSPC: there are WIRE_ID_MAX codes; -ENOMEM. On error *code_id
 * is MESSAGE_FRAME_NATIVE. */
int stack_dictionary_add_code(struct stack_dictionary *stacks, struct message_code code,
			      uint32_t *code_id);

/* Adds a code of a generated file, whose lines have the symbols of a known module (symbolizer.h). Such codes are one
 * only if their modules are, too. A module has one owner, so one user's file never names lines for another user.
 * Returns as stack_dictionary_add_code(). */
int stack_dictionary_add_generated(struct stack_dictionary *stacks, struct message_code code,
				   uint32_t module_id, uint32_t *code_id);

/* Returns that module; MESSAGE_FRAME_NO_MODULE: the code is of no generated file. */
uint32_t stack_dictionary_generated(const struct stack_dictionary *stacks, uint32_t code_id);

/* Enters frames[0..depth), leaf first. Their modules and codes must be known. *node_budget is the number of new nodes
 * that this call may make; the call subtracts those that it made. Returns 0; -EDQUOT: the budget is used up; -ENOSPC:
 * there are WIRE_ID_MAX frames or nodes; -ENOMEM. On error *node_id is STACK_NODE_NONE. */
int stack_dictionary_add_stack(struct stack_dictionary *stacks, const struct message_frame *frames,
			       uint32_t depth, uint32_t *node_budget, uint32_t *node_id);

/* The same within a known stack: the outermost of the frames is called by parent's. */
int stack_dictionary_add_within(struct stack_dictionary *stacks, uint32_t parent,
				const struct message_frame *frames, uint32_t depth,
				uint32_t *node_budget, uint32_t *node_id);

uint32_t stack_dictionary_nr_modules(const struct stack_dictionary *stacks);
uint32_t stack_dictionary_nr_codes(const struct stack_dictionary *stacks);
uint32_t stack_dictionary_nr_frames(const struct stack_dictionary *stacks);
uint32_t stack_dictionary_nr_nodes(const struct stack_dictionary *stacks);

/* These return all entries from first_id on, in order. Except for modules, none of them may have been sent. Borrowed
 * until the next add or stack_dictionary_sent(). */
const struct message_module *stack_dictionary_modules(const struct stack_dictionary *stacks,
						      uint32_t first_id);
const struct message_code *stack_dictionary_codes(const struct stack_dictionary *stacks,
						  uint32_t first_id);
const struct message_frame *stack_dictionary_frames(const struct stack_dictionary *stacks,
						    uint32_t first_id);
const struct message_node *stack_dictionary_nodes(const struct stack_dictionary *stacks,
						  uint32_t first_id);

/* From now on the codes, frames and nodes in memory are the known codes, frames and nodes. memory is borrowed until the
 * next call. NULL: the dictionary's own memory. Equal stacks in two memories may have two ids. */
void stack_dictionary_use(struct stack_dictionary *stacks, struct stack_memory *memory);

/* Frees codes, frames and nodes after all were sent. Ids stay valid. */
void stack_dictionary_sent(struct stack_dictionary *stacks);

/* Returns the bytes that the dictionary takes, without modules, which stay, and without the callers' memories. */
uint64_t stack_dictionary_bytes(const struct stack_dictionary *stacks);

/* Forgets the codes, frames and nodes in the dictionary's own memory. Their ids stay valid for the receiver; the same
 * things get new ids from now on. Modules stay, because their symbols are kept under their ids. */
void stack_dictionary_forget(struct stack_dictionary *stacks);

#endif
