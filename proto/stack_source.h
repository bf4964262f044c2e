/* Who walks the stacks of launches: `--stack-source` of `flamegrid run` and of the agent. Pure; any thread. */
#ifndef STACK_SOURCE_H
#define STACK_SOURCE_H

enum stack_source {
	STACK_SOURCE_GUEST, /* the guest itself (the default): native frames without frame pointers, and Python's */
	STACK_SOURCE_UPROBE, /* the kernel, by a probe in the guest; the guest where that can't be had */
	STACK_SOURCE_AUTO, /* whatever is better: the guest */
};

/* "guest", "uprobe", "auto". 0; -EINVAL: none of these, *source is then STACK_SOURCE_GUEST. */
int stack_source_parse(const char *text, enum stack_source *source);

#endif
