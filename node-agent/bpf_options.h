/* What is asked of the kernel, as people type it. Pure; any thread. */
#ifndef BPF_OPTIONS_H
#define BPF_OPTIONS_H

#include "bpf_source.h"

/* Takes the value of --name ("cpu-hz", "off-cpu", "stack-copy", "host-calls", "bpf-buffer"). 0; -ENOENT: another
 * option; -EINVAL: *error is one line about it, owns: free(), NULL: out of memory. */
int bpf_options_take(struct bpf_source_options *options, const char *name, const char *value,
		     char **error);

/* Whether anything is asked for. */
bool bpf_options_wanted(const struct bpf_source_options *options);

#endif
