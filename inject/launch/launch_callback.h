/* Notes each driver call that asks the GPU for work: takes its stack and writes one launch record, before the call does
 * anything. CUPTI calls it on the application's threads. It never blocks, makes no CUDA call and keeps errno. It
 * allocates nothing, with the exceptions that launch_thread_own() and stack_capture.h name. */
#ifndef LAUNCH_CALLBACK_H
#define LAUNCH_CALLBACK_H

#include <stdint.h>

#include "stack_capture.h"

#include "inject/cupti/cupti_abi.h"

struct graph_nodes;
struct launch_thread;
struct record_ring;

/* set before the first call, then constant; all pointers are borrowed for good */
struct launch_callback {
	struct record_ring *ring;
	struct stack_capture capture;
	struct graph_nodes *nodes; /* keeps the stacks of captured launches; may be NULL */
	uint16_t window;           /* capture window of the records, from 1 */
};

/* Notes that a call begins. A call within it that has the same correlation id is part of it, and adds nothing. */
void launch_callback_enter(const struct launch_callback *launch, uint32_t cbid,
			   const struct cupti_callback_data *data);

/* Takes the stack of work that no call begins, as a graph's node, or as much of it as launches may cost
 * (cost_limit.h). Returns as stack_capture_take(). */
uint32_t launch_callback_take(const struct launch_callback *launch, struct launch_thread *thread,
			      uint64_t now_ns);

/* Returns the stack of the call that the thread is in. Its id may be given to more than this call, because the guest
 * always walks it itself, even if the kernel has walked it. */
uint32_t launch_callback_stack(const struct launch_callback *launch, struct launch_thread *thread);

/* Notes that the call ends. If it returned an error, a second record with RECORD_LAUNCH_FAILED says that no GPU work
 * will come. */
void launch_callback_exit(const struct launch_callback *launch, uint32_t cbid,
			  const struct cupti_callback_data *data);

/* Notes a mark of the program, with the thread's open ranges. number: of a step that begins; else 0. A step's end
 * gets the number of the thread's last one. A mark without room is lost; the numbers of steps then have a gap, and the
 * next mark has the ranges. */
void launch_callback_mark(const struct launch_callback *launch, enum record_mark mark,
			  uint32_t number);

#endif
