/* Finds the sockets of this node's agents that the user may command. */
#ifndef AGENT_SOCKETS_H
#define AGENT_SOCKETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_sockets {
	char **paths; /* owns */
	uint32_t count;
};

/* Lists the sockets that may be meant, the best first. It takes them from the first of these sources that is given or
 * has any:
 *   - the socket at `path`;
 *   - the sockets of the process `pid` (0: none);
 *   - the socket in this process's own environment;
 *   - the sockets of all runs of this user.
 * It does not check whether an agent listens. 0; -ESRCH, -EACCES: the errors of target_process_init() for pid; -ENOENT:
 * none; -ENOMEM. Call fini in any case. */
int agent_sockets_find(const char *path, pid_t pid, struct agent_sockets *sockets);

/* Removes the socket at this index; those behind it move up. */
void agent_sockets_drop(struct agent_sockets *sockets, size_t index);
void agent_sockets_fini(struct agent_sockets *sockets);

#endif
