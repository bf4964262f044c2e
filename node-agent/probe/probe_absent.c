/* Implements probe_source.h in a build without BPF. */
#include "probe_event.h"
#include "probe_source.h"

#include <errno.h>
#include <stddef.h>

int probe_source_create(const struct probe_source_options *options,
			void (*notice)(void *context, const char *line), void *context,
			struct probe_source **source)
{
	*source = NULL;
	if (options->source == STACK_SOURCE_UPROBE)
		notice(context, "BPF was not built in: launches have the stacks that their "
				"processes walk themselves");
	return 0;
}

int probe_event_try(void)
{
	return -EOPNOTSUPP;
}

void probe_source_destroy(struct probe_source *source)
{
	(void)source;
}

struct probe_stacks *probe_source_attach(struct probe_source *source, pid_t pid)
{
	(void)source;
	(void)pid;
	return NULL;
}

void probe_source_detach(struct probe_source *source, struct probe_stacks *stacks)
{
	(void)source;
	(void)stacks;
}

int probe_source_pass(struct probe_source *source, uint64_t now_ns)
{
	(void)source;
	(void)now_ns;
	return 0;
}

void probe_source_counts(const struct probe_source *source, const struct probe_stacks *stacks,
			 struct probe_source_counts *counts)
{
	(void)source;
	(void)stacks;
	*counts = (struct probe_source_counts){0};
}
