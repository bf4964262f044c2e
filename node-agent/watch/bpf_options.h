/* What is asked of the kernel (bpf_source.h), and as people type it. Pure; any thread. */
#ifndef BPF_OPTIONS_H
#define BPF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/options/stack_options.h"

#define BPF_OPTIONS_HZ_MAX          10000u
#define BPF_OPTIONS_CALLS_RING      (64u << 20) /* bytes */
#define BPF_OPTIONS_STACK_PAGES_MAX 8u

struct bpf_options {
	uint32_t cpu_hz;         /* CPU samples a second; 0: none */
	uint64_t off_cpu_min_ns; /* the shortest wait that is sampled; 0: none is */
	/* of 4 KiB, copied with each call, BPF_OPTIONS_STACK_PAGES_MAX at most, with a sample 4, with a wait 2:
	 * stacks without frame pointers. 0: by these alone */
	uint32_t stack_pages;
	/* bpf_ring.h; 0: by sample_room.h; of calls with copies at least BPF_OPTIONS_CALLS_RING */
	uint32_t ring_bytes;
	/* how native and Python frames stand together; STACK_MODE_NATIVE, STACK_MODE_NONE: no Python frames */
	enum stack_mode stack_mode;
	bool host_calls; /* calls of CUDA in watched processes without a guest (call_probes.h) */
	/* with host_calls, beside guests: of those only in which none captures, after a second in which it might
	 * have come */
	bool calls_auto;
	uint32_t call_way; /* enum call_links_way; 0: the best that the kernel has */
	bool required;     /* without any of it there is nothing to do: bpf_source_create() fails */
	/* This process, what it has started and starts are watched. The agent's own: what it starts from now on.
	 * 0: none. Guests and what they start are watched in any case. */
	pid_t watch_pid;
};

/* Takes the value of --name ("cpu-hz", "off-cpu", "stack-copy", "host-calls", "bpf-buffer"). 0; -ENOENT: another
 * option; -EINVAL: *error is one line about it, owns: free(), NULL: out of memory. */
int bpf_options_take(struct bpf_options *options, const char *name, const char *value,
		     char **error);

/* Whether anything is asked for. */
bool bpf_options_wanted(const struct bpf_options *options);

#endif
