/* What an agent tells of a process's place on its machine (PLACEMENT). Part of session_apply. */
#ifndef SESSION_PLACEMENT_H
#define SESSION_PLACEMENT_H

#include "agent_session.h"

struct collection;

/* As session_apply(). */
int session_placement_apply(struct agent_session *session, struct collection *collection,
			    const struct message_placement *message, const char **reason);

#endif
