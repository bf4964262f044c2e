/* Applies the ledgers of an agent and of its processes (LEDGER). Part of session_apply. Single-threaded. */
#ifndef SESSION_LEDGER_H
#define SESSION_LEDGER_H

struct agent_session;
struct collection;
struct message_ledger;

/* As session_apply(). */
int session_ledger_apply(struct agent_session *session, struct collection *collection,
			 const struct message_ledger *message, const char **reason);

#endif
