/* Walks a copy of the top of a thread's stack by unwind rules, without frame pointers. Nothing in the copy is believed: reads stay inside of it,
 * and each frame lies above the one before. Pure but for the rules' source. */
#ifndef STACK_COPY_H
#define STACK_COPY_H

#include <stdbool.h>
#include <stdint.h>

/* Borrowed. */
struct stack_copy {
	uint64_t pc, sp, fp;      /* where the thread was */
	const uint8_t *bytes;     /* of its memory: from sp on ... */
	uint32_t size, near_size; /* ... with the last size - near_size bytes from far_sp on */
	uint64_t far_sp;          /* 0: all are from sp on */
};

/* The rule (inject/unwind_row.h) of the code at an address. false: there is none. */
typedef bool (*stack_copy_rule)(void *context, uint64_t address, uint32_t *rule);

/* Stores pc and then return addresses, at most max. *complete: the walk came to the thread's first function. Returns their number. */
uint32_t stack_copy_walk(const struct stack_copy *copy, stack_copy_rule find, void *context,
			 uint64_t *frames, uint32_t max, bool *complete);

#endif
