/* Applies the NUMA placement of a process (PLACEMENT). Part of session_apply. Single-threaded. */
#ifndef SESSION_PLACEMENT_H
#define SESSION_PLACEMENT_H

#include "agent_session.h"

struct collection;

/* As session_apply(). */
int session_placement_apply(struct agent_session *session, struct collection *collection,
			    const struct message_placement *message, const char **reason);

#endif
