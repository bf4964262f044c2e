#include "session_modules.h"

#include <stdbool.h>

#include "catalog.h"
#include "collection.h"
#include "nccl_kernel.h"
#include "roster.h"

#include "aggregator/core/correlator.h"
#include "aggregator/core/timeline_pauses.h"
#include "timeline/log/event_packer.h"

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

/* The first events make the correlator, even if they come after the process's end. */
static int start_correlator(struct collection *collection, struct roster_process *process,
			    uint32_t id)
{
	if (process->correlator)
		return 0;
	int error = roster_process_correlate(process, id, collection->totals);
	return error ? error : correlator_load_end(process->correlator, &process->counts);
}

/* Memory records are no work of a GPU. */
static bool is_memory(const struct gpu_record *record)
{
	return record->kind == RECORD_GPU_ALLOC || record->kind == RECORD_GPU_FREE;
}

static bool is_of_nccl(const struct catalog *catalog, const struct gpu_record *record)
{
	uint32_t size;
	const char *name = catalog_string(catalog, record->name_id, &size);

	return record->kind == RECORD_GPU_KERNEL && nccl_kernel_is(name, size);
}

/* Adds a record to the process's sums. The kernels of a graph that is traced as a whole are not known. */
static int add_to_process(struct collection *collection, uint32_t id,
			  const struct gpu_record *record, bool is_nccl)
{
	const struct timeline_key work = {
		.level = TIMELINE_WORK, .process_id = id, .device_id = record->device_id};
	int error = timeline_pauses_work(collection->timelines, &work, record->start_ns,
					 record->end_ns);

	if (error || record->kind != RECORD_GPU_KERNEL)
		return error;
	return timeline_table_add_kernel(collection->timelines, id, record->device_id, is_nccl,
					 record->start_ns, record->end_ns);
}

/* All streams beyond the limit share one timeline, of a device that need not exist. */
static int add_to_stream(struct timeline_table *timelines, struct roster_process *process,
			 struct timeline_key *stream, const struct gpu_record *record)
{
	if (timeline_table_find(timelines, stream))
		return timeline_pauses_work(timelines, stream, record->start_ns, record->end_ns);
	if (process->nr_timelines == SESSION_EVENTS_STREAMS_MAX)
		stream->context_id = stream->stream_id = stream->device_id = UINT32_MAX;
	else
		process->nr_timelines++;
	return timeline_pauses_work(timelines, stream, record->start_ns, record->end_ns);
}

/* Only GPU work counts: a waiting host keeps no GPU busy. */
static bool is_busy(const struct gpu_record *record)
{
	return record->kind <= RECORD_GPU_GRAPH && record->start_ns != 0 &&
	       record->end_ns >= record->start_ns &&
	       record->end_ns - record->start_ns <= CORRELATOR_DURATION_MAX_NS;
}

int session_events_busy(struct collection *collection, struct roster_process *process, uint32_t id,
			const struct gpu_record *record, bool is_nccl)
{
	struct timeline_table *timelines = collection->timelines;
	struct timeline_key stream = {
		.level = TIMELINE_STREAM,
		.process_id = id,
		.device_id = record->device_id,
		.context_id = record->context_id,
		.stream_id = record->stream_id,
	};
	const uint32_t store_device = roster_process_device(process, record->device_id);
	struct timeline_key device = {
		.level = TIMELINE_DEVICE, .process_id = ROSTER_WRITER, .device_id = store_device};

	if (!is_busy(record))
		return 0;
	if (!store_device)
		device = (struct timeline_key){.level = TIMELINE_ORDINAL,
					       .process_id = id,
					       .device_id = record->device_id};
	int error = add_to_stream(timelines, process, &stream, record);
	if (!error)
		error = add_to_process(collection, id, record, is_nccl);
	return error ? error
		     : timeline_pauses_work(timelines, &device, record->start_ns, record->end_ns);
}

static int add_to_timelines(struct collection *collection, struct roster_process *process,
			    uint32_t id, const struct message_events *events,
			    const struct gpu_record *record, bool is_nccl)
{
	const uint32_t store_device = roster_process_device(process, record->device_id);
	int error = 0;

	if (!is_busy(record))
		return 0;
	if (store_device)
		error = session_samples_work(collection, id, store_device, events, record);
	if (!error)
		error = session_samples_kernel(collection, id, record);
	return error ? error : session_events_busy(collection, process, id, record, is_nccl);
}

static bool is_mark(const struct launch_record *launch, enum record_mark mark)
{
	return launch->flags & RECORD_LAUNCH_MARK && launch->cbid == mark;
}

/* A mark of a window's end, and that of the next window, come together. Without clocks nobody knows when GPUs were in
 * between. */
static int apply_pause(struct collection *collection, const struct roster_process *process,
		       uint32_t id, const struct message_events *events, uint32_t at)
{
	const struct launch_record *end = &events->launches[at];
	const uint64_t offset_ns = (uint64_t)events->clock_offset_ns;

	if (!is_mark(end, RECORD_MARK_WINDOW_END) || at + 1 == events->nr_launches ||
	    !is_mark(end + 1, RECORD_MARK_WINDOW) || !events->clock_valid)
		return 0;
	const uint64_t from_ns = end->time_ns - offset_ns, to_ns = end[1].time_ns - offset_ns;
	struct timeline_key key = {.level = TIMELINE_PAUSES, .process_id = id};
	if (from_ns >= to_ns)
		return 0;
	int error = timeline_pauses_add(collection->timelines, &key, from_ns, to_ns);

	key = (struct timeline_key){.level = TIMELINE_DEVICE_PAUSES, .process_id = ROSTER_WRITER};
	for (uint32_t i = 0; i < process->nr_devices && !error; i++) {
		key.device_id = process->devices[i].device;
		error = timeline_pauses_add(collection->timelines, &key, from_ns, to_ns);
	}
	return error;
}

static int apply_launches(const struct agent_session *session, struct collection *collection,
			  uint32_t id, const struct message_events *events)
{
	const struct roster_process *process = roster_process(collection->roster, id);
	struct correlator *const correlator = process->correlator;
	int error = 0;

	for (uint32_t i = 0; i < events->nr_launches && i < CORRELATOR_PREFETCH_MAX; i++)
		correlator_prefetch_launch(correlator, &events->launches[i]);
	for (uint32_t i = 0; i < events->nr_launches && !error; i++) {
		struct launch_record launch = events->launches[i];

		if (i + CORRELATOR_PREFETCH_MAX < events->nr_launches)
			correlator_prefetch_launch(correlator,
						   &events->launches[i + CORRELATOR_PREFETCH_MAX]);
		launch.stack_id = agent_session_translate(session, SESSION_NODES, launch.stack_id);
		if (!(launch.flags & RECORD_LAUNCH_MARK))
			error = correlator_launch(correlator, &launch);
		else
			error = apply_pause(collection, process, id, events, i);
		if (collection->events)
			event_packer_launch(collection->events, &launch);
	}
	return error;
}

/* The store's ids instead of the agent's. */
static struct gpu_record translate(const struct agent_session *session,
				   const struct roster_process *process,
				   const struct gpu_record *from)
{
	struct gpu_record record = *from;

	record.name_id = agent_session_translate(session, SESSION_STRINGS, record.name_id);
	record.capture_stack_id =
		agent_session_translate(session, SESSION_NODES, record.capture_stack_id);
	/* No process has so many devices, and each of them takes memory. */
	if (record.device_id >= RECORD_DEVICES_MAX &&
	    !roster_process_device(process, record.device_id))
		record.device_id = LEDGER_DEVICE_NONE;
	return record;
}

static int apply_record(struct collection *collection, struct roster_process *process, uint32_t id,
			const struct message_events *events, const struct gpu_record *record)
{
	const bool is_nccl = is_of_nccl(collection->catalog, record);
	int error = correlator_record(process->correlator, record);

	if (!error && !is_memory(record))
		error = add_to_timelines(collection, process, id, events, record, is_nccl);
	return error ? error : session_collectives_record(collection, id, events, record, is_nccl);
}

static int apply_records(const struct agent_session *session, struct collection *collection,
			 struct roster_process *process, uint32_t id,
			 const struct message_events *events)
{
	struct gpu_record records[CORRELATOR_PREFETCH_MAX];
	int error = 0;

	for (uint32_t at = 0, count; at < events->nr_gpu && !error; at += count) {
		for (count = 0; count < CORRELATOR_PREFETCH_MAX && at + count < events->nr_gpu;
		     count++)
			records[count] = translate(session, process, &events->gpu[at + count]);
		correlator_prefetch(process->correlator, records, count);
		for (uint32_t i = 0; collection->events && i < count; i++)
			event_packer_record(collection->events, &records[i]);
		for (uint32_t i = 0; i < count && !error; i++)
			error = apply_record(collection, process, id, events, &records[i]);
	}
	return error;
}

/* Records whose names are left out. */
static uint64_t count_left_out(const struct agent_session *session,
			       const struct collection *collection,
			       const struct message_events *events)
{
	const uint32_t left_out = session_strings_left_out(collection->catalog);
	uint64_t count = 0;

	for (uint32_t i = 0; left_out && i < events->nr_gpu; i++)
		count += agent_session_translate(session, SESSION_STRINGS,
						 events->gpu[i].name_id) == left_out;
	return count;
}

int session_events_apply(struct agent_session *session, struct collection *collection,
			 const struct message *any, const char **reason)
{
	const struct message_events *events = &any->events;
	int error = check_events(session, events, reason);
	if (error)
		return error;

	uint32_t id = agent_session_translate(session, SESSION_PROCESSES, events->process_id);
	struct roster_process *process = roster_process(collection->roster, id);
	uint64_t nr_left_out = count_left_out(session, collection, events);

	error = start_correlator(collection, process, id);
	if (events->nr_gpu)
		timeline_table_expect(collection->timelines, id);
	process->spoke_ns = session->spoke_ns;
	process->changed = true;
	if (collection->events)
		event_packer_begin(collection->events, id, events->clock_offset_ns,
				   events->clock_valid);
	if (!error) {
		correlator_set_clock(process->correlator, events->clock_offset_ns,
				     events->clock_valid);
		error = apply_launches(session, collection, id, events);
	}
	if (!error)
		error = apply_records(session, collection, process, id, events);
	if (!error)
		error = roster_process_count(process, LEDGER_NAME_LIMIT, nr_left_out);
	return error ? error : roster_process_count_correlated(process);
}
