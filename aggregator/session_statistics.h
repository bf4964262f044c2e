/* What a STATISTICS message does to the collection; part of agent_session. Single-threaded. */
#ifndef SESSION_STATISTICS_H
#define SESSION_STATISTICS_H

#include "agent_session.h"

/* As agent_session_apply(). */
int session_statistics_apply(struct agent_session *session, struct collection *collection,
			     const struct message_statistics *message, const char **reason);

#endif
