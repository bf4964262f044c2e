/* What a STRINGS message does: texts into the catalog, under the store's ids, as far as their owners have room
 * (text_shares.h). Part of session_apply. Single-threaded. */
#ifndef SESSION_STRINGS_H
#define SESSION_STRINGS_H

#include "agent_session.h"

struct catalog;

/* What each text without room is called in the profile. Those that others have brought there have room. */
#define SESSION_STRINGS_LEFT_OUT "[a name too many]"

/* All of the message, or nothing. Returns 0; an enum refuse_code, *reason (static storage) then says
 * why; -ENOMEM: the collection is no longer exact. */
int session_strings_apply(struct agent_session *session, struct catalog *catalog,
			  const struct message_strings *strings, const char **reason);

/* The store's id of SESSION_STRINGS_LEFT_OUT; 0: no text was without room. */
uint32_t session_strings_left_out(const struct catalog *catalog);

#endif
