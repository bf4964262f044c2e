/* Native and Python frames of one sample as one stack, by the rules by which the guest puts a launch's together.
 * Pure. */
#ifndef STACK_MERGE_H
#define STACK_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/options/stack_options.h"
#include "proto/stack_word.h"

#define STACK_MERGE_MARKS 3u /* more items than frames at most */

enum stack_merge_kind {
	STACK_MERGE_NATIVE, /* number: the index of the native frame */
	STACK_MERGE_PYTHON, /* number: the index of the Python frame */
	STACK_MERGE_MARK,   /* enum stack_mark */
};

struct stack_merge_item {
	enum stack_merge_kind kind;
	uint32_t number;
};

/* Leaf first; borrowed. */
struct stack_merge_input {
	const bool *is_loop;     /* of each native frame: it is an evaluation loop */
	const bool *segment_end; /* of each Python frame: the outermost that its loop runs */
	uint32_t nr_native, nr_python;
	bool complete; /* the native frames lead to the thread's root */
	bool cut;      /* there are more Python frames */
	enum stack_mode mode;
};

/* Without Python frames: the native ones. items has room for all frames and STACK_MERGE_MARKS. *differ: loops and
 * Python frames do not fit together. Returns the number of items. */
uint32_t stack_merge(const struct stack_merge_input *input, struct stack_merge_item *items,
		     bool *differ);

#endif
