/* What a SAMPLES message does to the collection; part of agent_session. Single-threaded. */
#ifndef SESSION_SAMPLES_H
#define SESSION_SAMPLES_H

#include "agent_session.h"

/* Adds each sample to the sums of its key. As agent_session_apply(): 0, an enum refuse_code with *reason, or -ENOMEM. */
int session_samples_apply(struct agent_session *session, struct collection *collection,
			  const struct message_samples *message, const char **reason);

#endif
