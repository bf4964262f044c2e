/* Lists what the agent asks of the kernel (bpf_source.h), and reads it from option texts. Pure; any thread. */
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
	uint64_t off_cpu_min_ns; /* the shortest wait that is sampled; 0: no wait is */
	/* Pages of 4 KiB of the stack that are copied with each call, to walk it without frame pointers;
	 * BPF_OPTIONS_STACK_PAGES_MAX at most. A sample has at most 4 pages, a wait 2. 0: stacks are walked by frame
	 * pointers alone. */
	uint32_t stack_pages;
	/* Size of the buffer (bpf_ring.h); 0: sample_room.h decides, and for calls with copies it is at least
	 * BPF_OPTIONS_CALLS_RING. */
	uint32_t ring_bytes;
	/* how native and Python frames are combined; STACK_MODE_NATIVE, STACK_MODE_NONE: no Python frames */
	enum stack_mode stack_mode;
	/* times calls of CUDA in watched processes without a guest (call_probes.h) */
	bool host_calls;
	/* With host_calls, for an agent that also has guests: times calls only in processes without a capturing guest,
	 * after a second in which one might have come. */
	bool calls_auto;
	uint32_t call_way; /* enum call_links_way; 0: the best that the kernel has */
	bool required;     /* bpf_source_create() fails if none of it is allowed */
	/* Watches this process, and processes that it has started or will start. If it is the agent's own pid, only
	 * those that it starts from now on. 0: none. Guests and processes that they start are watched in any case. */
	pid_t watch_pid;
};

/* Takes the value of --name ("cpu-hz", "off-cpu", "stack-copy", "host-calls", "bpf-buffer"). 0; -ENOENT: it is another
 * option; -EINVAL: *error is one line about it, which the caller owns (free()), NULL: out of memory. */
int bpf_options_take(struct bpf_options *options, const char *name, const char *value,
		     char **error);

/* Returns whether the options ask for anything. */
bool bpf_options_wanted(const struct bpf_options *options);

#endif
