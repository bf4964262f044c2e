#include "conformance_log.h"
#include "conformance_record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance_cuda.h"
#include "conformance_green.h"
#include "conformance_timeline.h"

#define CALLS_MAX    (1u << 18)
#define RECORDS_MAX  (1u << 17)
#define GRAPHS_MAX   4096u
#define BUFFER_BYTES (256u << 10)

void *conformance_subscriber;

static struct call_entry calls[CALLS_MAX];
static struct record_entry records[RECORDS_MAX];
static struct graph_entry graphs[GRAPHS_MAX];
static _Atomic uint32_t nr_calls, nr_records, nr_graphs, nr_threads;
static _Atomic uint32_t init_finished, contexts_created;
static _Atomic uint32_t requested, completed, requested_while_launching, completed_by_flusher,
	kernel_record_bytes;
static _Atomic int finalize_wanted, finalize_result = -1;

static __thread struct {
	uint32_t number;
	int depth;
	int flushing;
	uint32_t call_cbid, call_correlation_id; /* of the last driver call entered */
} thread;

static void finalize(void)
{
	/* In this order nothing in flight is lost. */
	cuptiEnableDomain(0, conformance_subscriber, DOMAIN_DRIVER);
	cuptiActivityDisable(KIND_KERNEL);
	thread.flushing = 1;
	cuptiActivityFlushAll(1);
	thread.flushing = 0;
	finalize_result = cuptiFinalize();
}

static void keep_graph(uint32_t cbid, const struct graph_data *data)
{
	uint32_t i = nr_graphs++;

	if (i >= GRAPHS_MAX || !data)
		return;
	struct graph_entry *entry = &graphs[i];
	*entry = (struct graph_entry){.cbid = cbid,
				      .node_type = data->node ? data->node_type : 0,
				      .graph = data->graph,
				      .node = data->node,
				      .exec = data->exec,
				      .call_cbid = thread.call_cbid,
				      .call_correlation_id = thread.call_correlation_id};
	if (data->node)
		cuptiGetGraphNodeId(data->node, &entry->node_id);
	if (cbid == RESOURCE_NODE_CLONED || cbid >= RESOURCE_NODE_UPDATED) {
		if (data->original_node)
			cuptiGetGraphNodeId(data->original_node, &entry->original_id);
	}
	if (cbid <= RESOURCE_GRAPH_CLONED && data->graph)
		cuptiGetGraphId(data->graph, &entry->graph_id);
	if ((cbid == RESOURCE_EXEC_CREATED || cbid == RESOURCE_EXEC_DESTROYED) && data->exec)
		cuptiGetGraphExecId(data->exec, &entry->exec_id);
}

static void on_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *argument)
{
	const struct callback_data *data = argument;

	(void)userdata;
	if (domain == DOMAIN_RESOURCE) {
		init_finished += cbid == RESOURCE_INIT_FINISHED;
		contexts_created += cbid == RESOURCE_CONTEXT_CREATED;
		if (cbid == RESOURCE_CONTEXT_CREATED)
			conformance_timeline_context(
				((const struct resource_data *)argument)->context);
		if (cbid >= RESOURCE_GRAPH_CREATED)
			keep_graph(cbid, ((const struct resource_data *)argument)->descriptor);
		return;
	}
	if (thread.number == 0)
		thread.number = ++nr_threads;
	thread.depth += data->site == SITE_ENTER ? 1 : -1;
	thread.call_cbid = data->site == SITE_ENTER ? cbid : 0;
	thread.call_correlation_id = data->site == SITE_ENTER ? data->correlation_id : 0;
	uint32_t i = nr_calls++;
	if (i >= CALLS_MAX)
		return;
	struct call_entry *entry = &calls[i];
	*entry = (struct call_entry){.thread = thread.number,
				     .domain = domain,
				     .cbid = cbid,
				     .site = data->site,
				     .result = data->site == SITE_EXIT ? *data->return_value : 0,
				     .correlation_id = data->correlation_id,
				     .context_id = data->context_id};
	if (cbid == CBID_LAUNCH_KERNEL && domain == DOMAIN_DRIVER && data->symbol)
		snprintf(entry->symbol, sizeof(entry->symbol), "%s", data->symbol);
	if (cbid == CBID_MODULE_LOAD_DATA && domain == DOMAIN_DRIVER && data->function_name)
		snprintf(entry->symbol, sizeof(entry->symbol), "%s", data->function_name);
	if (domain == DOMAIN_DRIVER && cbid == CBID_CONTEXT_SYNCHRONIZE &&
	    data->site == SITE_EXIT && atomic_exchange(&finalize_wanted, 0))
		finalize();
}

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
	requested++;
	requested_while_launching += thread.depth > 0;
}

/* The offsets are the same in every version of these records since CUDA 11.6. */
static void keep(const uint8_t *record)
{
	uint32_t i = nr_records++;

	if (i >= RECORDS_MAX)
		return;
	struct record_entry *entry = &records[i];
	*entry = (struct record_entry){.kind = u32_at(record, 0),
				       .start_ns = u64_at(record, 16),
				       .end_ns = u64_at(record, 24)};
	if (entry->kind == KIND_KERNEL) {
		const char *name;

		entry->device_id = u32_at(record, 40);
		entry->context_id = u32_at(record, 44);
		entry->stream_id = u32_at(record, 48);
		entry->correlation_id = u32_at(record, 92);
		entry->graph_node_id = u64_at(record, 144);
		entry->graph_id = u32_at(record, 156);
		entry->registers = u32_at(record, 4) >> 16;
		memcpy(entry->grid, record + 52, sizeof(entry->grid));
		memcpy(entry->block, record + 64, sizeof(entry->block));
		entry->static_bytes = u32_at(record, 76);
		entry->dynamic_bytes = u32_at(record, 80);
		entry->local_bytes = u32_at(record, 84);
		memcpy(&name, record + 104, sizeof(name));
		snprintf(entry->name, sizeof(entry->name), "%s", name ? name : "(null)");
		return;
	}
	if (entry->kind == KIND_GRAPH) {
		entry->correlation_id = u32_at(record, 4);
		entry->start_ns = u64_at(record, 8);
		entry->end_ns = u64_at(record, 16);
		entry->device_id = u32_at(record, 24);
		entry->graph_id = u32_at(record, 28);
		entry->context_id = u32_at(record, 32);
		entry->stream_id = u32_at(record, 36);
		return;
	}
	if (entry->kind == KIND_ALLOCATION) {
		entry->operation = u32_at(record, 4);
		entry->copy_kind = u32_at(record, 8);
		entry->correlation_id = u32_at(record, 12);
		entry->address = u64_at(record, 16);
		entry->bytes = u64_at(record, 24);
		entry->start_ns = entry->end_ns = u64_at(record, 32);
		entry->device_id = u32_at(record, 52);
		entry->context_id = u32_at(record, 56);
		entry->stream_id = u32_at(record, 60);
		entry->in_stream_order = u32_at(record, 72);
		return;
	}
	entry->copy_kind = entry->kind == KIND_MEMCPY ? record[4] : 0;
	entry->bytes = u64_at(record, 8);
	entry->device_id = u32_at(record, 32);
	entry->context_id = u32_at(record, 36);
	entry->stream_id = u32_at(record, 40);
	entry->correlation_id = u32_at(record, 44);
	entry->graph_node_id = u64_at(record, 64);
	entry->graph_id = u32_at(record, 72);
}

static void on_complete(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
			size_t valid)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const uint8_t *previous = NULL;
	void *record = NULL;

	(void)context;
	(void)stream_id;
	(void)size;
	completed++;
	completed_by_flusher += thread.flushing != 0;
	pthread_mutex_lock(&lock);
	while (valid && cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
		uint32_t kind = u32_at(record, 0);

		if (previous && u32_at(previous, 0) == KIND_KERNEL)
			kernel_record_bytes = (uint32_t)((const uint8_t *)record - previous);
		previous = record;
		if (conformance_timeline_keep(record, kind) || conformance_green_keep(record, kind))
			continue;
		if (kind == KIND_KERNEL || kind == KIND_MEMCPY || kind == KIND_MEMSET ||
		    kind == KIND_GRAPH || kind == KIND_ALLOCATION)
			keep(record);
	}
	pthread_mutex_unlock(&lock);
	free(buffer);
}

int conformance_log_subscribe(void)
{
	int result = cuptiSubscribe(&conformance_subscriber, on_callback, NULL);

	if (result == 0)
		result = cuptiEnableDomain(1, conformance_subscriber, DOMAIN_DRIVER);
	if (result == 0)
		result = cuptiEnableDomain(1, conformance_subscriber, DOMAIN_RESOURCE);
	return result;
}

int conformance_log_enable_activity(void)
{
	static const uint32_t kinds[] = {KIND_KERNEL, KIND_MEMCPY, KIND_MEMSET};
	int result = cuptiActivityRegisterCallbacks(on_request, on_complete);

	for (size_t i = 0; result == 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		result = cuptiActivityEnable(kinds[i]);
	return result;
}

int conformance_log_flush(void)
{
	thread.flushing = 1;
	int result = cuptiActivityFlushAll(1);
	thread.flushing = 0;
	return result;
}

void conformance_log_finalize_at_exit(void)
{
	finalize_wanted = 1;
}

int conformance_log_finalize_result(void)
{
	return finalize_result;
}

static uint32_t at_most(uint32_t count, uint32_t limit)
{
	return count < limit ? count : limit;
}

struct conformance_log conformance_log_read(void)
{
	return (struct conformance_log){
		.nr_calls = at_most(nr_calls, CALLS_MAX),
		.nr_records = at_most(nr_records, RECORDS_MAX),
		.nr_graphs = at_most(nr_graphs, GRAPHS_MAX),
		.calls = calls,
		.graphs = graphs,
		.records = records,
		.init_finished = init_finished,
		.contexts_created = contexts_created,
		.requested = requested,
		.completed = completed,
		.requested_while_launching = requested_while_launching,
		.completed_by_flusher = completed_by_flusher,
		.kernel_record_bytes = kernel_record_bytes,
	};
}

void conformance_log_clear(void)
{
	nr_calls = 0;
	nr_records = 0;
	nr_graphs = 0;
}
