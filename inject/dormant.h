/* The guest at rest: a thread that looks once a second whether somebody attaches (proto/attach.h), and nothing else. */
#ifndef DORMANT_H
#define DORMANT_H

#include <stdbool.h>

/* attach is called on that thread, with the paths of the agent's socket and of its options (valid during the call),
 * each time that somebody is there; until it returns true: then the thread ends. On the thread that loads the guest,
 * once. Returns 0, or -errno: there is no thread. */
int dormant_start(bool (*attach)(const char *socket_path, const char *options_path));

#endif
