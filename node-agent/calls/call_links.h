/* A BPF program that looks at calls, and how it is put on the functions of a file: of all processes that map it, and
 * that will. Kernels have three ways, the best of which is taken. Single-threaded: only the agent loop calls it. */
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
	CALL_LINKS_SESSION, /* Linux 6.13: one probe for both ends, and the return only of calls that count */
	CALL_LINKS_MULTI,  /* Linux 6.6: all entries in one link, all returns in another */
	CALL_LINKS_SINGLE, /* Linux 5.15: two links for each function */
};

struct call_program_options {
	enum call_links_way way;
	bool wants_python; /* with the calling thread's Python frames */
	/* of the calling thread's stack, with each call; SAMPLE_CALL_PAGES_MAX at most */
	uint32_t stack_pages;
};

/* Loads it. 0 or -errno of the kernel, and *what is then the step that failed, for bpf_rights_explain(). On error
 * *program is NULL. The ring is borrowed for the call. */
int call_program_create(struct bpf_ring *ring, enum call_program_kind kind,
			const struct call_program_options *options, struct call_program **program,
			const char **what);
void call_program_destroy(struct call_program *program); /* accepts NULL */

/* -errno: this kernel takes it only without Python frames. 0: they are as was wanted. */
int call_program_python(const struct call_program *program);

/* A process is gone: so is what is kept of it. */
void call_program_forget(struct call_program *program, pid_t pid);

/* From now on no call is taken any more; also none that was entered before. */
void call_program_silence(struct call_program *program);

/* Begins to time the functions of the file that fd is open on, which may be closed afterwards. *nr_failed: those of
 * them on which the kernel puts no probe. 0; -errno: none was put. On error *links is NULL. Links go before their
 * program. */
int call_links_create(struct call_program *program, int fd, const struct call_sites *sites,
		      uint32_t *nr_failed, struct call_links **links);

/* Ends it: no more calls from then on. Takes up to a tenth of a second. Accepts NULL. */
void call_links_destroy(struct call_links *links);

#endif
