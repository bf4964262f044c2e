/* Tells what the kernel lets this agent do with BPF. One line says what is missing for it, and what the user loses
 * without it. The rest of the agent goes on in any case. Reads /proc and /sys; any thread. */
#ifndef BPF_RIGHTS_H
#define BPF_RIGHTS_H

#include <stdbool.h>

#define BPF_RIGHTS_LINE_MAX 512u /* bytes of a line, with its NUL */

struct bpf_rights {
	bool may_bpf;     /* CAP_BPF, or CAP_SYS_ADMIN, which holds it */
	bool may_perfmon; /* CAP_PERFMON, or CAP_SYS_ADMIN */
	bool has_types;   /* the kernel's BTF, by which programs fit it */
	bool is_locked;   /* lockdown=confidentiality: BPF may not read the kernel's memory */
};

/* Reads the rights. root: "", or a test's own tree with proc/self/status and sys/... in it. A right that can't be read
 * counts as missing; an unreadable lock counts as absent. */
void bpf_rights_read(struct bpf_rights *rights, const char *root);

/* Writes a line about the first thing that is missing. lost says what the user loses ("no CPU samples"). false: nothing
 * is missing, and line is "". */
bool bpf_rights_missing(const struct bpf_rights *rights, const char *lost,
			char line[static BPF_RIGHTS_LINE_MAX]);

/* Writes a line about an error that the kernel gave all the same. error is -errno; what names the step
 * ("perf_event_open"). */
void bpf_rights_explain(const char *what, int error, const char *lost,
			char line[static BPF_RIGHTS_LINE_MAX]);

/* Raises RLIMIT_MEMLOCK as far as it goes: kernels before 5.11 count maps against it. */
void bpf_rights_raise_memory(void);

#endif
