/* Times the calls of CUDA and NCCL in watched processes, whichever mapped file holds the functions. That may be
 * libcudart, libcuda or libnccl, a copy of one, libtorch_cuda if it includes NCCL, or an executable with the runtime in
 * it.
 *
 * A file is probed once, however many processes map it, from the first of them until the last is gone. In between, the
 * kernel also probes every further process that maps it, from its first call on. The list of files is read from /proc
 * again whenever the size of a process's code has changed. Single-threaded: only the agent loop calls it. */
#ifndef CALL_PROBES_H
#define CALL_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "call_links.h"

struct bpf_ring;
struct call_probes;

struct call_probes_scope {
	void (*notice)(void *context, const char *line); /* for people; begins with its subject */
	/* Reports a process that maps CUDA, before its files are probed, and again when its mappings have changed. 0 or
	 * -ENOMEM. */
	int (*prepare)(void *context, pid_t pid);
	void *context;
	/* 0: every process without a guest is probed. Otherwise a process is probed if it has mapped the driver for so
	 * long and no guest was loaded into it, or if its guest can't capture. */
	uint64_t patience_ns;
};

/* Creates the prober. The ring is borrowed until call_probes_destroy() (accepts NULL), which ends all calls.
 * trusts_all: other users' processes are inspected, too. 0 or -errno of the kernel; *what is then the step that failed,
 * for bpf_rights_explain(). On error *probes is NULL. */
int call_probes_create(struct bpf_ring *ring, const struct call_program_options *options,
		       bool trusts_all, const struct call_probes_scope *scope,
		       struct call_probes **probes, const char **what);
void call_probes_destroy(struct call_probes *probes);

/* Looks for changed processes and files. It is cheap, and most often finds nothing. 0 or -ENOMEM. */
int call_probes_scan(struct call_probes *probes, uint64_t now_ns);

/* Returns the result of call_program_python(). */
int call_probes_python(const struct call_probes *probes);

/* Returns the number of files that are probed now. */
uint32_t call_probes_files(const struct call_probes *probes);

#endif
