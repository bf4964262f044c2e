#include "sim_trace.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "sim_calls.h"

#include "fake_cuda.h"

static _Atomic(const struct sim_tracer *) current_tracer;
static _Atomic uint32_t next_correlation_id = 1;

static __thread struct {
	uint32_t depth;
	uint32_t correlation_id;
} thread;

static const struct sim_tracer *tracer(void)
{
	return atomic_load_explicit(&current_tracer, memory_order_acquire);
}

void sim_trace_set_tracer(const struct sim_tracer *new_tracer)
{
	atomic_store(&current_tracer, new_tracer);
}

void sim_trace_enter(struct sim_call *call)
{
	const struct sim_tracer *now = tracer();

	if (thread.depth++ == 0)
		thread.correlation_id = now ? atomic_fetch_add_explicit(&next_correlation_id, 1,
									memory_order_relaxed)
					    : 0;
	call->correlation_id = thread.correlation_id;
	call->correlation_data = 0;
	if (now && call->correlation_id)
		now->call_site(call, false, NULL);
}

void sim_trace_exit(struct sim_call *call, void *result)
{
	const struct sim_tracer *now = tracer();

	if (now && call->correlation_id) {
		int number;

		memcpy(&number, result, sizeof(number));
		sim_calls_count(call, number);
		now->call_site(call, true, result);
	}
	if (--thread.depth == 0)
		thread.correlation_id = 0;
}

void sim_trace_restart_ids(void)
{
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
