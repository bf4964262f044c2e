#include "stack_merge.h"

struct merge {
	const struct stack_merge_input *input;
	struct stack_merge_item *items;
	uint32_t nr;
};

static void put(struct merge *merge, enum stack_merge_kind kind, uint32_t number)
{
	merge->items[merge->nr++] = (struct stack_merge_item){kind, number};
}

static void put_native(struct merge *merge, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		put(merge, STACK_MERGE_NATIVE, i);
}

static void put_python(struct merge *merge, uint32_t first)
{
	for (uint32_t i = first; i < merge->input->nr_python; i++)
		put(merge, STACK_MERGE_PYTHON, i);
}

static void put_end(struct merge *merge)
{
	if (!merge->input->complete)
		put(merge, STACK_MERGE_MARK, STACK_MARK_MISSING);
}

/* Takes native frames down to the loop that runs the first Python frame, and then the Python frames. */
static bool merge_leaf(struct merge *merge)
{
	const struct stack_merge_input *input = merge->input;
	uint32_t leaf = 0;

	while (leaf < input->nr_native && !input->is_loop[leaf])
		leaf++;
	put_native(merge, leaf);
	bool differ = leaf == input->nr_native && input->complete;
	if (leaf == input->nr_native)
		put_end(merge);
	if (differ)
		put(merge, STACK_MERGE_MARK, STACK_MARK_MISMATCH);
	put_python(merge, 0);
	return differ;
}

/* Replaces each loop by the frames that it runs. */
static bool merge_full(struct merge *merge)
{
	const struct stack_merge_input *input = merge->input;
	uint32_t next = 0;
	bool differ = false;

	for (uint32_t i = 0; i < input->nr_native && !differ; i++) {
		bool ends = !input->is_loop[i];

		if (ends)
			put(merge, STACK_MERGE_NATIVE, i);
		else
			differ = next == input->nr_python;
		while (!ends && next < input->nr_python) {
			ends = input->segment_end[next];
			put(merge, STACK_MERGE_PYTHON, next++);
		}
	}
	if (!differ && (next == input->nr_python || !input->complete)) {
		put_end(merge);
		put_python(merge, next);
		return false;
	}
	/* Loops and segments differ in number, so a merge would be wrong: native and Python frames stay apart. */
	merge->nr = 0;
	put_native(merge, input->nr_native);
	put_end(merge);
	put(merge, STACK_MERGE_MARK, STACK_MARK_MISMATCH);
	put_python(merge, 0);
	return true;
}

uint32_t stack_merge(const struct stack_merge_input *input, struct stack_merge_item *items,
		     bool *differ)
{
	struct merge merge = {.input = input, .items = items};

	*differ = false;
	if (input->nr_python == 0 || input->mode == STACK_MODE_NATIVE ||
	    input->mode == STACK_MODE_NONE) {
		put_native(&merge, input->nr_native);
		return merge.nr;
	}
	if (input->mode == STACK_MODE_PYTHON)
		put_python(&merge, 0);
	else if (input->mode == STACK_MODE_FULL)
		*differ = merge_full(&merge);
	else
		*differ = merge_leaf(&merge);
	if (input->cut)
		put(&merge, STACK_MERGE_MARK, STACK_MARK_TRUNCATED);
	return merge.nr;
}
