#include "session_samples.h"

#include "fold_table.h"

static int check(const struct agent_session *session, const struct message_samples *message,
		 const char **reason)
{
	*reason = "samples name what is not defined";
	if (message->process_id == 0 ||
	    !agent_session_defined(session, SESSION_PROCESSES, message->process_id))
		return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < message->nr_samples; i++) {
		const struct host_sample *sample = &message->samples[i];

		if (!agent_session_defined(session, SESSION_NODES, sample->stack_id) ||
		    !agent_session_defined(session, SESSION_STRINGS, sample->name_id))
			return REFUSE_UNDEFINED;
		if (sample->kind >= HOST_SAMPLE_KINDS) {
			*reason = "a sample of a kind that does not exist";
			return REFUSE_MALFORMED;
		}
	}
	return 0;
}

int session_samples_apply(struct agent_session *session, struct collection *collection,
			  const struct message_samples *message, const char **reason)
{
	int error = check(session, message, reason);
	if (error)
		return error;

	uint32_t id = agent_session_translate(session, SESSION_PROCESSES, message->process_id);
	for (uint32_t i = 0; i < message->nr_samples && !error; i++) {
		const struct host_sample *sample = &message->samples[i];
		const struct fold_key key = {
			.process_id = id,
			.tid = sample->tid,
			.stack_id =
				agent_session_translate(session, SESSION_NODES, sample->stack_id),
			.name_id =
				agent_session_translate(session, SESSION_STRINGS, sample->name_id),
			.kind = sample->kind,
		};

		error = fold_table_add(collection->samples, &key, 1, sample->duration_ns, 0);
	}
	return error;
}
