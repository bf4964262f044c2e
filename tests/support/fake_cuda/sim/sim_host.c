#include "sim_host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim_clock.h"
#include "sim_context.h"
#include "sim_device.h"

#define NAMES_MAX 64u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_truth_table tables[SIM_DEVICES_MAX + 1]; /* by ordinal + 1 */
static const char *names[NAMES_MAX];
static _Atomic bool only_done;

/* Equal names are equal pointers, as the truth wants them. The lock is held. NULL: no room. */
static const char *intern(const char *name)
{
	for (uint32_t i = 0; i < NAMES_MAX; i++) {
		if (!names[i])
			names[i] = strdup(name);
		if (!names[i] || strcmp(names[i], name) == 0)
			return names[i];
	}
	return NULL;
}

/* NULL: out of memory. */
static struct sim_truth_row *find_row(enum sim_kind kind, const char *name, int ordinal)
{
	struct sim_truth_row *row = NULL;

	pthread_mutex_lock(&lock);
	const struct sim_truth_row key = {
		.device = ordinal >= 0 ? sim_device_visible(ordinal) : NULL,
		.device_ordinal = (uint32_t)ordinal,
		.kind = kind,
		.name = intern(name),
	};
	if (key.name)
		row = sim_truth_table_row(&tables[ordinal + 1], &key);
	pthread_mutex_unlock(&lock);
	return row;
}

void sim_host_note(struct sim_operation *operation, const char *name, int ordinal)
{
	struct sim_truth_row *row = find_row(operation->kind, name, ordinal);

	if (!row)
		return;
	operation->row = row;
	operation->name = row->name;
	operation->device_ordinal = ordinal >= 0 ? (uint32_t)ordinal : SIM_ID_NONE;
	atomic_fetch_add_explicit(&row->ran_count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&row->ran_ns, operation->end_ns - operation->start_ns,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&row->bytes, operation->bytes, memory_order_relaxed);
	sim_trace_operation(operation);
}

void sim_host_waited(const struct sim_context *context, enum sim_sync type, uint32_t stream_id,
		     uint64_t start_ns)
{
	static const char *const type_names[] = {"unknown", "event", "stream wait event", "stream",
						 "context"};
	const struct sim_context *whole = context && context->parent ? context->parent : context;
	struct sim_operation operation = {
		.kind = SIM_SYNC,
		.copy_kind = (uint8_t)type,
		.context_id = whole ? whole->context_id : 0,
		.stream_id = stream_id,
		.correlation_id = sim_trace_correlation_id(),
		.start_ns = start_ns,
		.end_ns = sim_clock_now(),
	};

	sim_host_note(&operation, type_names[type], context ? context->ordinal : SIM_NO_ORDINAL);
}

void sim_host_asked(const struct sim_context *context, enum sim_sync type, uint32_t stream_id,
		    uint64_t start_ns, bool done)
{
	if (done || !atomic_load(&only_done))
		sim_host_waited(context, type, stream_id, start_ns);
}

void sim_host_want_all(bool all)
{
	atomic_store(&only_done, !all);
}

void sim_host_loaded(const char *function)
{
	const struct sim_context *context = sim_context_current();
	struct sim_truth_row *row =
		find_row(SIM_MODULE, function, context ? context->ordinal : SIM_NO_ORDINAL);

	if (row)
		atomic_fetch_add_explicit(&row->ran_count, 1, memory_order_relaxed);
}
