#include "peer_rights.h"

#include <string.h>

static bool is_user(const struct peer *peer, const struct message_text *user)
{
	return user->size == strlen(peer->user) && memcmp(user->data, peer->user, user->size) == 0;
}

static bool is_own(const struct peer *peer, const struct message_text *user,
		   const struct message_text *key)
{
	return key->size && is_user(peer, user);
}

enum peer_right peer_rights_look(const struct peer *peer, const struct message *message)
{
	const struct message_hello *hello = &message->hello;
	const struct message_control *control = &message->control;

	if (!*peer->user)
		return PEER_RIGHT_SAY;
	switch (message->type) {
	case MESSAGE_HELLO:
		return is_own(peer, &hello->job.user, &hello->job.key) ? PEER_RIGHT_SAY
								       : PEER_RIGHT_DENIED;
	case MESSAGE_CONTROL:
		if (peer->session && (control->kind != CONTROL_ASK || !control->job_key.size))
			return PEER_RIGHT_SAY;
		if (control->kind != CONTROL_ASK)
			return PEER_RIGHT_NOT_YET;
		return is_own(peer, &control->job_user, &control->job_key) ? PEER_RIGHT_SAY
									   : PEER_RIGHT_DENIED;
	case MESSAGE_FETCH:
		return is_user(peer, &message->fetch.user) ? PEER_RIGHT_SAY : PEER_RIGHT_DENIED;
	case MESSAGE_CLOCK: /* without a session it would count for the aggregator's own profile */
		return peer->session ? PEER_RIGHT_SAY : PEER_RIGHT_NOT_YET;
	default:
		return PEER_RIGHT_SAY; /* PING, and what is refused without a session */
	}
}
