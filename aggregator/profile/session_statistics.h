/* Applies the sums of API calls and launch configurations (STATISTICS). Part of session_apply. Single-threaded. */
#ifndef SESSION_STATISTICS_H
#define SESSION_STATISTICS_H

#include "agent_session.h"

struct collection;

/* As session_apply(). */
int session_statistics_apply(struct agent_session *session, struct collection *collection,
			     const struct message_statistics *message, const char **reason);

#endif
