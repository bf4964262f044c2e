#include "session_modules.h"

#include <errno.h>

#include "catalog.h"
#include "collection.h"
#include "collective_log.h"
#include "exact_stack.h"
#include "idle_log.h"
#include "kept_log.h"
#include "raw_log.h"
#include "roster.h"

#include "aggregator/core/fold_limit.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/core/timeline_table.h"

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
		    !agent_session_defined(session, SESSION_STRINGS, sample->name_id) ||
		    !agent_session_defined(session, SESSION_STRINGS, sample->command_id))
			return REFUSE_UNDEFINED;
		if (sample->kind >= HOST_SAMPLE_KINDS) {
			*reason = "a sample of a kind that does not exist";
			return REFUSE_MALFORMED;
		}
	}
	return 0;
}

/* Of running kernels the sums are all that is kept: they belong to no host thread, and have no time of their own. Their
 * keys are limited as those of GPU work are: beyond that they lose their place, then kernel and reason. */
static int add_kernel(struct collection *collection, struct fold_key key, uint64_t count,
		      uint64_t *nr_merged)
{
	struct roster_process *process = roster_process(collection->roster, key.process_id);
	bool has_room;
	int error = fold_limit_take(&process->places, fold_table_hash(&key), &has_room);

	if (!error && !has_room) {
		++*nr_merged;
		key.stack_id = exact_stack_kernel(collection->catalog, key.stack_id);
		error = fold_limit_take(&process->kernels, fold_table_hash(&key), &has_room);
	}
	if (!error && !has_room) {
		const uint32_t device_id = key.tid;

		key = fold_limit_merged(&key);
		key.tid = device_id < RECORD_DEVICES_MAX ? device_id : LEDGER_DEVICE_NONE;
	}
	return error ? error : fold_table_add(collection->samples, &key, count, 0, 0);
}

static int add_host(struct collection *collection, const struct fold_key *key,
		    const struct host_sample *translated, int64_t realtime_offset_ns)
{
	int error = fold_table_add(collection->samples, key, 1, translated->duration_ns, 0);

	if (!error)
		error = kept_log_sample(collection->kept, key->process_id, translated,
					realtime_offset_ns);
	return error ? error : raw_log_add(collection->raw, key->process_id, translated);
}

int session_samples_apply(struct agent_session *session, struct collection *collection,
			  const struct message *any, const char **reason)
{
	const struct message_samples *message = &any->samples;
	int error = check(session, message, reason);
	if (error)
		return error;

	uint32_t id = agent_session_translate(session, SESSION_PROCESSES, message->process_id);
	uint32_t host = roster_process(collection->roster, id)->identity.host;
	uint64_t nr_merged = 0;
	error = raw_log_clock(collection->raw, host, message->realtime_offset_ns);
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

		struct host_sample translated = *sample;

		translated.stack_id = key.stack_id;
		translated.name_id = key.name_id;
		translated.command_id =
			agent_session_translate(session, SESSION_STRINGS, sample->command_id);
		error = sample->kind >= HOST_SAMPLE_KERNEL
				? add_kernel(collection, key, sample->duration_ns, &nr_merged)
				: add_host(collection, &key, &translated,
					   raw_log_offset(collection->raw, host));
	}
	return error ? error
		     : roster_process_count(roster_process(collection->roster, id),
					    LEDGER_ROWS_MERGED, nr_merged);
}

/* *last_ns is the end of the device's last work; 0: it has not worked yet. */
static int last_end(struct collection *collection, uint32_t device, uint64_t *last_ns)
{
	const struct timeline_key key = {
		.level = TIMELINE_DEVICE, .process_id = ROSTER_WRITER, .device_id = device};
	const struct timeline_entry *entry = timeline_table_get(collection->timelines, &key);
	struct timeline_sums sums;

	if (!entry)
		return -ENOMEM;
	stream_timeline_sums(entry->timeline, &sums);
	*last_ns = sums.last_ns;
	return 0;
}

int session_samples_work(struct collection *collection, uint32_t process, uint32_t device,
			 const struct message_events *events, const struct gpu_record *record)
{
	const struct correlator *correlator =
		roster_process(collection->roster, process)->correlator;
	struct idle_work work = {
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.process_id = process,
	};
	uint64_t last_ns = 0;
	int error = 0;

	if (!idle_log_has_begun(collection->idle, device) &&
	    !kept_log_has_samples(collection->kept, process))
		return 0;
	if (events->clock_valid) {
		work.clock_offset_ns = (uint64_t)events->clock_offset_ns;
		uint32_t stack_id;

		correlator_launched(correlator, record, &work.tid, &stack_id);
	}
	if (!idle_log_has_begun(collection->idle, device))
		error = last_end(collection, device, &last_ns);
	return error ? error : idle_log_work(collection->idle, device, &work, last_ns);
}

int session_samples_kernel(struct collection *collection, uint32_t process,
			   const struct gpu_record *record)
{
	const struct roster_process *of = roster_process(collection->roster, process);
	const enum kept_sort sorts[] = {
		collective_log_defined(collection->collectives, process) ? KEPT_GPU : KEPT_LONE,
		KEPT_NEWEST,
	};
	uint32_t tid, stack_id;
	int error = 0;

	for (int i = 0; i < 2 && !error; i++) {
		if (!kept_log_wants(collection->kept, sorts[i], process, of->world_size,
				    record->start_ns))
			continue;
		correlator_launched(of->correlator, record, &tid, &stack_id);
		error = kept_log_work(collection->kept, sorts[i], process, of->world_size, record,
				      tid, stack_id);
	}
	return error;
}
