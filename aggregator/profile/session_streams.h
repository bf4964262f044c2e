/* Applies the names and flags of streams and contexts (STREAM). Part of session_apply. Single-threaded. */
#ifndef SESSION_STREAMS_H
#define SESSION_STREAMS_H

struct agent_session;
struct collection;
struct message_streams;

/* As session_apply(). */
int session_streams_apply(struct agent_session *session, struct collection *collection,
			  const struct message_streams *message, const char **reason);

#endif
