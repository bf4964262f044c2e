#include "message_equal.h"

#include <string.h>

static bool list_equal(const void *left, const void *right, uint32_t nr_left, uint32_t nr_right,
		       size_t size)
{
	return nr_left == nr_right && (nr_left == 0 || memcmp(left, right, nr_left * size) == 0);
}

static bool text_equal(const struct message_text *left, const struct message_text *right)
{
	return list_equal(left->data, right->data, left->size, right->size, 1);
}

/* Of no job the numbers are nothing. */
static bool job_equal(const struct message_job *left, const struct message_job *right)
{
	if (left->key.size == 0)
		return right->key.size == 0;
	return text_equal(&left->key, &right->key) && text_equal(&left->user, &right->user) &&
	       text_equal(&left->title, &right->title) && left->nr_nodes == right->nr_nodes &&
	       left->world_size == right->world_size && left->flags == right->flags;
}

static bool hello_equal(const struct message_hello *left, const struct message_hello *right)
{
	return left->version_min == right->version_min && left->version_max == right->version_max &&
	       memcmp(left->epoch, right->epoch, sizeof(left->epoch)) == 0 &&
	       text_equal(&left->software, &right->software) &&
	       text_equal(&left->node, &right->node) &&
	       text_equal(&left->boot_id, &right->boot_id) && job_equal(&left->job, &right->job) &&
	       left->asks == right->asks && left->folds == right->folds &&
	       left->offers == right->offers;
}

static bool strings_equal(const struct message_strings *left, const struct message_strings *right)
{
	if (left->seq != right->seq || left->base != right->base || left->count != right->count)
		return false;
	for (uint32_t i = 0; i < left->count; i++)
		if (!text_equal(&left->strings[i], &right->strings[i]) ||
		    (left->owners ? left->owners[i] : 0) != (right->owners ? right->owners[i] : 0))
			return false;
	return true;
}

static bool stacks_equal(const struct message_stacks *left, const struct message_stacks *right)
{
	for (uint32_t i = 0; i < left->nr_frames && i < right->nr_frames; i++)
		if (left->frames[i].module != right->frames[i].module ||
		    left->frames[i].code != right->frames[i].code ||
		    left->frames[i].offset != right->frames[i].offset)
			return false;
	return left->seq == right->seq && left->module_base == right->module_base &&
	       left->frame_base == right->frame_base && left->node_base == right->node_base &&
	       left->nr_frames == right->nr_frames && left->code_base == right->code_base &&
	       list_equal(left->codes, right->codes, left->nr_codes, right->nr_codes,
			  sizeof(*left->codes)) &&
	       list_equal(left->modules, right->modules, left->nr_modules, right->nr_modules,
			  sizeof(*left->modules)) &&
	       list_equal(left->nodes, right->nodes, left->nr_nodes, right->nr_nodes,
			  sizeof(*left->nodes)) &&
	       list_equal(left->symbols, right->symbols, left->nr_symbols, right->nr_symbols,
			  sizeof(*left->symbols));
}

static bool process_equal(const struct message_process *left, const struct message_process *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       left->pid == right->pid && left->start_ticks == right->start_ticks &&
	       left->pid_namespace == right->pid_namespace &&
	       memcmp(left->instance, right->instance, sizeof(left->instance)) == 0 &&
	       left->state == right->state && left->rank == right->rank &&
	       left->local_rank == right->local_rank && left->world_size == right->world_size &&
	       left->job == right->job && left->command == right->command &&
	       list_equal(left->devices, right->devices, left->nr_devices, right->nr_devices,
			  sizeof(*left->devices)) &&
	       list_equal(left->notices, right->notices, left->nr_notices, right->nr_notices,
			  sizeof(*left->notices));
}

static bool events_equal(const struct message_events *left, const struct message_events *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       left->clock_offset_ns == right->clock_offset_ns &&
	       left->clock_valid == right->clock_valid &&
	       list_equal(left->launches, right->launches, left->nr_launches, right->nr_launches,
			  sizeof(*left->launches)) &&
	       list_equal(left->gpu, right->gpu, left->nr_gpu, right->nr_gpu, sizeof(*left->gpu));
}

static bool ledger_equal(const struct message_ledger *left, const struct message_ledger *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       list_equal(left->entries, right->entries, left->nr_entries, right->nr_entries,
			  sizeof(*left->entries));
}

static bool statistics_equal(const struct message_statistics *left,
			     const struct message_statistics *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       list_equal(left->calls, right->calls, left->nr_calls, right->nr_calls,
			  sizeof(*left->calls)) &&
	       list_equal(left->configs, right->configs, left->nr_configs, right->nr_configs,
			  sizeof(*left->configs)) &&
	       list_equal(left->metrics, right->metrics, left->nr_metrics, right->nr_metrics,
			  sizeof(*left->metrics));
}

static bool welcome_equal(const struct message_welcome *left, const struct message_welcome *right)
{
	return left->version == right->version && left->window_frames == right->window_frames &&
	       left->window_bytes == right->window_bytes &&
	       left->durable_seq == right->durable_seq &&
	       text_equal(&left->profile, &right->profile) && left->folds == right->folds;
}

static bool collectives_equal(const struct message_collectives *left,
			      const struct message_collectives *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       list_equal(left->communicators, right->communicators, left->nr_communicators,
			  right->nr_communicators, sizeof(*left->communicators)) &&
	       list_equal(left->collectives, right->collectives, left->nr_collectives,
			  right->nr_collectives, sizeof(*left->collectives));
}

static bool clock_equal(const struct message_clock *left, const struct message_clock *right)
{
	return left->kind == right->kind && left->t1_ns == right->t1_ns &&
	       left->t2_ns == right->t2_ns && left->t3_ns == right->t3_ns &&
	       left->realtime_offset_ns == right->realtime_offset_ns &&
	       left->offset_ns == right->offset_ns && left->bound_ns == right->bound_ns &&
	       left->round_trip_ns == right->round_trip_ns;
}

static bool control_equal(const struct message_control *left, const struct message_control *right)
{
	bool equal = left->kind == right->kind && left->token == right->token &&
		     left->action == right->action && left->relative == right->relative &&
		     left->from_ns == right->from_ns && left->until_ns == right->until_ns &&
		     left->state == right->state && left->nr_processes == right->nr_processes &&
		     left->bound_ns == right->bound_ns && left->nr_agents == right->nr_agents &&
		     text_equal(&left->job_key, &right->job_key) &&
		     text_equal(&left->job_user, &right->job_user);

	for (uint32_t i = 0; equal && i < left->nr_agents; i++)
		equal = text_equal(&left->agents[i].node, &right->agents[i].node) &&
			left->agents[i].state == right->agents[i].state &&
			left->agents[i].nr_processes == right->agents[i].nr_processes &&
			left->agents[i].bound_ns == right->agents[i].bound_ns;
	return equal;
}

static bool fetch_job_equal(const struct message_fetch_job *left,
			    const struct message_fetch_job *right)
{
	return text_equal(&left->name, &right->name) && text_equal(&left->key, &right->key) &&
	       left->state == right->state && left->size_bytes == right->size_bytes &&
	       left->written_ns == right->written_ns;
}

static bool fetch_equal(const struct message_fetch *left, const struct message_fetch *right)
{
	bool equal = left->kind == right->kind && left->token == right->token &&
		     text_equal(&left->user, &right->user) &&
		     text_equal(&left->name, &right->name) && left->file == right->file &&
		     left->offset == right->offset && left->total_bytes == right->total_bytes &&
		     memcmp(left->identity, right->identity, sizeof(left->identity)) == 0 &&
		     list_equal(left->bytes, right->bytes, left->nr_bytes, right->nr_bytes, 1) &&
		     left->nr_jobs == right->nr_jobs;

	for (uint32_t i = 0; equal && i < left->nr_jobs; i++)
		equal = fetch_job_equal(&left->jobs[i], &right->jobs[i]);
	return equal;
}

static bool pages_equal(const struct message_pages *left, const struct message_pages *right)
{
	return left->seq == right->seq && left->round == right->round &&
	       memcmp(left->writer, right->writer, sizeof(left->writer)) == 0 &&
	       list_equal(left->parts, right->parts, left->nr_parts, right->nr_parts,
			  sizeof(*left->parts)) &&
	       list_equal(left->bytes, right->bytes, left->nr_bytes, right->nr_bytes, 1) &&
	       list_equal(left->tables, right->tables, left->nr_tables, right->nr_tables,
			  sizeof(*left->tables));
}

static bool placement_equal(const struct message_placement *left,
			    const struct message_placement *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       list_equal(left->devices, right->devices, left->nr_devices, right->nr_devices,
			  sizeof(*left->devices)) &&
	       list_equal(left->threads, right->threads, left->nr_threads, right->nr_threads,
			  sizeof(*left->threads)) &&
	       list_equal(left->links, right->links, left->nr_links, right->nr_links,
			  sizeof(*left->links)) &&
	       list_equal(left->telemetry, right->telemetry, left->nr_telemetry,
			  right->nr_telemetry, sizeof(*left->telemetry)) &&
	       list_equal(left->counter_states, right->counter_states, left->nr_counter_states,
			  right->nr_counter_states, sizeof(*left->counter_states)) &&
	       list_equal(left->counters, right->counters, left->nr_counters, right->nr_counters,
			  sizeof(*left->counters));
}

bool message_equal(const struct message *left, const struct message *right)
{
	if (left->type != right->type)
		return false;
	switch (left->type) {
	case MESSAGE_HELLO:
		return hello_equal(&left->hello, &right->hello);
	case MESSAGE_WELCOME:
		return welcome_equal(&left->welcome, &right->welcome);
	case MESSAGE_REFUSE:
		return left->refuse.code == right->refuse.code &&
		       text_equal(&left->refuse.reason, &right->refuse.reason);
	case MESSAGE_STRINGS:
		return strings_equal(&left->strings, &right->strings);
	case MESSAGE_STACKS:
		return stacks_equal(&left->stacks, &right->stacks);
	case MESSAGE_PROCESS:
		return process_equal(&left->process, &right->process);
	case MESSAGE_EVENTS:
		return events_equal(&left->events, &right->events);
	case MESSAGE_LEDGER:
		return ledger_equal(&left->ledger, &right->ledger);
	case MESSAGE_STATISTICS:
		return statistics_equal(&left->statistics, &right->statistics);
	case MESSAGE_ACK:
		return left->ack.seq == right->ack.seq &&
		       left->ack.window_frames == right->ack.window_frames &&
		       left->ack.window_bytes == right->ack.window_bytes &&
		       left->ack.round_ms == right->ack.round_ms;
	case MESSAGE_PING:
	case MESSAGE_PONG:
		return left->ping.token == right->ping.token &&
		       left->ping.ended_ms == right->ping.ended_ms;
	case MESSAGE_BYE:
		return left->bye.seq == right->bye.seq;
	case MESSAGE_STREAM:
		return left->streams.seq == right->streams.seq &&
		       left->streams.process_id == right->streams.process_id &&
		       list_equal(left->streams.streams, right->streams.streams,
				  left->streams.nr_streams, right->streams.nr_streams,
				  sizeof(*left->streams.streams)) &&
		       list_equal(left->streams.contexts, right->streams.contexts,
				  left->streams.nr_contexts, right->streams.nr_contexts,
				  sizeof(*left->streams.contexts));
	case MESSAGE_SAMPLES:
		return left->samples.seq == right->samples.seq &&
		       left->samples.process_id == right->samples.process_id &&
		       left->samples.realtime_offset_ns == right->samples.realtime_offset_ns &&
		       list_equal(left->samples.samples, right->samples.samples,
				  left->samples.nr_samples, right->samples.nr_samples,
				  sizeof(*left->samples.samples));
	case MESSAGE_COLLECTIVES:
		return collectives_equal(&left->collectives, &right->collectives);
	case MESSAGE_PLACEMENT:
		return placement_equal(&left->placement, &right->placement);
	case MESSAGE_PAGES:
		return pages_equal(&left->pages, &right->pages);
	case MESSAGE_CONTROL:
		return control_equal(&left->control, &right->control);
	case MESSAGE_FETCH:
		return fetch_equal(&left->fetch, &right->fetch);
	case MESSAGE_PROOF:
		return text_equal(&left->proof.text, &right->proof.text);
	case MESSAGE_CLOCK:
		return clock_equal(&left->clock, &right->clock);
	}
	return false;
}
