/* How far up a thread's stack may be read. Each thread keeps its own; no function allocates. */
#ifndef STACK_BOUNDS_H
#define STACK_BOUNDS_H

#include <stdint.h>

struct stack_bounds { /* zeroed: not known yet */
	uintptr_t low, high;
	uint64_t next_query_ns;
};

/* The address up to which [sp, result) is readable and belongs to this thread's stack. Near the top of the stack a
 * few system calls find that out, at each depth once. Any other stack pointer outside of the known stack (deep at
 * the first call, or a fiber's) is looked up in /proc/self/maps, at most once in 100 ms by now_ns (any monotonic
 * clock); else, and where the lookup says nothing, the result is the end of the page that holds sp. */
uintptr_t stack_bounds_high(struct stack_bounds *bounds, uintptr_t sp, uint64_t now_ns);

/* The readable and writable mapping that holds `address`, from the text of /proc/self/maps in fd,
 * read in pieces.
 * Returns 0, or -ENOENT: none; *low and *high are then 0. */
int stack_bounds_mapping(int fd, uintptr_t address, uintptr_t *low, uintptr_t *high);

#endif
