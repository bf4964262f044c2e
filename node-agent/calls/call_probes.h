/* Times the calls that watched processes make of CUDA and NCCL, in whichever files they have mapped it: libcudart,
 * libcuda and libnccl, copies of them, libtorch_cuda where NCCL is part of it, and the executable where the runtime is.
 * A file is probed once, however many processes map it, from the first of them until the last is gone; in between the
 * kernel sees to it that every process that maps it is, from its first call on. Which files there are is read from
 * /proc, whenever the size of a process's code has changed. Single-threaded: only the agent loop calls it. */
#ifndef CALL_PROBES_H
#define CALL_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "call_links.h"

struct bpf_ring;
struct call_probes;

struct call_probes_scope {
	void (*notice)(void *context,
		       const char *line); /* begins with what it is about, for people */
	/* A process maps CUDA, before its files are probed, and again when its mappings have changed. 0 or -ENOMEM. */
	int (*prepare)(void *context, pid_t pid);
	void *context;
	/* 0: whoever has no guest is probed. Else who has mapped the driver for so long and into whom no guest was
	 * loaded, and whose guest can't capture. */
	uint64_t patience_ns;
};

/* The ring is borrowed until call_probes_destroy() (accepts NULL), which ends all calls. trusts_all: other users'
 * processes are looked into, too. 0 or -errno of the kernel, and *what is then the step that failed, for
 * bpf_rights_explain(). On error *probes is NULL. */
int call_probes_create(struct bpf_ring *ring, const struct call_program_options *options,
		       bool trusts_all, const struct call_probes_scope *scope,
		       struct call_probes **probes, const char **what);
void call_probes_destroy(struct call_probes *probes);

/* Looks for what has changed. Cheap, and most often nothing. 0 or -ENOMEM. */
int call_probes_scan(struct call_probes *probes, uint64_t now_ns);

/* As call_program_python(). */
int call_probes_python(const struct call_probes *probes);

/* Files that are probed now. */
uint32_t call_probes_files(const struct call_probes *probes);

#endif
