/* Decides what a connection with a user's key may say: only what is of that user's jobs. It may read those alone, too.
 * A connection with the agents' key, or one within this process, may say everything. Pure. */
#ifndef PEER_RIGHTS_H
#define PEER_RIGHTS_H

#include "peer_table.h"

#include "proto/batch/message.h"

enum peer_right {
	PEER_RIGHT_SAY,
	PEER_RIGHT_NOT_YET, /* the message is to be ignored: it is of no job before HELLO */
	PEER_RIGHT_DENIED,  /* the message is of another user's job, or of no job */
};

enum peer_right peer_rights_look(const struct peer *peer, const struct message *message);

#endif
