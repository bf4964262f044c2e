#include "stack_copy.h"

#include <string.h>

#include "unwind/unwind_row.h"

#define WORD 8u

/* Offsets in the kernel's struct ucontext, x86_64 (arch/x86/include/uapi/asm/sigcontext.h). */
#define UCONTEXT_RBP 120u
#define UCONTEXT_RSP 160u
#define UCONTEXT_RIP 168u

struct walk {
	const struct stack_copy *copy;
	uint64_t pc, sp, fp;
	bool exact;  /* pc is the instruction that ran, not a return address */
	bool has_fp; /* fp is this frame's pointer */
	bool complete;
};

static bool read_part(const uint8_t *bytes, uint64_t size, uint64_t offset, uint64_t *word)
{
	if (size < WORD || offset > size - WORD)
		return false;
	memcpy(word, bytes + offset, WORD);
	return true;
}

static bool read_word(const struct walk *walk, uint64_t address, uint64_t *word)
{
	const struct stack_copy *copy = walk->copy;
	uint64_t sp = copy->sp;
	uint32_t begin = 0;

	*word = 0;
	for (uint32_t i = 0;; i++) {
		const struct stack_copy_part *next = &copy->parts[i];
		bool is_last = i == STACK_COPY_PARTS || next->sp == 0 || next->offset < begin ||
			       next->offset > copy->size;
		uint32_t end = is_last ? copy->size : next->offset;

		if (read_part(copy->bytes + begin, end - begin, address - sp, word))
			return true;
		if (is_last)
			return false;
		sp = next->sp;
		begin = end;
	}
}

/* A function that is about to return has popped rbp, but its rule still names the old place. That place lies below sp
 * and is not in the copy, and the register already has the value. */
static void restore_fp(struct walk *walk, uint64_t saved)
{
	if (saved >= walk->sp)
		walk->has_fp = read_word(walk, saved, &walk->fp);
}

/* Moves into the caller's frame. rbp: its place, in words from base. */
static bool move(struct walk *walk, uint64_t cfa, uint64_t base, int32_t rbp)
{
	if (cfa < walk->sp || cfa - walk->sp < WORD)
		return false;
	if (rbp == UNWIND_RBP_LOST)
		walk->has_fp = false;
	else if (rbp != UNWIND_RBP_KEPT)
		restore_fp(walk, base + (uint64_t)(int64_t)rbp * WORD);
	walk->exact = false;
	walk->sp = cfa;
	return read_word(walk, cfa - WORD, &walk->pc);
}

static bool move_by_signal(struct walk *walk)
{
	uint64_t sp = walk->sp;

	walk->exact = walk->has_fp = true;
	return read_word(walk, sp + UCONTEXT_RIP, &walk->pc) &&
	       read_word(walk, sp + UCONTEXT_RBP, &walk->fp) &&
	       read_word(walk, sp + UCONTEXT_RSP, &walk->sp) && walk->sp > sp;
}

static bool move_by(struct walk *walk, uint32_t rule)
{
	const uint64_t signed_bytes = (uint64_t)(int64_t)unwind_rule_signed_number(rule) * WORD;
	uint64_t cfa;

	switch (unwind_rule_kind(rule)) {
	case UNWIND_RSP:
		cfa = walk->sp + (uint64_t)unwind_rule_number(rule) * WORD;
		return move(walk, cfa, cfa, unwind_rule_rbp(rule));
	case UNWIND_RSP_FAR:
		cfa = walk->sp + (uint64_t)unwind_rule_far_words(rule) * WORD;
		return move(walk, cfa, cfa, unwind_rule_far_rbp(rule));
	case UNWIND_RBP:
		cfa = walk->fp + signed_bytes;
		return walk->has_fp && move(walk, cfa, cfa, unwind_rule_rbp(rule));
	case UNWIND_RBP_MEMORY:
		return walk->has_fp && read_word(walk, walk->fp + signed_bytes, &cfa) &&
		       move(walk, cfa, walk->fp, unwind_rule_rbp(rule));
	case UNWIND_PLT:
		cfa = walk->sp + WORD;
		if ((walk->pc & 15) >= unwind_rule_number(rule))
			cfa += WORD;
		return move(walk, cfa, cfa, UNWIND_RBP_KEPT);
	case UNWIND_SPECIAL:
	default:
		walk->complete = unwind_rule_number(rule) == UNWIND_OUTERMOST;
		return unwind_rule_number(rule) == UNWIND_SIGNAL && move_by_signal(walk);
	}
}

uint32_t stack_copy_walk(const struct stack_copy *copy, stack_copy_rule find, void *context,
			 uint64_t *frames, uint32_t max, bool *complete)
{
	struct walk walk = {.copy = copy,
			    .pc = copy->pc,
			    .sp = copy->sp,
			    .fp = copy->fp,
			    .exact = true,
			    .has_fp = true};
	uint32_t nr = 0, rule;

	while (nr < max) {
		frames[nr++] = walk.pc;
		if (!find(context, walk.exact ? walk.pc : walk.pc - 1, &rule) ||
		    !move_by(&walk, rule))
			break;
		if (walk.pc == 0) {
			walk.complete = true;
			break;
		}
	}
	*complete = walk.complete;
	return nr;
}
