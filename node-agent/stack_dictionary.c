#include "stack_dictionary.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "id_index.h"

/* Entries of one kind: the array on the wire, and the index that finds them. */
struct entries {
	void *array; /* owns; without those that were forgotten */
	uint32_t count, max;
	uint32_t forgotten; /* ids below those of the array */
	struct id_index index;
};

struct stack_dictionary {
	struct entries modules, codes, frames, nodes;
};

struct stack_dictionary *stack_dictionary_create(void)
{
	struct stack_dictionary *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	if (id_index_init(&stacks->modules.index) || id_index_init(&stacks->codes.index) ||
	    id_index_init(&stacks->frames.index) || id_index_init(&stacks->nodes.index)) {
		stack_dictionary_destroy(stacks);
		return NULL;
	}
	return stacks;
}

static void entries_fini(struct entries *entries)
{
	free(entries->array);
	id_index_fini(&entries->index);
}

void stack_dictionary_destroy(struct stack_dictionary *stacks)
{
	if (!stacks)
		return;
	entries_fini(&stacks->modules);
	entries_fini(&stacks->codes);
	entries_fini(&stacks->frames);
	entries_fini(&stacks->nodes);
	free(stacks);
}

static uint32_t total(const struct entries *entries)
{
	return entries->forgotten + entries->count;
}

/* Where the entries from first_id on begin in the array. */
static uint32_t index_of(const struct entries *entries, uint32_t first_id)
{
	return first_id - entries->forgotten - 1;
}

/* Appends a copy of *entry, whose index must not have it yet. */
static int append(struct entries *entries, uint32_t hash, const void *entry, size_t size,
		  uint32_t *id)
{
	if (total(entries) == WIRE_ID_MAX)
		return -ENOSPC;
	if (entries->count == entries->max) {
		uint32_t max = entries->max ? entries->max * 2 : 256;
		void *array = realloc(entries->array, max * size);

		if (!array)
			return -ENOMEM;
		entries->array = array;
		entries->max = max;
	}
	if (id_index_reserve(&entries->index))
		return -ENOMEM;
	memcpy((char *)entries->array + entries->count * size, entry, size);
	id_index_add(&entries->index, hash, ++entries->count);
	*id = total(entries);
	return 0;
}

static bool same_module(const struct message_module *a, const struct message_module *b)
{
	if (a->owner != b->owner || a->build_id_size != b->build_id_size)
		return false;
	if (a->build_id_size == 0)
		return a->path == b->path;
	return memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

int stack_dictionary_add_module(struct stack_dictionary *stacks,
				const struct message_module *module, uint32_t *module_id)
{
	struct entries *modules = &stacks->modules;
	struct message_module *array = modules->array;
	struct message_module copy = {
		.path = module->path, .flags = module->flags, .owner = module->owner};
	uint32_t id;

	*module_id = MESSAGE_FRAME_NO_MODULE;
	copy.build_id_size = module->build_id_size < WIRE_BUILD_ID_MAX ? module->build_id_size
								       : WIRE_BUILD_ID_MAX;
	memcpy(copy.build_id, module->build_id, copy.build_id_size);

	uint32_t hash = copy.build_id_size ? id_index_hash_bytes(&modules->index, copy.build_id,
								 copy.build_id_size)
					   : id_index_hash_pair(&modules->index, copy.path, 0);
	uint32_t cursor = hash;
	while ((id = id_index_next(&modules->index, hash, &cursor)) != ID_INDEX_NONE) {
		if (same_module(&array[id - 1], &copy)) {
			array[id - 1].flags |= copy.flags;
			*module_id = id;
			return 0;
		}
	}
	return modules->count == STACK_MODULES_MAX
		       ? -ENOSPC
		       : append(modules, hash, &copy, sizeof(copy), module_id);
}

int stack_dictionary_add_code(struct stack_dictionary *stacks, struct message_code code,
			      uint32_t *code_id)
{
	struct entries *codes = &stacks->codes;
	const struct message_code *array = codes->array;
	uint32_t hash = id_index_hash_pair(&codes->index, code.file, code.name);
	uint32_t id, cursor = hash;

	*code_id = MESSAGE_FRAME_NATIVE;
	while ((id = id_index_next(&codes->index, hash, &cursor)) != ID_INDEX_NONE) {
		if (array[id - 1].file == code.file && array[id - 1].name == code.name) {
			*code_id = codes->forgotten + id;
			return 0;
		}
	}
	return append(codes, hash, &code, sizeof(code), code_id);
}

static int add_frame(struct stack_dictionary *stacks, const struct message_frame *frame,
		     uint32_t *frame_id)
{
	struct entries *frames = &stacks->frames;
	const struct message_frame *array = frames->array;
	uint32_t hash = id_index_hash_pair(
		&frames->index, (uint64_t)frame->code << 32 | frame->module, frame->offset);
	uint32_t id, cursor = hash;

	while ((id = id_index_next(&frames->index, hash, &cursor)) != ID_INDEX_NONE) {
		if (array[id - 1].module == frame->module && array[id - 1].code == frame->code &&
		    array[id - 1].offset == frame->offset) {
			*frame_id = frames->forgotten + id;
			return 0;
		}
	}
	return append(frames, hash, frame, sizeof(*frame), frame_id);
}

static int add_node(struct stack_dictionary *stacks, struct message_node node,
		    uint32_t *node_budget, uint32_t *node_id)
{
	struct entries *nodes = &stacks->nodes;
	const struct message_node *array = nodes->array;
	uint32_t hash = id_index_hash_pair(&nodes->index, node.parent, node.frame);
	uint32_t id, cursor = hash;

	while ((id = id_index_next(&nodes->index, hash, &cursor)) != ID_INDEX_NONE) {
		if (array[id - 1].parent == node.parent && array[id - 1].frame == node.frame) {
			*node_id = nodes->forgotten + id;
			return 0;
		}
	}
	if (*node_budget == 0)
		return -EDQUOT;
	int r = append(nodes, hash, &node, sizeof(node), node_id);
	if (r == 0)
		(*node_budget)--;
	return r;
}

int stack_dictionary_add_stack(struct stack_dictionary *stacks, const struct message_frame *frames,
			       uint32_t depth, uint32_t *node_budget, uint32_t *node_id)
{
	uint32_t parent = STACK_NODE_NONE;

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

static uint64_t bytes_of(const struct entries *entries, size_t size)
{
	return entries->max * (uint64_t)size + id_index_bytes(&entries->index);
}

uint64_t stack_dictionary_bytes(const struct stack_dictionary *stacks)
{
	return bytes_of(&stacks->codes, sizeof(struct message_code)) +
	       bytes_of(&stacks->frames, sizeof(struct message_frame)) +
	       bytes_of(&stacks->nodes, sizeof(struct message_node));
}

static void forget(struct entries *entries)
{
	if (id_index_clear(&entries->index))
		return;
	free(entries->array);
	entries->array = NULL;
	entries->forgotten += entries->count;
	entries->count = entries->max = 0;
}

void stack_dictionary_forget(struct stack_dictionary *stacks)
{
	forget(&stacks->codes);
	forget(&stacks->frames);
	forget(&stacks->nodes);
}
