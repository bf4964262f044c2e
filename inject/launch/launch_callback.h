/* A driver call that asks the GPU for work: its stack, and one launch record, before the call does
 * anything. Called by CUPTI on the application's threads: never blocks, allocates nothing (but see
 * launch_thread_own()), makes no CUDA call, keeps errno. */
#ifndef LAUNCH_CALLBACK_H
#define LAUNCH_CALLBACK_H

#include <stdint.h>

#include "stack_capture.h"

#include "inject/cupti/cupti_abi.h"

struct graph_nodes;
struct record_ring;

struct launch_callback { /* set before the first call, then constant; all borrowed for good */
	struct record_ring *ring;
	struct stack_capture capture;
	struct graph_nodes *nodes; /* where the stacks of captured launches go; may be NULL */
	uint16_t window;           /* capture window of the records, from 1 */
};

/* The call begins. A call within a call that has the same correlation id is part of it and adds
 * nothing. */
void launch_callback_enter(const struct launch_callback *launch, uint32_t cbid,
			   const struct cupti_callback_data *data);

/* Within a call, its stack with an id that can be given to more than the call: the guest's own walk, also where the
 * kernel has walked it. */
struct launch_thread;
uint32_t launch_callback_stack(const struct launch_callback *launch, struct launch_thread *thread);

/* The call ends: if it returned an error, a second record with RECORD_LAUNCH_FAILED says that
 * nothing will come. */
void launch_callback_exit(const struct launch_callback *launch, uint32_t cbid,
			  const struct cupti_callback_data *data);

#endif
