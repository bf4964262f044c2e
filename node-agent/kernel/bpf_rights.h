/* What the kernel lets this agent do with BPF, and in one line what is missing for it and what is lost without.
 * Everything else of the agent goes on. Reads /proc and /sys; any thread. */
#ifndef BPF_RIGHTS_H
#define BPF_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#define BPF_RIGHTS_LINE_MAX 512u /* bytes of a line, with its NUL */

struct bpf_rights {
	bool may_bpf;     /* CAP_BPF, or CAP_SYS_ADMIN, which holds it */
	bool may_perfmon; /* CAP_PERFMON, or CAP_SYS_ADMIN */
	bool has_types;   /* the kernel's BTF, by which programs fit it */
	bool is_locked;   /* lockdown=confidentiality: BPF may not read the kernel's memory */
};

/* root: "" (tests have a tree of their own, with proc/self/status and sys/... in it). What can't be read is as if it
 * were missing, but for the lock. */
void bpf_rights_read(struct bpf_rights *rights, const char *root);

/* Puts one line on the first thing that is missing in line; lost says what the user goes without ("no CPU samples").
 * false: nothing is missing, line is "". */
bool bpf_rights_missing(const struct bpf_rights *rights, const char *lost,
			char line[static BPF_RIGHTS_LINE_MAX]);

/* The same of an error that the kernel gave all the same: error is -errno, what names the step ("perf_event_open"). */
void bpf_rights_explain(const char *what, int error, const char *lost,
			char line[static BPF_RIGHTS_LINE_MAX]);

/* Kernels before 5.11 count maps against RLIMIT_MEMLOCK: raises it as far as it goes. */
void bpf_rights_raise_memory(void);

#endif
