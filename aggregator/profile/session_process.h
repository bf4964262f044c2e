/* Applies the states of processes, and an agent's goodbye (PROCESS, BYE). Part of session_apply. Single-threaded. */
#ifndef SESSION_PROCESS_H
#define SESSION_PROCESS_H

struct agent_session;
struct collection;
struct message_process;

/* As session_apply(). */
int session_process_apply(struct agent_session *session, struct collection *collection,
			  const struct message_process *message, const char **reason);

/* The agent says goodbye: nothing more will come from its processes that still run. 0 or -ENOMEM. */
int session_process_leave(struct agent_session *session, struct collection *collection);

#endif
