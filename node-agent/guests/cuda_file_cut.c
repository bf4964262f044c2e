#include "cuda_file_cut.h"

#include "node-agent/dictionary/stack_dictionary.h"
#include "proto/definition.h"
#include "proto/stack_word.h"

static uint32_t flags_of(const struct stack_dictionary *stacks, const struct message_frame *frame)
{
	return frame->module == MESSAGE_FRAME_NO_MODULE
		       ? 0
		       : stack_dictionary_modules(stacks, frame->module)->flags;
}

/* Returns whether native frames are missing where this word stands. */
static bool is_end_of_walk(uint64_t word)
{
	if (!stack_word_is_mark(word))
		return false;
	enum stack_mark mark = stack_word_mark_of(word);
	return mark == STACK_MARK_MISSING || mark == STACK_MARK_TRUNCATED;
}

uint32_t cuda_file_cut_of(const struct stack_dictionary *stacks, const uint64_t *words,
			  const struct message_frame *frames, uint32_t depth, bool *is_named)
{
	uint32_t run = 0;

	while (run < depth && flags_of(stacks, &frames[run]) & DEFINITION_MODULE_CUDA)
		run++;
	/* If the walk ended here, the function that called these frames is not known. */
	*is_named = run > 0 && !(run < depth && is_end_of_walk(words[run])) &&
		    flags_of(stacks, &frames[run - 1]) & DEFINITION_MODULE_CUDART;
	return *is_named ? run - 1 : run;
}
