#include "pair_tree.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"

/* The pair and its memory. */
struct owner {
	struct pair_tree pair; /* first */
	const char **strings;
	char **made; /* own; names without an address */
	uint32_t nr_made;
	struct report_node *nodes;
	struct report_leaf *leaves;
	bool *is_framework;
};

/* Where a side's strings and nodes are in the joined tree. */
struct side {
	const struct report_tree *tree;
	uint32_t *strings, *nodes; /* own */
};

struct joint {
	struct owner *owner;
	uint32_t nr_strings, nr_nodes, nr_leaves;
	struct hash_index string_index, node_index; /* id: place + 1 */
};

static bool string_equals(const void *context, uint32_t id, const void *key)
{
	const struct joint *joint = context;

	return strcmp(joint->owner->strings[id - 1], key) == 0;
}

static bool node_equals(const void *context, uint32_t id, const void *key)
{
	const struct joint *joint = context;

	return memcmp(&joint->owner->nodes[id - 1], key, sizeof(struct report_node)) == 0;
}

/* Returns the size of the file's name in "libmodel.so+0x1f3a"; 0: the name is none of these. */
static size_t size_of_file(const char *name)
{
	const char *plus = strrchr(name, '+');

	if (!plus || plus == name || strncmp(plus, "+0x", 3) != 0 || plus[3] == '\0')
		return 0;
	return plus[3 + strspn(plus + 3, "0123456789abcdef")] == '\0' ? (size_t)(plus - name) : 0;
}

static int add_string(struct joint *joint, const char *text, uint32_t *place)
{
	uint32_t hash = hash_index_hash(text, (uint32_t)strlen(text));
	uint32_t id = hash_index_find(&joint->string_index, hash, string_equals, joint, text);

	if (!id) {
		id = joint->nr_strings + 1;
		if (hash_index_insert(&joint->string_index, hash, id))
			return -ENOMEM;
		joint->owner->strings[joint->nr_strings++] = text;
	}
	*place = id - 1;
	return 0;
}

static int join_strings(struct joint *joint, struct side *side)
{
	const struct report_tree *tree = side->tree;
	struct owner *owner = joint->owner;

	for (uint32_t i = 0; i < tree->nr_strings; i++) {
		const char *text = tree->strings[i];
		size_t size = size_of_file(text);

		if (size) {
			char *file = strndup(text, size);

			if (!file)
				return -ENOMEM;
			owner->made[owner->nr_made++] = file;
			text = file;
		}
		if (add_string(joint, text, &side->strings[i]))
			return -ENOMEM;
		if (tree->frameworks && tree->frameworks[i])
			owner->is_framework[side->strings[i]] = true;
	}
	return 0;
}

static int join_nodes(struct joint *joint, struct side *side)
{
	for (uint32_t i = 1; i < side->tree->nr_nodes; i++) {
		const struct report_node *from = &side->tree->nodes[i];
		const struct report_node node = {side->nodes[from->parent],
						 side->strings[from->name]};
		uint32_t hash = hash_index_hash(&node, sizeof(node));
		uint32_t id = hash_index_find(&joint->node_index, hash, node_equals, joint, &node);

		if (!id) {
			id = joint->nr_nodes + 1;
			if (hash_index_insert(&joint->node_index, hash, id))
				return -ENOMEM;
			joint->owner->nodes[joint->nr_nodes++] = node;
		}
		side->nodes[i] = id - 1;
	}
	return 0;
}

static uint64_t multiplied(uint64_t amount, double factor)
{
	double value = (double)amount * factor;

	if (factor == 1)
		return amount;
	return value < 0x1p63 ? (uint64_t)llround(value) : UINT64_MAX;
}

static void join_leaves(struct joint *joint, const struct side *side, int32_t rank, double factor)
{
	for (uint32_t i = 0; i < side->tree->nr_leaves; i++) {
		const struct report_leaf *from = &side->tree->leaves[i];

		joint->owner->leaves[joint->nr_leaves++] = (struct report_leaf){
			.node = side->nodes[from->node],
			.name = side->strings[from->name],
			.rank = rank,
			.gpu = from->gpu,
			.kind = from->kind,
			.count = multiplied(from->count, factor),
			.ns = multiplied(from->ns, factor),
			.bytes = multiplied(from->bytes, factor),
		};
	}
}

/* The texts of the profile after keep their places, so that its processes, losses and notices need no change. */
static int keep_strings(struct joint *joint, const struct report_tree *after)
{
	for (uint32_t i = 0; i < after->nr_strings; i++) {
		const char *text = after->strings[i];
		uint32_t hash = hash_index_hash(text, (uint32_t)strlen(text));

		joint->owner->strings[joint->nr_strings++] = text;
		if (!hash_index_find(&joint->string_index, hash, string_equals, joint, text) &&
		    hash_index_insert(&joint->string_index, hash, joint->nr_strings))
			return -ENOMEM;
	}
	return 0;
}

static int join(struct joint *joint, struct side sides[2], double factor)
{
	struct owner *owner = joint->owner;
	int error = keep_strings(joint, sides[PAIR_AFTER].tree);

	joint->nr_nodes = 1; /* the root */
	for (int32_t rank = PAIR_AFTER; rank >= PAIR_BEFORE && !error; rank--) {
		error = join_strings(joint, &sides[rank]);
		if (!error)
			error = join_nodes(joint, &sides[rank]);
		if (!error)
			join_leaves(joint, &sides[rank], rank, rank == PAIR_BEFORE ? factor : 1);
	}
	owner->pair.tree = *sides[PAIR_AFTER].tree;
	owner->pair.tree.strings = owner->strings;
	owner->pair.tree.nr_strings = joint->nr_strings;
	owner->pair.tree.frameworks = NULL;
	owner->pair.tree.nodes = owner->nodes;
	owner->pair.tree.nr_nodes = joint->nr_nodes;
	owner->pair.tree.leaves = owner->leaves;
	owner->pair.tree.nr_leaves = joint->nr_leaves;
	owner->pair.tree.steps = false;
	owner->pair.tree.leaves_given_up = 0; /* a side is the sum of all its ranks and threads */
	owner->pair.is_framework = owner->is_framework;
	return error;
}

static int reserve(struct owner *owner, struct side sides[2])
{
	const struct report_tree *before = sides[PAIR_BEFORE].tree, *after = sides[PAIR_AFTER].tree;
	const size_t nr_strings = (size_t)before->nr_strings + 2ul * after->nr_strings + 1;

	owner->strings = calloc(nr_strings, sizeof(*owner->strings));
	owner->made = calloc(nr_strings, sizeof(*owner->made));
	owner->is_framework = calloc(nr_strings, sizeof(*owner->is_framework));
	owner->nodes =
		calloc((size_t)before->nr_nodes + after->nr_nodes + 1, sizeof(*owner->nodes));
	owner->leaves =
		calloc((size_t)before->nr_leaves + after->nr_leaves + 1, sizeof(*owner->leaves));
	for (int i = 0; i < 2; i++) {
		sides[i].strings = calloc(sides[i].tree->nr_strings + 1ul, sizeof(uint32_t));
		sides[i].nodes = calloc(sides[i].tree->nr_nodes + 1ul, sizeof(uint32_t));
		if (!sides[i].strings || !sides[i].nodes)
			return -ENOMEM;
	}
	return owner->strings && owner->made && owner->is_framework && owner->nodes && owner->leaves
		       ? 0
		       : -ENOMEM;
}

int pair_tree_create(const struct report_tree *before, const struct report_tree *after,
		     double factor, struct pair_tree **pair)
{
	struct owner *owner = calloc(1, sizeof(*owner));
	struct side sides[2] = {{.tree = before}, {.tree = after}};
	struct joint joint = {.owner = owner};

	*pair = NULL;
	if (!owner)
		return -ENOMEM;
	int error = reserve(owner, sides);
	if (!error)
		error = join(&joint, sides, factor);
	hash_index_fini(&joint.string_index);
	hash_index_fini(&joint.node_index);
	for (int i = 0; i < 2; i++) {
		free(sides[i].strings);
		free(sides[i].nodes);
	}
	if (error)
		pair_tree_destroy(&owner->pair);
	else
		*pair = &owner->pair;
	return error;
}

void pair_tree_destroy(struct pair_tree *pair)
{
	struct owner *owner = (struct owner *)pair;

	if (!owner)
		return;
	array_free_texts(owner->made, owner->nr_made);
	free(owner->strings);
	free(owner->nodes);
	free(owner->leaves);
	free(owner->is_framework);
	free(owner);
}
