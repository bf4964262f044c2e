#include "session_modules.h"

#include "collection.h"
#include "placement_log.h"
#include "roster.h"

static int check(const struct agent_session *session, const struct collection *collection,
		 const struct message_placement *message, const char **reason)
{
	*reason = "a placement names what is not defined";
	if (message->process_id == 0 ||
	    !agent_session_defined(session, SESSION_PROCESSES, message->process_id))
		return REFUSE_UNDEFINED;

	const struct roster_process *process = roster_process(
		collection->roster,
		agent_session_translate(session, SESSION_PROCESSES, message->process_id));
	for (uint32_t i = 0; i < message->nr_devices; i++)
		if (!agent_session_defined(session, SESSION_STRINGS, message->devices[i].cpus) ||
		    roster_process_device(process, message->devices[i].device_id) == 0)
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < message->nr_links; i++)
		if (roster_process_device(process, message->links[i].device_id) == 0)
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < message->nr_telemetry; i++)
		if (roster_process_device(process, message->telemetry[i].device_id) == 0)
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < message->nr_counter_states; i++)
		if (roster_process_device(process, message->counter_states[i].device_id) == 0)
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < message->nr_counters; i++)
		if (roster_process_device(process, message->counters[i].device_id) == 0)
			return REFUSE_UNDEFINED;
	return 0;
}

static int take_telemetry(const struct roster_process *process, struct placement_log *log,
			  const struct message_placement *message)
{
	int error = 0;

	for (uint32_t i = 0; i < message->nr_telemetry && !error; i++) {
		struct device_telemetry telemetry = message->telemetry[i];

		telemetry.device_id = roster_process_device(process, telemetry.device_id);
		error = placement_log_add_telemetry(log, &telemetry);
	}
	return error;
}

/* Samples come first, because states count those that are dropped. */
static int take_counters(const struct roster_process *process, struct placement_log *log,
			 const struct message_placement *message)
{
	int error = 0;

	for (uint32_t i = 0; i < message->nr_counters && !error; i++) {
		struct counter_sample sample = message->counters[i];

		sample.device_id = roster_process_device(process, sample.device_id);
		error = sample.end_ns > sample.begin_ns
				? placement_log_add_counters(log, &sample)
				: placement_log_drop_counters(log, sample.device_id);
	}
	for (uint32_t i = 0; i < message->nr_counter_states && !error; i++) {
		struct counter_state state = message->counter_states[i];

		state.device_id = roster_process_device(process, state.device_id);
		error = placement_log_add_counter_state(log, &state);
	}
	return error;
}

static int take_links(const struct roster_process *process, struct placement_log *log,
		      const struct message_placement *message)
{
	int error = 0;

	for (uint32_t i = 0; i < message->nr_links && !error; i++) {
		const struct message_link *from = &message->links[i];
		const struct placement_link link = {
			.device = roster_process_device(process, from->device_id),
			.link = from->link,
			.bytes_per_second = from->bytes_per_second,
		};

		error = placement_log_add_link(log, &link);
	}
	return error;
}

int session_placement_apply(struct agent_session *session, struct collection *collection,
			    const struct message *any, const char **reason)
{
	const struct message_placement *message = &any->placement;
	int error = check(session, collection, message, reason);
	if (error)
		return error;

	uint32_t id = agent_session_translate(session, SESSION_PROCESSES, message->process_id);
	const struct roster_process *process = roster_process(collection->roster, id);
	for (uint32_t i = 0; i < message->nr_devices && !error; i++) {
		const struct message_placed_device *from = &message->devices[i];
		const struct placement_device device = {
			.device = roster_process_device(process, from->device_id),
			.numa_node = from->numa_node,
			.cpus = agent_session_translate(session, SESSION_STRINGS, from->cpus),
		};

		error = placement_log_add_device(collection->placements, &device);
	}
	for (uint32_t i = 0; i < message->nr_threads && !error; i++) {
		const struct message_placed_thread *from = &message->threads[i];
		const struct placement_thread thread = {id, from->tid, from->numa_node,
							from->count};

		error = placement_log_add_thread(collection->placements, &thread);
	}
	if (!error)
		error = take_links(process, collection->placements, message);
	if (!error)
		error = take_telemetry(process, collection->placements, message);
	return error ? error : take_counters(process, collection->placements, message);
}
