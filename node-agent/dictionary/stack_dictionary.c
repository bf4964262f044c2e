#include "stack_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "id_memory.h"
#include "id_table.h"

#include "base/array.h"

#define ENTRIES_KEPT_MAX 1024u /* room that is kept while no entry waits */

/* Unsent entries of one kind, in their form on the wire. */
struct entries {
	void *array; /* owns */
	uint32_t count, max;
	uint32_t sent; /* number of entries before the first in the array */
};

struct stack_dictionary {
	struct entries modules, codes, frames, nodes; /* modules: all of them, sent or not */
	struct id_memory known_modules;
	struct id_table generated;        /* code id to the module id of its file */
	struct stack_memory own, *memory; /* memory: the caller's, or own */
};

struct stack_dictionary *stack_dictionary_create(void)
{
	struct stack_dictionary *stacks = calloc(1, sizeof(*stacks));

	if (stacks)
		stacks->memory = &stacks->own;
	return stacks;
}

void stack_dictionary_destroy(struct stack_dictionary *stacks)
{
	if (!stacks)
		return;
	free(stacks->modules.array);
	free(stacks->codes.array);
	free(stacks->frames.array);
	free(stacks->nodes.array);
	id_memory_clear(&stacks->known_modules);
	id_table_fini(&stacks->generated);
	stack_memory_clear(&stacks->own);
	free(stacks);
}

uint64_t stack_memory_bytes(const struct stack_memory *memory)
{
	return id_memory_bytes(&memory->codes) + id_memory_bytes(&memory->frames) +
	       id_memory_bytes(&memory->nodes);
}

void stack_memory_clear(struct stack_memory *memory)
{
	id_memory_clear(&memory->codes);
	id_memory_clear(&memory->frames);
	id_memory_clear(&memory->nodes);
}

static uint32_t total(const struct entries *entries)
{
	return entries->sent + entries->count;
}

static uint32_t index_of(const struct entries *entries, uint32_t first_id)
{
	return first_id - entries->sent - 1;
}

/* Appends a copy of *entry, whose key must be new to memory. */
static int append(struct entries *entries, struct id_memory *memory, struct id_key key,
		  const void *entry, size_t size, uint32_t *id)
{
	if (total(entries) == WIRE_ID_MAX)
		return -ENOSPC;
	if (array_reserve(&entries->array, &entries->max, entries->count + 1, size) ||
	    id_memory_add(memory, key, total(entries) + 1))
		return -ENOMEM;
	memcpy((char *)entries->array + entries->count++ * size, entry, size);
	*id = total(entries);
	return 0;
}

static struct id_key pair(uint32_t first, uint32_t second)
{
	return (struct id_key){{(uint64_t)first << 32 | second}};
}

/* The key holds the owner and the build id; without a build id, the path. */
static struct id_key module_key(const struct message_module *module)
{
	uint8_t bytes[sizeof(module->owner) + WIRE_BUILD_ID_MAX];
	size_t size = sizeof(module->owner);

	if (module->build_id_size == 0)
		return (struct id_key){{module->path, 1ull << 32 | module->owner}};
	memcpy(bytes, &module->owner, size);
	memcpy(bytes + size, module->build_id, module->build_id_size);
	return id_memory_key(bytes, size + module->build_id_size);
}

int stack_dictionary_add_module(struct stack_dictionary *stacks,
				const struct message_module *module, uint32_t *module_id)
{
	struct entries *modules = &stacks->modules;
	struct message_module *array = modules->array;
	struct message_module copy = {
		.path = module->path, .flags = module->flags, .owner = module->owner};

	*module_id = MESSAGE_FRAME_NO_MODULE;
	copy.build_id_size = module->build_id_size < WIRE_BUILD_ID_MAX ? module->build_id_size
								       : WIRE_BUILD_ID_MAX;
	memcpy(copy.build_id, module->build_id, copy.build_id_size);

	const struct id_key key = module_key(&copy);
	const uint32_t known = id_memory_find(&stacks->known_modules, key);
	if (known != ID_MEMORY_NONE) {
		array[known - 1].flags |= copy.flags;
		*module_id = known;
		return 0;
	}
	return modules->count == STACK_MODULES_MAX ? -ENOSPC
						   : append(modules, &stacks->known_modules, key,
							    &copy, sizeof(copy), module_id);
}

/* module_id: as in stack_dictionary_generated(). */
static int add_code(struct stack_dictionary *stacks, struct message_code code, uint32_t module_id,
		    uint32_t *code_id)
{
	const struct id_key key = {{(uint64_t)code.file << 32 | code.name, module_id}};

	*code_id = id_memory_find(&stacks->memory->codes, key);
	return *code_id != ID_MEMORY_NONE ? 0
					  : append(&stacks->codes, &stacks->memory->codes, key,
						   &code, sizeof(code), code_id);
}

int stack_dictionary_add_code(struct stack_dictionary *stacks, struct message_code code,
			      uint32_t *code_id)
{
	return add_code(stacks, code, MESSAGE_FRAME_NO_MODULE, code_id);
}

int stack_dictionary_add_generated(struct stack_dictionary *stacks, struct message_code code,
				   uint32_t module_id, uint32_t *code_id)
{
	int r = add_code(stacks, code, module_id, code_id);

	if (r == 0)
		r = id_table_set(&stacks->generated, *code_id, module_id);
	if (r)
		*code_id = MESSAGE_FRAME_NATIVE;
	return r;
}

static int add_frame(struct stack_dictionary *stacks, const struct message_frame *frame,
		     uint32_t *frame_id)
{
	const struct id_key key = {{(uint64_t)frame->code << 32 | frame->module, frame->offset}};

	*frame_id = id_memory_find(&stacks->memory->frames, key);
	return *frame_id != ID_MEMORY_NONE ? 0
					   : append(&stacks->frames, &stacks->memory->frames, key,
						    frame, sizeof(*frame), frame_id);
}

static int add_node(struct stack_dictionary *stacks, struct message_node node,
		    uint32_t *node_budget, uint32_t *node_id)
{
	const struct id_key key = pair(node.parent, node.frame);

	*node_id = id_memory_find(&stacks->memory->nodes, key);
	if (*node_id != ID_MEMORY_NONE)
		return 0;
	if (*node_budget == 0)
		return -EDQUOT;
	int r = append(&stacks->nodes, &stacks->memory->nodes, key, &node, sizeof(node), node_id);
	if (r == 0)
		(*node_budget)--;
	return r;
}

uint32_t stack_dictionary_generated(const struct stack_dictionary *stacks, uint32_t code_id)
{
	return id_table_get(&stacks->generated, code_id);
}

int stack_dictionary_add_stack(struct stack_dictionary *stacks, const struct message_frame *frames,
			       uint32_t depth, uint32_t *node_budget, uint32_t *node_id)
{
	return stack_dictionary_add_within(stacks, STACK_NODE_NONE, frames, depth, node_budget,
					   node_id);
}

int stack_dictionary_add_within(struct stack_dictionary *stacks, uint32_t parent,
				const struct message_frame *frames, uint32_t depth,
				uint32_t *node_budget, uint32_t *node_id)
{
	*node_id = STACK_NODE_NONE;
	for (uint32_t i = depth; i > 0; i--) {
		struct message_node node = {.parent = parent};
		int r = add_frame(stacks, &frames[i - 1], &node.frame);

		if (r == 0)
			r = add_node(stacks, node, node_budget, &parent);
		if (r)
			return r;
	}
	*node_id = parent;
	return 0;
}

uint32_t stack_dictionary_nr_modules(const struct stack_dictionary *stacks)
{
	return total(&stacks->modules);
}

uint32_t stack_dictionary_nr_codes(const struct stack_dictionary *stacks)
{
	return total(&stacks->codes);
}

uint32_t stack_dictionary_nr_frames(const struct stack_dictionary *stacks)
{
	return total(&stacks->frames);
}

uint32_t stack_dictionary_nr_nodes(const struct stack_dictionary *stacks)
{
	return total(&stacks->nodes);
}

const struct message_module *stack_dictionary_modules(const struct stack_dictionary *stacks,
						      uint32_t first_id)
{
	return (const struct message_module *)stacks->modules.array +
	       index_of(&stacks->modules, first_id);
}

const struct message_code *stack_dictionary_codes(const struct stack_dictionary *stacks,
						  uint32_t first_id)
{
	return (const struct message_code *)stacks->codes.array +
	       index_of(&stacks->codes, first_id);
}

const struct message_frame *stack_dictionary_frames(const struct stack_dictionary *stacks,
						    uint32_t first_id)
{
	return (const struct message_frame *)stacks->frames.array +
	       index_of(&stacks->frames, first_id);
}

const struct message_node *stack_dictionary_nodes(const struct stack_dictionary *stacks,
						  uint32_t first_id)
{
	return (const struct message_node *)stacks->nodes.array +
	       index_of(&stacks->nodes, first_id);
}

void stack_dictionary_use(struct stack_dictionary *stacks, struct stack_memory *memory)
{
	stacks->memory = memory ? memory : &stacks->own;
}

static void sent(struct entries *entries)
{
	if (entries->max > ENTRIES_KEPT_MAX) {
		free(entries->array);
		entries->array = NULL;
		entries->max = 0;
	}
	entries->sent += entries->count;
	entries->count = 0;
}

void stack_dictionary_sent(struct stack_dictionary *stacks)
{
	sent(&stacks->codes);
	sent(&stacks->frames);
	sent(&stacks->nodes);
}

uint64_t stack_dictionary_bytes(const struct stack_dictionary *stacks)
{
	return stacks->codes.max * sizeof(struct message_code) +
	       stacks->frames.max * sizeof(struct message_frame) +
	       stacks->nodes.max * sizeof(struct message_node) + stack_memory_bytes(&stacks->own);
}

void stack_dictionary_forget(struct stack_dictionary *stacks)
{
	stack_memory_clear(&stacks->own);
}
