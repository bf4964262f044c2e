/* The part that walks the stacks of launches: option --stack-source of `flamegrid run` and of the agent. */
#ifndef STACK_SOURCE_H
#define STACK_SOURCE_H

enum stack_source {
	STACK_SOURCE_GUEST,  /* the guest (the default): native frames without frame pointers, and Python frames */
	STACK_SOURCE_UPROBE, /* a BPF program at a probe in the guest; the guest where that is not possible */
	STACK_SOURCE_AUTO,   /* the better one; at present that is the guest */
};

#endif
