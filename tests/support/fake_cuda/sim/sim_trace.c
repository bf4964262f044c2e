#include "sim_trace.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "sim_calls.h"

#include "fake_cuda.h"
#include "sim_memory.h"

static _Atomic(const struct sim_tracer *) current_tracer;
static _Atomic uint32_t next_correlation_id = 1;

static _Atomic uint32_t generation = 1; /* of correlation ids */

static __thread struct {
	uint32_t depth;
	uint32_t correlation_id;
	uint32_t stuck_id, stuck_generation; /* 0: ids are drawn */
} thread;

static const struct sim_tracer *tracer(void)
{
	return atomic_load_explicit(&current_tracer, memory_order_acquire);
}

void sim_trace_set_tracer(const struct sim_tracer *new_tracer)
{
	atomic_store(&current_tracer, new_tracer);
}

static uint32_t draw_id(void)
{
	if (thread.stuck_id && thread.stuck_generation == atomic_load(&generation))
		return thread.stuck_id;
	return atomic_fetch_add_explicit(&next_correlation_id, 1, memory_order_relaxed);
}

void sim_trace_enter(struct sim_call *call)
{
	const struct sim_tracer *now = tracer();

	if (thread.depth++ == 0)
		thread.correlation_id = now ? draw_id() : 0;
	call->correlation_id = thread.correlation_id;
	call->correlation_data = 0;
	call->generation = atomic_load(&generation);
	call->told = now && call->correlation_id && now->call_site(call, false, NULL);
}

void sim_trace_exit(struct sim_call *call, void *result)
{
	const struct sim_tracer *now = tracer();
	bool told = false;

	if (now && call->correlation_id) {
		int number;

		memcpy(&number, result, sizeof(number));
		sim_calls_count(call, number);
		told = now->call_site(call, true, result);
	}
	if (call->told && !told) {
		thread.stuck_id = call->correlation_id;
		thread.stuck_generation = call->generation;
	}
	if (--thread.depth == 0)
		thread.correlation_id = 0;
}

void sim_trace_restart_ids(void)
{
	atomic_fetch_add(&generation, 1);
	atomic_store(&next_correlation_id, 1);
}

uint32_t sim_trace_correlation_id(void)
{
	return thread.correlation_id;
}

void sim_trace_resource(uint32_t cbid, struct sim_context *context, struct sim_stream *stream,
			void *descriptor)
{
	const struct sim_tracer *now = tracer();

	if (now)
		now->resource(cbid, context, stream, descriptor);
}

void sim_trace_operation(const struct sim_operation *operation)
{
	const struct sim_tracer *now = tracer();

	if (now && (operation->correlation_id || operation->uncorrelated))
		now->operation(operation);
}

void sim_trace_allocation(const struct sim_allocation *allocation)
{
	const struct sim_tracer *now = tracer();

	if (now && allocation->correlation_id)
		now->allocation(allocation);
}

bool sim_trace_wants_graphs(void)
{
	const struct sim_tracer *now = tracer();

	return now && now->wants_graphs();
}

int fake_cuda_traces(uint32_t kind)
{
	const struct sim_tracer *now = tracer();

	return now && now->wants_kind(kind);
}
