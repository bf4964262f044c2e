/* Copies the cubins that have source lines, for the agent. CUPTI shows a cubin only inside of the callback that tells
 * of its load. There it is copied; the guest's own thread numbers it and sends it in pieces. Cubins of libraries
 * without lines are not copied. One per process. */
#ifndef CUBIN_COPIES_H
#define CUBIN_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUBIN_COPIES_BYTES (64u << 20) /* on their way to the agent at most */

struct cupti_library;
struct definition_writer;
struct record_ring;

/* In CUPTI's callback, on any thread: copies a cubin with lines. One that finds no room is counted
 * (LEDGER_GPU_CODE_LOST). Keeps errno. */
void cubin_copies_take(struct record_ring *ring, const void *cubin, size_t size);

/* The guest's own thread: sends some of what was copied. What finds no room in the lane is sent later; `last` sends all
 * that it can, and counts the rest as lost. */
void cubin_copies_send(const struct cupti_library *library, struct definition_writer *definitions,
		       bool last);

/* The guest's own thread: forgets all copies, which nobody needs. */
void cubin_copies_forget(void);

#endif
