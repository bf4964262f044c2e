/* Where agents of this node listen that the user may command. */
#ifndef AGENT_SOCKETS_H
#define AGENT_SOCKETS_H

#include <stddef.h>
#include <sys/types.h>

struct agent_sockets {
	char **paths; /* owns */
	size_t count;
};

/* Those that come into question, best first: the one at `path`; of the process `pid` (0: none); of this process's own
 * environment; of all runs of this user. The first of these that is given, or has any, is all. Whether somebody listens
 * there is not yet known. 0; -ESRCH, -EACCES: as target_process_init() says of pid; -ENOENT: none; -ENOMEM. fini in any
 * case. */
int agent_sockets_find(const char *path, pid_t pid, struct agent_sockets *sockets);

/* The one at this index is out of the question: those behind it move up. */
void agent_sockets_drop(struct agent_sockets *sockets, size_t index);
void agent_sockets_fini(struct agent_sockets *sockets);

#endif
