#include "forward_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/backward_frame.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"
#include "proto/stack_word.h"

#define CHECKPOINTS_MAX 4u /* checkpoints within checkpoints that are followed */

struct forward_stack {
	const struct record_ring *ring;
	uint64_t words[RECORD_STACK_DEPTH], outer_words[RECORD_STACK_DEPTH];
	struct record_ring_code code;
};

struct forward_stack *forward_stack_create(const struct record_ring *ring)
{
	struct forward_stack *stack = calloc(1, sizeof(*stack));

	if (stack)
		stack->ring = ring;
	return stack;
}

void forward_stack_destroy(struct forward_stack *stack)
{
	free(stack);
}

const uint64_t *forward_stack_words(const struct forward_stack *stack)
{
	return stack->words;
}

static bool ends_with(const char *text, uint32_t size, const char *end)
{
	const size_t length = strlen(end);

	return size >= length && memcmp(text + size - length, end, length) == 0;
}

static bool is_named(const struct record_ring_code *code, const char *name)
{
	return code->name_size == strlen(name) && ends_with(code->name, code->name_size, name);
}

/* Reads the code of a word's Python function. NULL: it has none. */
static const struct record_ring_code *read_function(struct forward_stack *stack, uint64_t word)
{
	uint32_t guest_id = stack_word_code_id(word);

	if (!stack_word_is_python(word) || guest_id > RECORD_CODES_MAX ||
	    record_ring_read_code(stack->ring, guest_id, &stack->code))
		return NULL;
	return &stack->code;
}

/* Returns whether a Python function waits for a backward pass. */
static bool is_waiting(struct forward_stack *stack, uint64_t word)
{
	static const char *const names[] = {BACKWARD_FRAME_CALLERS};
	const struct record_ring_code *code = read_function(stack, word);

	const char *directory = code ? memmem(code->file, code->file_size, BACKWARD_FRAME_DIRECTORY,
					      strlen(BACKWARD_FRAME_DIRECTORY))
				     : NULL;

	if (!directory || (directory > code->file && directory[-1] != '/'))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_named(code, names[i]))
			return true;
	return false;
}

/* Returns whether a Python function calls a function of torch.autograd.Function. */
static bool calls_custom(struct forward_stack *stack, uint64_t word)
{
	const struct record_ring_code *code = read_function(stack, word);

	return code && ends_with(code->file, code->file_size, BACKWARD_FRAME_APPLY_FILE) &&
	       (is_named(code, BACKWARD_FRAME_APPLY) || is_named(code, BACKWARD_FRAME_APPLY_OLD));
}

/* Returns whether a stack of a backward pass has Python frames within the evaluation of a node. Others are those of the
 * thread that called backward(), if that thread evaluates the nodes itself. */
static bool has_own_python(struct forward_stack *stack, const uint64_t *words, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++)
		if (stack_word_is_python(words[i]))
			return !is_waiting(stack, words[i]);
	return false;
}

/* An operation that a checkpoint computes again has Python frames on the engine's thread, from the checkpoint's own
 * backward function on. Puts the frames that called the checkpoint behind them. origin: the checkpoint's. Returns the
 * depth; unchanged if there is no such call, or no room. */
static uint32_t add_callers(struct forward_stack *stack, uint32_t depth, uint32_t origin)
{
	uint64_t *words = stack->outer_words;

	for (uint32_t i = 0; i < depth; i++)
		if (is_waiting(stack, stack->words[i]))
			return depth; /* the thread of the call itself */
	for (uint32_t i = 0; i < CHECKPOINTS_MAX && origin != RECORD_STACK_NONE; i++) {
		int read = origin <= RECORD_STACKS_MAX
				   ? record_ring_read_stack(stack->ring, origin, words)
				   : -ENOENT;
		uint32_t size = read > 0 ? (uint32_t)read : 0, from = size;

		origin = RECORD_STACK_NONE;
		if (size && stack_word_is_origin(words[size - 1]))
			origin = stack_word_origin_stack(words[--size]);
		for (uint32_t j = 0; j < size; j++)
			if (calls_custom(stack, words[j]))
				from = j + 1;
		if (from >= size || depth + size - from > RECORD_STACK_DEPTH)
			return depth;
		memcpy(stack->words + depth, words + from, (size - from) * sizeof(*words));
		depth += size - from;
	}
	return depth;
}

/* Returns how many frames the operation has before the first that is not its own. */
static uint32_t nr_native(const uint64_t *words, uint32_t depth)
{
	uint32_t nr = 0;

	while (nr < depth && (stack_word_is_native(words[nr]) || stack_word_is_mark(words[nr])))
		nr++;
	return nr;
}

int forward_stack_read(struct forward_stack *stack, uint64_t origin, uint64_t *next)
{
	uint32_t stack_id = stack_word_origin_stack(origin);
	uint64_t *words = stack->words;

	*next = 0;
	if (stack_id == RECORD_STACK_NONE)
		return 0;
	int depth = stack_id <= RECORD_STACKS_MAX
			    ? record_ring_read_stack(stack->ring, stack_id, words)
			    : -ENOENT;
	if (depth <= 0 || !stack_word_is_origin(words[depth - 1]))
		return depth;
	uint64_t own = words[--depth];
	if (has_own_python(stack, words, (uint32_t)depth))
		return (int)add_callers(stack, (uint32_t)depth, stack_word_origin_stack(own));
	*next = own;
	return (int)nr_native(words, (uint32_t)depth);
}
