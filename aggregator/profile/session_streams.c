#include "session_modules.h"

#include "collection.h"
#include "roster.h"

int session_streams_apply(struct agent_session *session, struct collection *collection,
			  const struct message *any, const char **reason)
{
	const struct message_streams *message = &any->streams;

	*reason = "a stream names what is not defined";
	if (message->process_id == 0 ||
	    !agent_session_defined(session, SESSION_PROCESSES, message->process_id))
		return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < message->nr_streams; i++)
		if (!agent_session_defined(session, SESSION_STRINGS, message->streams[i].name))
			return REFUSE_UNDEFINED;

	uint32_t id = agent_session_translate(session, SESSION_PROCESSES, message->process_id);
	struct roster_process *process = roster_process(collection->roster, id);
	int error = 0;
	/* A message is applied as a whole or not at all. */
	if (message->nr_streams > STREAM_LIST_MAX - process->streams.nr_streams) {
		*reason = "too many streams";
		return REFUSE_LIMIT;
	}
	if (message->nr_contexts > CONTEXT_LIST_MAX - process->contexts.nr_contexts) {
		*reason = "too many contexts";
		return REFUSE_LIMIT;
	}
	for (uint32_t i = 0; i < message->nr_streams && !error; i++) {
		struct message_stream stream = message->streams[i];

		stream.name = agent_session_translate(session, SESSION_STRINGS, stream.name);
		error = stream_list_put(&process->streams, &stream);
	}
	for (uint32_t i = 0; i < message->nr_contexts && !error; i++)
		error = context_list_put(&process->contexts, &message->contexts[i]);
	return error;
}
