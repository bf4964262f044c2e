/* Reads the forward stacks of origins (proto/stack_word.h) from the ring of one process. Single-threaded: only the
 * agent loop calls it. */
#ifndef FORWARD_STACK_H
#define FORWARD_STACK_H

#include <stdint.h>

struct forward_stack;
struct record_ring;

/* Creates the reader; the ring is borrowed until forward_stack_destroy(), which accepts NULL. NULL: out of memory. */
struct forward_stack *forward_stack_create(const struct record_ring *ring);
void forward_stack_destroy(struct forward_stack *stack);

/* Reads the forward stack of an origin. Its operation may itself have run in a backward pass. Python frames that are
 * its own there come first, and then those that called its checkpoint. If it has none, as in a derivative's derivative,
 * only its native frames are read. Then *next is the origin that the operation itself has: its frames stand further
 * out. Otherwise *next is 0. Returns the depth; 0: no frames. -errno: the ring has no such stack. */
int forward_stack_read(struct forward_stack *stack, uint64_t origin, uint64_t *next);

/* Returns the words that were read, leaf first. Borrowed until the next forward_stack_read(). */
const uint64_t *forward_stack_words(const struct forward_stack *stack);

#endif
