/* How far up a thread's stack may be read. Each thread keeps its own bounds. No function allocates. */
#ifndef STACK_BOUNDS_H
#define STACK_BOUNDS_H

#include <stdint.h>

struct stack_bounds { /* zeroed: not known yet */
	uintptr_t low, high;
	uint64_t next_query_ns;
	enum { STACK_BOUNDS_UNKNOWN, STACK_BOUNDS_MAIN, STACK_BOUNDS_OTHER } whose; /* thread's */
};

/* Returns an address such that [sp, result) is readable and belongs to this thread's stack. Near the top of the stack a
 * few system calls find it, once at each depth. A stack pointer outside of the known stack, deep at the first call or a
 * fiber's, is looked up in /proc/self/maps. That happens at most once in 100 ms of now_ns (any monotonic clock).
 * Otherwise, and where the lookup finds nothing, the result is the end of the page that holds sp.
 *
 * A fiber's stack right below the stack of a thread, without a page between that cannot be read, counts as part of it.
 * This cannot be told: the kernel makes one mapping of both, a thread's stack may have any size, and only the C library
 * knows it. pthread_getattr_np() calls malloc(), which a launch must not. A walk that loses its way on such a fiber may
 * read words of the thread's own stack. Once that fiber's stack is unmapped, the range may have a hole, until the
 * thread ends. A walk whose rules and saved registers are right ends at the fiber's outermost frame, below both. */
uintptr_t stack_bounds_high(struct stack_bounds *bounds, uintptr_t sp, uint64_t now_ns);

/* Finds the readable and writable mapping that holds `address`. Reads the text of /proc/self/maps from fd, in pieces.
 * Returns 0, or -ENOENT: there is none, and *low and *high are 0. */
int stack_bounds_mapping(int fd, uintptr_t address, uintptr_t *low, uintptr_t *high);

#endif
