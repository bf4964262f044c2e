/* The guest at rest: a thread that only looks, once a second, whether an agent attaches (proto/attach.h). */
#ifndef DORMANT_H
#define DORMANT_H

#include <stdbool.h>

/* Starts that thread. It calls `attach` each time that an agent is there, with the paths of the agent's socket and of
 * its options, which are borrowed until the call returns. The thread ends when `attach` returns true. Call it once,
 * on the thread that loads the guest. Returns 0, or -errno: there is no thread. */
int dormant_start(bool (*attach)(const char *socket_path, const char *options_path));

#endif
