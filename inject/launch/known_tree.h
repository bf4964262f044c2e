/* Chooses among records by words of the stack. Records with one hash form a binary tree, whose nodes look at one bit
 * of a word each. The word that a walk comes to first is looked at first. So all records below a node have read that
 * word, and are equal in all words before it. A stack that is the record of one of them is led to it. The choice proves
 * nothing. One thread's alone; no lock, no allocation. */
#ifndef KNOWN_TREE_H
#define KNOWN_TREE_H

#include <stdint.h>

#include "known_record.h"
#include "unwind/unwind.h"
#include "unwind/walk_test.h"

#define KNOWN_TREE_BUCKETS 512u
#define KNOWN_TREE_WAYS    8u
#define KNOWN_TREE_NODES   3072u
#define KNOWN_TREE_ROW     16u /* records that are told apart by Python frames or ranges alone */

/* Zeroed: empty. A link is the number of a record, or a node with the highest bit set. */
struct known_tree {
	struct known_bucket {
		struct known_root {
			uint32_t tag;
			uint32_t link; /* 0: free, as are those behind it */
		} roots[KNOWN_TREE_WAYS];
	} buckets[KNOWN_TREE_BUCKETS];
	struct known_node {
		uint32_t order; /* with `at`: a struct walk_test */
		uint16_t at;
		uint16_t record; /* one that is below: it reads the word */
		uint32_t links[2];
	} nodes[KNOWN_TREE_NODES];
	uint32_t nr_nodes;
};

/* A stack to find a record for. high: its end. */
struct known_tree_stack {
	uint64_t hash; /* of all but the native words */
	const struct unwind_start *start;
	uint64_t high;
};

/* Returns the record that the stack's words lead to; the others in its row may be the stack's, too. 0: none has this
 * hash. Reads a page of the stack only if all words below are those of a record. */
uint32_t known_tree_find(const struct known_tree *tree, char *records,
			 const struct known_tree_stack *stack);

/* Enters the new record of this stack. Records of another hash give way if there is no room for one more hash. Records
 * in a row give way when it has KNOWN_TREE_ROW. false: there are too many nodes. */
bool known_tree_enter(struct known_tree *tree, char *records, uint32_t number,
		      const struct known_tree_stack *stack);

#endif
