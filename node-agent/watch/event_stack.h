/* Prepares the stack of an event of the kernel's half for its lookup. Any thread. */
#ifndef EVENT_STACK_H
#define EVENT_STACK_H

#include <stdint.h>

#include "bpf/sample_event.h"
#include "node-agent/kernel/address_stack.h"

/* Embedded; not to be moved. */
struct event_stack {
	struct address_list list;
	/* aligned copies, since they are not aligned in the event */
	struct sample_python_frame python[SAMPLE_PYTHON_DEPTH];
	uint64_t callers[SAMPLE_USER_DEPTH];
};

/* Fills in the stack. The event is borrowed as long as the list is used. */
void event_stack_init(struct event_stack *stack, const struct sample_event *event);

#endif
