/* What the agent says of processes that could not be recorded: in the profile by their names and the reason alone. Single-threaded:
 * only the agent loop calls it. */
#ifndef AGENT_ABSENCE_H
#define AGENT_ABSENCE_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

struct agent;
struct guest_arrival;

/* A guest without a ring has said why (guest_listener_absence). */
void agent_absence_heard(void *context, pid_t pid, uid_t uid, const struct guest_absence *absence);

/* A guest was answered: one that has a place, or is to ask again. Without memory for it, nobody hears of the latter. */
void agent_absence_answered(struct agent *agent, const struct guest_arrival *arrival,
			    enum handshake_status status);

/* Tells of those that were to ask again and ended. Returns when to call again; UINT64_MAX: not needed. */
uint64_t agent_absence_step(struct agent *agent, uint64_t now_ns);

/* Begins to look after those that an agent before us left in the register. */
void agent_absence_inherit(struct agent *agent);

/* The agent goes. Who lives may have a place with the next one, if there is to be one; of all others it tells now. */
void agent_absence_end(struct agent *agent);

#endif
