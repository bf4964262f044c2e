/* The agent's capabilities (capabilities(7)), and how the agent gives up those that it does not need. Each thread has
 * its own: it begins with those of the thread that starts it. Any thread. */
#ifndef CAPABILITY_SET_H
#define CAPABILITY_SET_H

#include <stdint.h>

#define CAPABILITY_SET_TEXT_MAX 1024u /* bytes, with the NUL */

struct capability_set {
	uint64_t bits; /* 1 << number, linux/capability.h */
};

enum capability_role {
	CAPABILITY_ROLE_USER, /* looks at processes of the agent's own user */
	CAPABILITY_ROLE_JOB, /* looks at processes that the agent starts, perhaps with its rights */
	CAPABILITY_ROLE_SITE, /* looks at processes of other users or of root */
	CAPABILITY_ROLE_COUNTERS, /* samples counters of GPUs: CAP_PERFMON, and CAP_SYS_ADMIN for older drivers */
};

/* Chooses from the calling thread's permitted capabilities those of that role (table in docs/bpf.md). */
void capability_set_choose(enum capability_role role, struct capability_set *set);

/* Adds CAP_SYS_ADMIN, if the calling thread is permitted it. */
void capability_set_add_admin(struct capability_set *set);

/* Limits the calling thread's permitted capabilities to the set, and clears the inheritable capabilities. The thread
 * and the programs that it executes gain no capability. 0, also if the thread had nothing to give up, or -errno. */
int capability_set_keep(const struct capability_set *set);

/* Calls function on a new thread that keeps the set, as do the threads that it starts. Waits for it. Returns its
 * result, or -errno. */
int capability_set_call(const struct capability_set *set, int (*function)(void *context),
			void *context);

/* Writes "CAP_BPF, CAP_PERFMON", or "no capabilities". Returns text. */
const char *capability_set_text(const struct capability_set *set,
				char text[static CAPABILITY_SET_TEXT_MAX]);

#endif
