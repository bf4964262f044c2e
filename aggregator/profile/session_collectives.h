/* Applies calls of collective libraries (COLLECTIVES). Part of session_apply. Single-threaded. */
#ifndef SESSION_COLLECTIVES_H
#define SESSION_COLLECTIVES_H

#include "agent_session.h"

struct collection;

/* Applies a message as session_apply() does. 0; an enum refuse_code with *reason, and nothing changed; -ENOMEM. */
int session_collectives_apply(struct agent_session *session, struct collection *collection,
			      const struct message_collectives *message, const char **reason);

/* Offers a GPU record of a process, which may be the kernel of a call. Ids are the store's. 0 or -ENOMEM. */
int session_collectives_record(struct collection *collection, uint32_t process,
			       const struct message_events *events,
			       const struct gpu_record *record);

#endif
