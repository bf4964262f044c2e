#include "known_tree.h"

#include <stddef.h>

#include "proto/launch_path.h"

#define PROBES     2u /* buckets that a hash may be in */
#define IS_NODE    (1u << 31)
#define WORD       8u
#define PAGE_BYTES 4096u

_Static_assert(sizeof(struct known_bucket) == 64, "one cache line");

/* Returns the root of the tree of this hash; or where it may begin, which has another tag or no link. */
static inline struct known_root *root_of(const struct known_tree *tree, uint64_t hash)
{
	const struct known_bucket *bucket = NULL;

	for (uint32_t probe = 0; probe < PROBES; probe++) {
		bucket = &tree->buckets[((hash >> 32) + probe) % KNOWN_TREE_BUCKETS];
		for (uint32_t way = 0; way < KNOWN_TREE_WAYS; way++)
			if (bucket->roots[way].tag == (uint32_t)hash ||
			    bucket->roots[way].link == 0)
				return (struct known_root *)&bucket->roots[way];
	}
	return (struct known_root *)&bucket->roots[(hash >> 48) % KNOWN_TREE_WAYS];
}

/* Returns how many words above sp lie in its page. */
static inline uint32_t words_of_page(const struct unwind_start *start, uint64_t high)
{
	uint64_t sp = start->sp, end = (sp | (PAGE_BYTES - 1)) + 1;

	return sp % WORD || sp > high ? 0 : (uint32_t)(((end < high ? end : high) - sp) / WORD);
}

static inline struct walk_test test_of(const struct known_node *node)
{
	return (struct walk_test){.order = node->order, .at = node->at};
}

/* Follows the links as the words of the stack say. Returns the last one. It leads to a record, or to a node whose word
 * the stack's walk may not reach, because it has other words before. */
static inline const uint32_t *descend(const struct known_tree *tree, char *records,
				      const uint32_t *link, const struct known_tree_stack *stack)
{
	uint32_t readable = words_of_page(stack->start, stack->high);

	while (*link & IS_NODE) {
		const struct known_node *node = &tree->nodes[*link & ~IS_NODE];

		if (__builtin_expect(node->at >= readable, 0) && node->at != WALK_TEST_FP) {
			readable =
				walk_record_words_to(&known_record_at(records, node->record)->walk,
						     stack->start, stack->high, node->at);
			if (readable == 0)
				break;
		}
		link = &node->links[walk_test_bit(test_of(node), stack->start)];
	}
	return link;
}

LAUNCH_PATH uint32_t known_tree_find(const struct known_tree *tree, char *records,
				     const struct known_tree_stack *stack)
{
	const struct known_root *root = root_of(tree, stack->hash);

	if (root->link == 0 || root->tag != (uint32_t)stack->hash)
		return 0;
	uint32_t link = *descend(tree, records, &root->link, stack);
	return link & IS_NODE ? 0 : link;
}

/* Puts the record in place of another one, which follows it in a row. */
static __attribute__((cold)) void put_in_row(char *records, uint32_t number, uint32_t *link)
{
	struct known_record *record = known_record_at(records, number);
	const struct known_record *older = known_record_at(records, *link);

	if (older->nr_older + 1u < KNOWN_TREE_ROW) {
		record->older = *link;
		record->nr_older = (uint16_t)(older->nr_older + 1u);
	}
	*link = number;
}

/* Makes a node where the record leaves the way of the others. The stack has read the words of all tests before. */
static __attribute__((cold)) void put_node(struct known_tree *tree, uint32_t number, uint32_t *link,
					   struct walk_test test, const struct unwind_start *start)
{
	uint32_t bit = walk_test_bit(test, start), at = tree->nr_nodes++;

	while (*link & IS_NODE) {
		struct known_node *before = &tree->nodes[*link & ~IS_NODE];

		if (before->order > test.order)
			break;
		link = &before->links[walk_test_bit(test_of(before), start)];
	}
	struct known_node *node = &tree->nodes[at];
	*node = (struct known_node){.order = test.order, .at = test.at, .record = (uint16_t)number};
	node->links[bit] = number;
	node->links[!bit] = *link;
	*link = at | IS_NODE;
}

__attribute__((cold)) bool known_tree_enter(struct known_tree *tree, char *records, uint32_t number,
					    const struct known_tree_stack *stack)
{
	struct known_root *root = root_of(tree, stack->hash);
	struct walk_test test;

	if (root->link == 0 || root->tag != (uint32_t)stack->hash) {
		root->tag = (uint32_t)stack->hash;
		root->link = number;
		return true;
	}

	uint32_t *last = (uint32_t *)descend(tree, records, &root->link, stack);
	uint32_t nearest = *last & IS_NODE ? tree->nodes[*last & ~IS_NODE].record : *last;
	if (!walk_test_find(&known_record_at(records, number)->walk,
			    &known_record_at(records, nearest)->walk, &test)) {
		if (!(*last & IS_NODE))
			put_in_row(records, number, last);
		return true;
	}
	if (tree->nr_nodes == KNOWN_TREE_NODES)
		return false;
	put_node(tree, number, &root->link, test, stack->start);
	return true;
}
