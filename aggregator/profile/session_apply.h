/* Applies an agent's messages to the collection: gives each to the module for its type. Single-threaded. */
#ifndef SESSION_APPLY_H
#define SESSION_APPLY_H

struct agent_session;
struct collection;
struct message;

/* Applies the message with the next sequence number (asserted) and advances received_seq; or refuses it and changes
 * nothing. Returns 0; an enum refuse_code, and *reason (static storage) says why; -ENOMEM: the collection is no longer
 * exact and must not be saved. */
int session_apply(struct agent_session *session, struct collection *collection,
		  const struct message *message, const char **reason);

#endif
