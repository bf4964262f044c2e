/* Walks a copy of the top of a thread's stack by unwind rules, without frame pointers. Nothing in the copy is believed:
 * reads stay inside of it, and each frame lies above the previous frame. Pure but for the rules' source. */
#ifndef STACK_COPY_H
#define STACK_COPY_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_COPY_PARTS 3u

/* A part of a copy that continues above frames too large to be copied. */
struct stack_copy_part {
	/* stack address of its first byte; 0: this part and all later parts are absent */
	uint64_t sp;
	uint32_t offset; /* its offset in the copy */
};

/* Borrowed. */
struct stack_copy {
	uint64_t pc, sp, fp;  /* the thread's registers */
	const uint8_t *bytes; /* its memory from sp on, up to the first part */
	uint32_t size;
	struct stack_copy_part parts[STACK_COPY_PARTS];
};

/* Finds the rule (unwind/unwind_row.h) of the code at an address. false: the code has no rule. */
typedef bool (*stack_copy_rule)(void *context, uint64_t address, uint32_t *rule);

/* Walks the copy and stores pc, then return addresses, at most max. *complete: the walk reached the thread's first
 * function. Returns the number of addresses. */
uint32_t stack_copy_walk(const struct stack_copy *copy, stack_copy_rule find, void *context,
			 uint64_t *frames, uint32_t max, bool *complete);

#endif
