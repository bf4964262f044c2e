#include "session_modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collection.h"
#include "collective_log.h"
#include "kept_log.h"
#include "roster.h"

#include "aggregator/core/correlator.h"
#include "aggregator/core/memory_account.h"
#include "aggregator/core/timeline_table.h"

static int check_process(const struct agent_session *session, const struct message_process *process,
			 const char **reason)
{
	bool ok = process->process_id > 0 &&
		  process->process_id <= session->ids[SESSION_PROCESSES].count + 1 &&
		  process->state <= PROCESS_UNCLEAN &&
		  agent_session_defined(session, SESSION_STRINGS, process->job) &&
		  agent_session_defined(session, SESSION_STRINGS, process->command);

	for (uint32_t i = 0; i < process->nr_devices && ok; i++)
		ok = agent_session_defined(session, SESSION_STRINGS, process->devices[i].name) &&
		     agent_session_defined(session, SESSION_STRINGS, process->devices[i].pci);
	for (uint32_t i = 0; i < process->nr_notices && ok; i++)
		ok = agent_session_defined(session, SESSION_STRINGS, process->notices[i]);
	if (process->process_id > WIRE_ID_MAX) {
		*reason = "too many processes";
		return REFUSE_LIMIT;
	}
	*reason = "a process names what is not defined";
	return ok ? 0 : REFUSE_UNDEFINED;
}

/* A description may come behind the process's first work, which is then the device's. */
static int take_earlier_work(struct collection *collection, const struct roster_process *process,
			     uint32_t id, const struct roster_ordinal *device)
{
	const struct timeline_key from = {
		.level = TIMELINE_ORDINAL, .process_id = id, .device_id = device->device_id};
	const struct timeline_key to = {
		.level = TIMELINE_DEVICE, .process_id = ROSTER_WRITER, .device_id = device->device};

	if (roster_process_device(process, device->device_id) != 0)
		return 0;
	return timeline_table_move(collection->timelines, &from, &to);
}

static int apply_devices(struct agent_session *session, struct collection *collection,
			 struct roster_process *process, uint32_t id,
			 const struct message_process *message)
{
	struct roster_ordinal *ordinals =
		calloc(message->nr_devices ? message->nr_devices : 1, sizeof(*ordinals));
	int error = ordinals ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < message->nr_devices && !error; i++) {
		const struct message_device *from = &message->devices[i];
		struct roster_device device = {
			.host = session->host,
			.index = from->index,
			.name = agent_session_translate(session, SESSION_STRINGS, from->name),
			.pci = agent_session_translate(session, SESSION_STRINGS, from->pci),
			.limits = from->limits,
		};

		memcpy(device.uuid, from->uuid, sizeof(device.uuid));
		ordinals[i].device_id = from->device_id;
		error = roster_add_device(collection->roster, &device, &ordinals[i].device);
		if (!error)
			error = take_earlier_work(collection, process, id, &ordinals[i]);
	}
	if (!error)
		error = roster_process_set_devices(process, ordinals, message->nr_devices);
	free(ordinals);
	return error;
}

static int apply_notices(struct agent_session *session, struct roster_process *process,
			 const struct message_process *message)
{
	uint32_t *notices = calloc(message->nr_notices ? message->nr_notices : 1, sizeof(*notices));

	if (!notices)
		return -ENOMEM;
	for (uint32_t i = 0; i < message->nr_notices; i++)
		notices[i] = agent_session_translate(session, SESSION_STRINGS, message->notices[i]);
	int error = roster_process_set_notices(process, notices, message->nr_notices);
	free(notices);
	return error;
}

/* Folds the launches and records that still wait, and drops unanswered questions. */
static int finish_process(struct collection *collection, uint32_t id)
{
	struct roster_process *process = roster_process(collection->roster, id);

	process->changed = process->finished = true;
	timeline_table_close(collection->timelines, id);
	collective_log_end(collection->collectives, id);
	kept_log_end(collection->kept, id);
	fold_limit_fini(&process->places);
	fold_limit_fini(&process->kernels);
	if (!process->correlator)
		return 0;
	int error = correlator_finish(process->correlator);
	if (!error)
		error = roster_process_count_correlated(process);
	if (error)
		return error;
	process->counts = *correlator_counts(process->correlator);
	correlator_destroy(process->correlator);
	process->correlator = NULL;
	return memory_account_finish(process->memory);
}

/* This agent only knows that the process is gone. Facts that another agent has sent stay. */
static int apply_end_unseen(struct collection *collection, struct roster_process *process,
			    uint32_t id)
{
	if (process->state == PROCESS_RUNNING)
		process->state = PROCESS_UNCLEAN;
	process->changed = true;
	return finish_process(collection, id);
}

int session_process_apply(struct agent_session *session, struct collection *collection,
			  const struct message *any, const char **reason)
{
	const struct message_process *message = &any->process;
	struct roster_identity identity = {
		.writer = ROSTER_WRITER,
		.start_ticks = message->start_ticks,
		.pid_namespace = message->pid_namespace,
		.host = session->host,
		.pid = message->pid,
	};
	bool is_first = message->process_id > session->ids[SESSION_PROCESSES].count;
	uint32_t id;
	int error = check_process(session, message, reason);
	if (error)
		return error;

	if (is_first) {
		memcpy(identity.instance, message->instance, sizeof(identity.instance));
		error = roster_add_process(collection->roster, &identity, &id);
		if (!error)
			error = agent_session_add_id(session, SESSION_PROCESSES, id);
		if (error)
			return error;
	}
	id = agent_session_translate(session, SESSION_PROCESSES, message->process_id);

	struct roster_process *process = roster_process(collection->roster, id);
	if (is_first && message->state == PROCESS_UNCLEAN && process->command)
		return apply_end_unseen(collection, process, id);
	process->state = message->state;
	process->rank = message->rank;
	process->local_rank = message->local_rank;
	process->world_size = message->world_size;
	process->job = agent_session_translate(session, SESSION_STRINGS, message->job);
	process->command = agent_session_translate(session, SESSION_STRINGS, message->command);
	process->spoke_ns = session->spoke_ns;
	process->changed = true;
	error = apply_devices(session, collection, process, id, message);
	if (!error)
		error = apply_notices(session, process, message);
	if (!error && message->state != PROCESS_RUNNING)
		error = finish_process(collection, id);
	return error;
}

int session_process_leave(struct agent_session *session, struct collection *collection,
			  const struct message *bye, const char **reason)
{
	const struct session_ids *processes = &session->ids[SESSION_PROCESSES];
	int error = 0;

	(void)bye;
	(void)reason;
	for (uint32_t i = 0; i < processes->count && !error; i++)
		error = finish_process(collection, processes->ids[i]);
	session->ended = true;
	return error;
}
