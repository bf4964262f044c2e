#include "session_modules.h"

#include "collection.h"
#include "collective_log.h"
#include "kept_log.h"
#include "roster.h"

#include "aggregator/core/correlator.h"

static int check(const struct agent_session *session, const struct collection *collection,
		 const struct message_collectives *message, const char **reason)
{
	*reason = "collectives name what is not defined";
	if (message->process_id == 0 ||
	    !agent_session_defined(session, SESSION_PROCESSES, message->process_id))
		return REFUSE_UNDEFINED;

	uint32_t id = agent_session_translate(session, SESSION_PROCESSES, message->process_id);
	uint32_t defined = collective_log_defined(collection->collectives, id);
	for (uint32_t i = 0; i < message->nr_communicators; i++) {
		uint32_t communicator_id = message->communicators[i].communicator_id;

		if (communicator_id == 0 || communicator_id > defined + 1)
			return REFUSE_UNDEFINED;
		if (communicator_id > defined)
			defined = communicator_id;
	}
	if (defined > COLLECTIVE_COMMUNICATORS_MAX) {
		*reason = "too many communicators";
		return REFUSE_LIMIT;
	}
	for (uint32_t i = 0; i < message->nr_collectives; i++)
		if (message->collectives[i].communicator_id > defined ||
		    !agent_session_defined(session, SESSION_NODES,
					   message->collectives[i].stack_id))
			return REFUSE_UNDEFINED;
	return 0;
}

int session_collectives_apply(struct agent_session *session, struct collection *collection,
			      const struct message *any, const char **reason)
{
	const struct message_collectives *message = &any->collectives;
	int error = check(session, collection, message, reason);
	if (error)
		return error;

	uint32_t id = agent_session_translate(session, SESSION_PROCESSES, message->process_id);
	for (uint32_t i = 0; i < message->nr_communicators && !error; i++)
		error = collective_log_put(collection->collectives, id, &message->communicators[i]);
	for (uint32_t i = 0; i < message->nr_collectives && !error; i++) {
		struct collective call = message->collectives[i];

		call.stack_id = agent_session_translate(session, SESSION_NODES, call.stack_id);
		error = collective_log_add(collection->collectives, id, &call);
		if (!error &&
		    (call.function == COLLECTIVE_SEND || call.function == COLLECTIVE_RECV))
			error = kept_log_exchanges(collection->kept, id);
	}
	return error;
}

/* All kernels of a graph have the id of its launch, so none of them belongs to a call. */
int session_collectives_record(struct collection *collection, uint32_t process,
			       const struct message_events *events, const struct gpu_record *record,
			       bool is_nccl)
{
	if (record->kind != RECORD_GPU_KERNEL || record->graph_node_id || record->graph_id ||
	    record->start_ns == 0 || record->end_ns < record->start_ns ||
	    record->end_ns - record->start_ns > CORRELATOR_DURATION_MAX_NS ||
	    !collective_log_wants(collection->collectives, process, record->correlation_id,
				  is_nccl))
		return 0;

	struct collective_gpu gpu = {
		.start_ns = record->start_ns,
		.ns = record->end_ns - record->start_ns,
		.clock_offset_ns = events->clock_valid ? events->clock_offset_ns : 0,
		.device_id = record->device_id,
		.known = true,
		.clock_known = events->clock_valid,
	};

	gpu.total_known =
		correlator_launched(roster_process(collection->roster, process)->correlator, record,
				    &gpu.tid, &gpu.node);
	if (gpu.total_known) {
		gpu.context_id = record->context_id;
		gpu.stream_id = record->stream_id;
		gpu.name = record->name_id;
	}
	return collective_log_kernel(collection->collectives, process, record->correlation_id, &gpu,
				     is_nccl);
}
