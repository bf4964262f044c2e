/* What an agent's messages do to the collection: hands each to the module of its type. Single-threaded. */
#ifndef SESSION_APPLY_H
#define SESSION_APPLY_H

struct agent_session;
struct collection;
struct message;

/* Applies the message with the next sequence number (asserted) and moves received_seq, or refuses
 * it and changes nothing. Returns 0; an enum refuse_code, *reason (static storage) then says why;
 * -ENOMEM: the collection is no longer exact and must not be saved. */
int session_apply(struct agent_session *session, struct collection *collection,
		  const struct message *message, const char **reason);

#endif
