#include "session_apply.h"

#include <assert.h>

#include "session_modules.h"

#include "proto/batch/message_seq.h"

/* Types that carry no data have no module. */
static session_module *const modules[] = {
	[MESSAGE_STRINGS] = session_strings_apply,
	[MESSAGE_STACKS] = session_stacks_apply,
	[MESSAGE_EVENTS] = session_events_apply,
	[MESSAGE_LEDGER] = session_ledger_apply,
	[MESSAGE_PROCESS] = session_process_apply,
	[MESSAGE_BYE] = session_process_leave,
	[MESSAGE_STATISTICS] = session_statistics_apply,
	[MESSAGE_STREAM] = session_streams_apply,
	[MESSAGE_SAMPLES] = session_samples_apply,
	[MESSAGE_COLLECTIVES] = session_collectives_apply,
	[MESSAGE_PLACEMENT] = session_placement_apply,
};

int session_apply(struct agent_session *session, struct collection *collection,
		  const struct message *message, const char **reason)
{
	assert(message_seq_get(message) == session->received_seq + 1);
	*reason = "";
	if (session->ended) {
		*reason = "data after the goodbye";
		return REFUSE_MALFORMED;
	}
	if ((size_t)message->type >= sizeof(modules) / sizeof(modules[0]) ||
	    !modules[message->type]) {
		*reason = "a message that carries no data";
		return REFUSE_MALFORMED;
	}
	int error = modules[message->type](session, collection, message, reason);
	if (!error) {
		session->received_seq++;
		session->changed = true;
	}
	return error;
}
