/* Loads a BPF program that observes calls, and attaches it to the functions of a file. It then sees all processes that
 * map the file now or later. Kernels offer three ways; the best available is taken. Only the agent loop calls it. */
#ifndef CALL_LINKS_H
#define CALL_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_ring;
struct call_links;
struct call_program;
struct call_sites;

enum call_program_kind {
	CALL_PROGRAM_CUDA,       /* bpf/host_call.bpf.c: functions of call_function.h */
	CALL_PROGRAM_COLLECTIVE, /* bpf/collective.bpf.c: functions of collective_function.h */
	CALL_PROGRAM_KINDS,
};

enum call_links_way {
	CALL_LINKS_BEST = 0,
	CALL_LINKS_SESSION, /* Linux 6.13: one probe for both ends; only calls that count return */
	CALL_LINKS_MULTI,   /* Linux 6.6: all entries in one link, all returns in another */
	CALL_LINKS_SINGLE,  /* Linux 5.15: two links for each function */
};

struct call_program_options {
	enum call_links_way way;
	bool wants_python; /* adds the calling thread's Python frames */
	/* pages of the calling thread's stack that are copied with each call; SAMPLE_CALL_PAGES_MAX at most */
	uint32_t stack_pages;
};

/* Loads a program. 0 or -errno of the kernel; *what is then the step that failed, for bpf_rights_explain(). On error
 * *program is NULL. The ring is borrowed for the call. */
int call_program_create(struct bpf_ring *ring, enum call_program_kind kind,
			const struct call_program_options *options, struct call_program **program,
			const char **what);
void call_program_destroy(struct call_program *program); /* accepts NULL */

/* Returns 0 if Python frames are as options wanted them; -errno: the kernel accepts the program only without them. */
int call_program_python(const struct call_program *program);

/* Forgets everything about a process that is gone. */
void call_program_forget(struct call_program *program, pid_t pid);

/* Ignores all calls from now on, including those that were entered before. */
void call_program_silence(struct call_program *program);

/* Begins to time the functions of the file behind fd, which may be closed afterwards. *nr_failed: functions on which
 * the kernel puts no probe. 0; -errno: no probe was put. On error *links is NULL. Links must be destroyed before their
 * program. */
int call_links_create(struct call_program *program, int fd, const struct call_sites *sites,
		      uint32_t *nr_failed, struct call_links **links);

/* Ends the timing: no more calls come from then on. It takes up to a tenth of a second. Accepts NULL. */
void call_links_destroy(struct call_links *links);

#endif
