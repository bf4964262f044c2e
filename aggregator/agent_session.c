#include "agent_session.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "collective_log.h"
#include "memory_account.h"
#include "nccl_kernel.h"
#include "proto/message_seq.h"
#include "roster.h"
#include "session_collectives.h"
#include "session_placement.h"
#include "session_samples.h"
#include "session_stacks.h"
#include "session_statistics.h"
#include "session_strings.h"
#include "timeline_table.h"

struct agent_session *agent_session_create(const uint8_t epoch[WIRE_EPOCH_SIZE], uint32_t id)
{
	struct agent_session *session = calloc(1, sizeof(*session));

	if (session) {
		memcpy(session->epoch, epoch, WIRE_EPOCH_SIZE);
		session->id = id;
		session->changed = true;
	}
	return session;
}

void agent_session_destroy(struct agent_session *session)
{
	if (!session)
		return;
	for (int kind = 0; kind < SESSION_ID_KINDS; kind++)
		free(session->ids[kind].ids);
	text_shares_fini(&session->texts);
	free(session->ledger);
	free(session);
}

void agent_session_saved(struct agent_session *session)
{
	session->durable_seq = session->received_seq;
	session->changed = session->ledger_changed = false;
	for (int kind = 0; kind < SESSION_ID_KINDS; kind++)
		session->ids[kind].saved = session->ids[kind].count;
}

int agent_session_add_id(struct agent_session *session, enum session_id_kind kind, uint32_t id)
{
	struct session_ids *ids = &session->ids[kind];

	if (ids->count == ids->room) {
		uint32_t room = ids->room ? 2 * ids->room : 64;
		uint32_t *bigger = realloc(ids->ids, room * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		ids->ids = bigger;
		ids->room = room;
	}
	ids->ids[ids->count++] = id;
	return 0;
}

int agent_session_hello(struct agent_session *session, struct collection *collection,
			const struct message_hello *hello)
{
	struct roster_host host;
	int error = catalog_add_string(collection->catalog, hello->boot_id.data,
				       hello->boot_id.size, &host.boot_id);

	if (!error)
		error = catalog_add_string(collection->catalog, hello->node.data, hello->node.size,
					   &host.node);
	if (!error)
		error = catalog_add_string(collection->catalog, hello->software.data,
					   hello->software.size, &session->software);
	if (!error)
		error = roster_add_host(collection->roster, &host, &session->host);
	session->changed = true;
	return error;
}

static bool is_text(const struct catalog *catalog, uint32_t id, const struct message_text *text)
{
	return id && catalog_find_string(catalog, text->data, text->size) == id;
}

bool agent_session_supersede(struct agent_session *session, const struct collection *collection,
			     const struct message_hello *hello)
{
	const struct roster_host *host =
		session->host ? roster_host(collection->roster, session->host) : NULL;

	if (session->ended || session->superseded)
		return session->superseded;
	if (!host || !is_text(collection->catalog, host->boot_id, &hello->boot_id) ||
	    !is_text(collection->catalog, host->node, &hello->node))
		return false;
	session->superseded = session->changed = true;
	return true;
}

int agent_session_check_base(const struct agent_session *session, enum session_id_kind kind,
			     uint32_t base, uint32_t count, const char **reason)
{
	if (count == 0)
		return 0;
	if (base != session->ids[kind].count + 1) {
		*reason = "ids do not follow those defined before";
		return REFUSE_UNDEFINED;
	}
	if (count > WIRE_ID_MAX - session->ids[kind].count) {
		*reason = "too many ids";
		return REFUSE_LIMIT;
	}
	return 0;
}

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

static int apply_devices(struct agent_session *session, struct roster *roster,
			 struct roster_process *process, const struct message_process *message)
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
		error = roster_add_device(roster, &device, &ordinals[i].device);
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

/* Folds what still waits and forgets what was not answered. */
static int finish_process(struct collection *collection, uint32_t id)
{
	struct roster_process *process = roster_process(collection->roster, id);

	process->changed = process->finished = true;
	timeline_table_close(collection->timelines, id);
	collective_log_end(collection->collectives, id);
	if (!process->correlator)
		return 0;
	int error = correlator_finish(process->correlator);
	if (!error)
		error = roster_process_count(process, LEDGER_ROWS_MERGED,
					     correlator_take_merged(process->correlator));
	if (error)
		return error;
	process->counts = *correlator_counts(process->correlator);
	correlator_destroy(process->correlator);
	process->correlator = NULL;
	return memory_account_finish(process->memory);
}

/* An agent knows of the process only that it is gone, and another one had told of it: what that one told stays. */
static int apply_end_unseen(struct collection *collection, struct roster_process *process,
			    uint32_t id)
{
	if (process->state == PROCESS_RUNNING)
		process->state = PROCESS_UNCLEAN;
	process->changed = true;
	return finish_process(collection, id);
}

static int apply_process(struct agent_session *session, struct collection *collection,
			 const struct message_process *message, const char **reason)
{
	struct roster_identity identity = {
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
	error = apply_devices(session, collection->roster, process, message);
	if (!error)
		error = apply_notices(session, process, message);
	if (!error && message->state != PROCESS_RUNNING)
		error = finish_process(collection, id);
	return error;
}

static int check_events(const struct agent_session *session, const struct message_events *events,
			const char **reason)
{
	*reason = "events name what is not defined";
	if (events->process_id == 0 ||
	    !agent_session_defined(session, SESSION_PROCESSES, events->process_id))
		return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < events->nr_launches; i++)
		if (!agent_session_defined(session, SESSION_NODES, events->launches[i].stack_id))
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < events->nr_gpu; i++) {
		if (!agent_session_defined(session, SESSION_STRINGS, events->gpu[i].name_id) ||
		    !agent_session_defined(session, SESSION_NODES, events->gpu[i].capture_stack_id))
			return REFUSE_UNDEFINED;
		if (events->gpu[i].kind >= RECORD_GPU_KINDS) {
			*reason = "a GPU record of a kind that does not exist";
			return REFUSE_MALFORMED;
		}
	}
	return 0;
}

/* A correlator is made when the first events come, also when they come after the end that was
 * announced. */
static int start_correlator(struct collection *collection, struct roster_process *process,
			    uint32_t id)
{
	if (process->correlator)
		return 0;
	int error = roster_process_correlate(process, id, collection->totals);
	return error ? error : correlator_load_end(process->correlator, &process->counts);
}

/* No work of a GPU. */
static bool is_memory(const struct gpu_record *record)
{
	return record->kind == RECORD_GPU_ALLOC || record->kind == RECORD_GPU_FREE;
}

/* What a process did on a device. A graph that is traced as a whole does not tell its kernels. */
static int add_to_process(struct collection *collection, uint32_t id,
			  const struct gpu_record *record)
{
	const struct timeline_key work = {
		.level = TIMELINE_WORK, .process_id = id, .device_id = record->device_id};
	int error =
		timeline_table_add(collection->timelines, &work, record->start_ns, record->end_ns);
	uint32_t size;

	if (error || record->kind != RECORD_GPU_KERNEL)
		return error;
	const char *name = catalog_string(collection->catalog, record->name_id, &size);
	return timeline_table_add_kernel(collection->timelines, id, record->device_id,
					 nccl_kernel_is(name, size), record->start_ns,
					 record->end_ns);
}

/* One stream beyond the limit, of a device that need not exist, is as good as another. */
static int add_to_stream(struct timeline_table *timelines, struct roster_process *process,
			 struct timeline_key *stream, const struct gpu_record *record)
{
	if (!timeline_table_find(timelines, stream)) {
		if (process->nr_timelines == AGENT_SESSION_STREAMS_MAX)
			stream->context_id = stream->stream_id = stream->device_id = UINT32_MAX;
		else
			process->nr_timelines++;
	}
	return timeline_table_add(timelines, stream, record->start_ns, record->end_ns);
}

/* Of GPU work alone: a host that waits keeps no GPU busy. */
static int add_to_timelines(struct collection *collection, struct roster_process *process,
			    uint32_t id, const struct message_events *events,
			    const struct gpu_record *record)
{
	struct timeline_table *timelines = collection->timelines;
	struct timeline_key stream = {
		.level = TIMELINE_STREAM,
		.process_id = id,
		.device_id = record->device_id,
		.context_id = record->context_id,
		.stream_id = record->stream_id,
	};
	uint32_t store_device = roster_process_device(process, record->device_id);
	struct timeline_key device = {.level = TIMELINE_DEVICE, .device_id = store_device};

	if (record->kind > RECORD_GPU_GRAPH || record->start_ns == 0 ||
	    record->end_ns < record->start_ns ||
	    record->end_ns - record->start_ns > CORRELATOR_DURATION_MAX_NS)
		return 0;
	if (!store_device)
		device = (struct timeline_key){.level = TIMELINE_ORDINAL,
					       .process_id = id,
					       .device_id = record->device_id};
	int error = add_to_stream(timelines, process, &stream, record);
	if (!error)
		error = add_to_process(collection, id, record);
	if (!error && store_device)
		error = session_samples_work(collection, id, store_device, events, record);
	return error ? error
		     : timeline_table_add(timelines, &device, record->start_ns, record->end_ns);
}

static int apply_events(struct agent_session *session, struct collection *collection,
			const struct message_events *events, const char **reason)
{
	int error = check_events(session, events, reason);
	if (error)
		return error;

	uint32_t id = agent_session_translate(session, SESSION_PROCESSES, events->process_id);
	struct roster_process *process = roster_process(collection->roster, id);
	const uint32_t left_out = session_strings_left_out(collection->catalog);
	uint64_t nr_left_out = 0;

	error = start_correlator(collection, process, id);
	process->spoke_ns = session->spoke_ns;
	process->changed = true;
	if (!error)
		correlator_set_clock(process->correlator, events->clock_offset_ns,
				     events->clock_valid);
	for (uint32_t i = 0; i < events->nr_launches && !error; i++) {
		struct launch_record launch = events->launches[i];

		launch.stack_id = agent_session_translate(session, SESSION_NODES, launch.stack_id);
		error = correlator_launch(process->correlator, &launch);
	}
	for (uint32_t i = 0; i < events->nr_gpu && !error; i++) {
		struct gpu_record record = events->gpu[i];

		record.name_id = agent_session_translate(session, SESSION_STRINGS, record.name_id);
		nr_left_out += left_out && record.name_id == left_out;
		record.capture_stack_id =
			agent_session_translate(session, SESSION_NODES, record.capture_stack_id);
		/* No process has so many: what is kept of each would have no bound. */
		if (record.device_id >= RECORD_DEVICES_MAX &&
		    !roster_process_device(process, record.device_id))
			record.device_id = LEDGER_DEVICE_NONE;
		error = correlator_record(process->correlator, &record);
		if (!error && !is_memory(&record))
			error = add_to_timelines(collection, process, id, events, &record);
		if (!error)
			error = session_collectives_record(collection, id, events, &record);
	}
	if (!error)
		error = roster_process_count(process, LEDGER_NAME_LIMIT, nr_left_out);
	return error ? error
		     : roster_process_count(process, LEDGER_ROWS_MERGED,
					    correlator_take_merged(process->correlator));
}

/* A copy without what cannot be: of that, one entry says how many were left out. What a ring held is the job's
 * word; a sum with rubbish in it would say nothing of the others. NULL: out of memory. */
static struct ledger_entry *believe(const struct message_ledger *message, uint32_t *nr_entries)
{
	struct ledger_entry *ledger = calloc(message->nr_entries + 1, sizeof(*ledger));
	struct ledger_entry untrusted = {.device_id = LEDGER_DEVICE_NONE,
					 .reason = LEDGER_UNTRUSTED_RING};

	*nr_entries = 0;
	for (uint32_t i = 0; i < message->nr_entries && ledger; i++) {
		const struct ledger_entry *entry = &message->entries[i];

		if (entry->count > LEDGER_COUNT_MAX || entry->ns > LEDGER_NS_MAX)
			untrusted.count = ledger_add_saturating(untrusted.count, 1);
		else if (entry->reason == untrusted.reason &&
			 entry->device_id == untrusted.device_id)
			untrusted.count = ledger_add_saturating(untrusted.count, entry->count);
		else
			ledger[(*nr_entries)++] = *entry;
	}
	if (ledger && untrusted.count)
		ledger[(*nr_entries)++] = untrusted;
	return ledger;
}

static int apply_ledger(struct agent_session *session, struct collection *collection,
			const struct message_ledger *message, const char **reason)
{
	uint32_t nr_entries;

	if (!agent_session_defined(session, SESSION_PROCESSES, message->process_id)) {
		*reason = "a ledger of a process that is not defined";
		return REFUSE_UNDEFINED;
	}
	struct ledger_entry *ledger = believe(message, &nr_entries);
	if (!ledger)
		return -ENOMEM;
	if (message->process_id) {
		uint32_t id =
			agent_session_translate(session, SESSION_PROCESSES, message->process_id);
		int error = roster_process_set_ledger(roster_process(collection->roster, id),
						      ledger, nr_entries);

		free(ledger);
		return error;
	}
	free(session->ledger);
	session->ledger = ledger;
	session->nr_ledger = nr_entries;
	session->ledger_changed = true;
	return 0;
}

static int apply_streams(struct agent_session *session, struct collection *collection,
			 const struct message_streams *message, const char **reason)
{
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
	/* None of a message is taken if not all of it can be. */
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

/* Processes that still run are left by their agent: nothing more will come from them. */
static int apply_bye(struct agent_session *session, struct collection *collection)
{
	const struct session_ids *processes = &session->ids[SESSION_PROCESSES];
	int error = 0;

	for (uint32_t i = 0; i < processes->count && !error; i++)
		error = finish_process(collection, processes->ids[i]);
	session->ended = true;
	return error;
}

int agent_session_apply(struct agent_session *session, struct collection *collection,
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
		error = apply_process(session, collection, &message->process, reason);
		break;
	case MESSAGE_EVENTS:
		error = apply_events(session, collection, &message->events, reason);
		break;
	case MESSAGE_LEDGER:
		error = apply_ledger(session, collection, &message->ledger, reason);
		break;
	case MESSAGE_BYE:
		error = apply_bye(session, collection);
		break;
	case MESSAGE_STATISTICS:
		error = session_statistics_apply(session, collection, &message->statistics, reason);
		break;
	case MESSAGE_STREAM:
		error = apply_streams(session, collection, &message->streams, reason);
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
