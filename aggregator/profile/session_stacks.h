/* Applies STACKS: puts modules, codes, frames, nodes and names of frames into the catalog, under the store's ids. Part
 * of session_apply. Single-threaded. */
#ifndef SESSION_STACKS_H
#define SESSION_STACKS_H

#include "agent_session.h"

struct collection;

/* Applies all of the message, or nothing. Returns 0; an enum refuse_code, and *reason (static storage) says why;
 * -ENOMEM: the collection is no longer exact. */
int session_stacks_apply(struct agent_session *session, struct collection *collection,
			 const struct message_stacks *stacks, const char **reason);

#endif
