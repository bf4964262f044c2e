#include "session_apply.h"

#include <assert.h>

#include "agent_session.h"
#include "collection.h"
#include "session_collectives.h"
#include "session_events.h"
#include "session_ledger.h"
#include "session_placement.h"
#include "session_process.h"
#include "session_samples.h"
#include "session_stacks.h"
#include "session_statistics.h"
#include "session_streams.h"
#include "session_strings.h"

#include "proto/batch/message_seq.h"

int session_apply(struct agent_session *session, struct collection *collection,
		  const struct message *message, const char **reason)
{
	int error;

	assert(message_seq_get(message) == session->received_seq + 1);
	*reason = "";
	if (session->ended) {
		*reason = "data after the goodbye";
		return REFUSE_MALFORMED;
	}
	switch (message->type) {
	case MESSAGE_STRINGS:
		error = session_strings_apply(session, collection->catalog, &message->strings,
					      reason);
		break;
	case MESSAGE_STACKS:
		error = session_stacks_apply(session, collection, &message->stacks, reason);
		break;
	case MESSAGE_PROCESS:
		error = session_process_apply(session, collection, &message->process, reason);
		break;
	case MESSAGE_EVENTS:
		error = session_events_apply(session, collection, &message->events, reason);
		break;
	case MESSAGE_LEDGER:
		error = session_ledger_apply(session, collection, &message->ledger, reason);
		break;
	case MESSAGE_BYE:
		error = session_process_leave(session, collection);
		break;
	case MESSAGE_STATISTICS:
		error = session_statistics_apply(session, collection, &message->statistics, reason);
		break;
	case MESSAGE_STREAM:
		error = session_streams_apply(session, collection, &message->streams, reason);
		break;
	case MESSAGE_SAMPLES:
		error = session_samples_apply(session, collection, &message->samples, reason);
		break;
	case MESSAGE_PLACEMENT:
		error = session_placement_apply(session, collection, &message->placement, reason);
		break;
	case MESSAGE_COLLECTIVES:
		error = session_collectives_apply(session, collection, &message->collectives,
						  reason);
		break;
	default:
		*reason = "a message that carries no data";
		return REFUSE_MALFORMED;
	}
	if (!error) {
		session->received_seq++;
		session->changed = true;
	}
	return error;
}
