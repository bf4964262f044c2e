/* Decides which users may command which guests of an agent (proto/control.h). What a peer may command at an aggregator
 * is decided there (aggregator/service/peer_rights.h). Pure; any thread. */
#ifndef CONTROL_RIGHTS_H
#define CONTROL_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns whether this user may command all guests, including later ones, and end the agent of `flamegrid attach`: root
 * and the agent's own user. */
bool control_rights_cover_all(uid_t uid);

/* Returns whether this user may command, and see, a guest of the user owner. */
bool control_rights_cover(uid_t uid, uid_t owner);

#endif
