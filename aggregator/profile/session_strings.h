/* Applies STRINGS: puts texts into the catalog, under the store's ids, as long as their owners have room
 * (text_shares.h). Part of session_apply. Single-threaded. */
#ifndef SESSION_STRINGS_H
#define SESSION_STRINGS_H

#include "agent_session.h"

struct catalog;

/* Stands in the profile for every text without room. Texts that the profile has already need no room. */
#define SESSION_STRINGS_LEFT_OUT "[a name too many]"

/* Applies all of the message, or nothing. Returns 0; an enum refuse_code, and *reason (static storage) says why;
 * -ENOMEM: the collection is no longer exact. */
int session_strings_apply(struct agent_session *session, struct catalog *catalog,
			  const struct message_strings *strings, const char **reason);

/* The store's id of SESSION_STRINGS_LEFT_OUT; 0: all texts had room. */
uint32_t session_strings_left_out(const struct catalog *catalog);

#endif
