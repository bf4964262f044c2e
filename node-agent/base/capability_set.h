/* What the agent may do that others may not (capabilities(7)), and how it gives up the rest once it is set up.
 * Capabilities are a thread's own: each gives up for itself, and begins with what the thread that starts it has. Any
 * thread. */
#ifndef CAPABILITY_SET_H
#define CAPABILITY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPABILITY_SET_TEXT_MAX 1024u /* bytes, with the NUL */

struct capability_set {
	uint64_t bits; /* 1 << number, linux/capability.h */
};

enum capability_role {
	CAPABILITY_ROLE_USER, /* it looks at its own user's processes */
	CAPABILITY_ROLE_JOB, /* it looks at those that this process starts, which may keep its rights */
	CAPABILITY_ROLE_SITE, /* it looks at other users' processes, or at root's */
};

/* What the calling thread keeps in that role, of what it is permitted (docs/bpf.md has the table). */
void capability_set_choose(enum capability_role role, struct capability_set *set);

/* Adds CAP_SYS_ADMIN, if the calling thread is permitted it. */
void capability_set_add_admin(struct capability_set *set);

/* The calling thread is permitted these from now on, and passes none on; what it was not permitted before it is not
 * after. It and what it starts gain nothing by exec any more. 0, also where there was nothing to give up, or -errno. */
int capability_set_keep(const struct capability_set *set);

/* Calls function on a thread of its own that keeps the set: so do the threads that it starts. Waits for it. Its result,
 * or -errno. */
int capability_set_call(const struct capability_set *set, int (*function)(void *context),
			void *context);

/* "CAP_BPF, CAP_PERFMON", or "no capabilities". Returns text. */
const char *capability_set_text(const struct capability_set *set,
				char text[static CAPABILITY_SET_TEXT_MAX]);

#endif
