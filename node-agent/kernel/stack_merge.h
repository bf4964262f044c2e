/* Merges native and Python frames of one sample into one stack, by the rules that the guest uses for launch stacks.
 * Pure. */
#ifndef STACK_MERGE_H
#define STACK_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/options/stack_options.h"
#include "proto/stack_word.h"

#define STACK_MERGE_MARKS 3u /* at most so many items more than frames */

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
	const bool *is_loop; /* for each native frame: it is an evaluation loop */
	/* for each Python frame: it is the outermost frame that its loop runs */
	const bool *segment_end;
	uint32_t nr_native, nr_python;
	bool complete; /* the native frames reach the thread's root */
	bool cut;      /* more Python frames exist */
	enum stack_mode mode;
};

/* Merges the frames. Without Python frames the result is the native frames. items has room for all frames and
 * STACK_MERGE_MARKS. *differ: loops and Python frames do not fit together. Returns the number of items. */
uint32_t stack_merge(const struct stack_merge_input *input, struct stack_merge_item *items,
		     bool *differ);

#endif
