#include "sim_context.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "sim_clock.h"
#include "sim_device.h"
#include "sim_stream.h"
#include "sim_trace.h"

#define CONTEXT_MAGIC                     0x73696d636f6e7478ull
#define STACK_DEPTH                       32u
#define RESOURCE_CONTEXT_CREATED          1u
#define RESOURCE_CONTEXT_DESTROY_STARTING 2u
/* As CUPTI numbers them: the default stream is 7, the first created one 13. */
#define DEFAULT_STREAM_ID 7u
#define FIRST_STREAM_ID   13u

static _Atomic uint32_t next_context_id = 1;
static _Atomic(struct sim_context *) contexts;
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct sim_context *context;
	uint32_t retained;
} primaries[SIM_DEVICES_MAX];

static __thread struct {
	struct sim_context *stack[STACK_DEPTH];
	uint32_t depth;
} thread;

static struct sim_context *create(int ordinal, struct sim_context *parent, uint32_t stream_id)
{
	struct sim_context *context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	context->context_id = atomic_fetch_add(&next_context_id, 1);
	context->ordinal = ordinal;
	context->device = sim_device_visible(ordinal);
	context->parent = parent;
	atomic_init(&context->next_stream_id, FIRST_STREAM_ID);
	pthread_mutex_init(&context->lock, NULL);
	context->default_stream = sim_stream_create_with_id(context, stream_id);
	if (!context->default_stream) {
		free(context);
		return NULL;
	}
	return context;
}

static void publish(struct sim_context *context)
{
	context->next = atomic_load(&contexts);
	while (!atomic_compare_exchange_weak(&contexts, &context->next, context))
		;
	__atomic_store_n(&context->magic, CONTEXT_MAGIC, __ATOMIC_RELEASE);
	sim_trace_resource(RESOURCE_CONTEXT_CREATED, context, NULL, NULL);
}

struct sim_context *sim_context_create(int ordinal)
{
	struct sim_context *context = create(ordinal, NULL, DEFAULT_STREAM_ID);

	if (context)
		publish(context);
	return context;
}

struct sim_context *sim_context_create_part(struct sim_context *parent, uint32_t multiprocessors)
{
	/* CUPTI counts two streams, of which the second is the default one. */
	uint32_t stream_id = atomic_fetch_add(&parent->next_stream_id, 2) + 1;
	struct sim_context *context = create(parent->ordinal, parent, stream_id);

	if (!context)
		return NULL;
	context->multiprocessors = multiprocessors;
	context->default_stream->non_blocking = true;
	publish(context);
	return context;
}

struct sim_context *sim_context_whole(struct sim_context *context)
{
	return context && context->parent ? context->parent : context;
}

void sim_context_destroy(struct sim_context *context)
{
	sim_trace_resource(RESOURCE_CONTEXT_DESTROY_STARTING, context, NULL, NULL);
	__atomic_store_n(&context->magic, 0, __ATOMIC_RELEASE);
	while (context->streams)
		sim_stream_destroy(context->streams);
	sim_stream_destroy(context->default_stream);
	context->default_stream = NULL;
	if (sim_context_current() == NULL && thread.depth > 0)
		thread.depth--;
}

bool sim_context_settle(struct sim_context *context)
{
	bool waits = false;

	pthread_mutex_lock(&context->lock);
	if (context->default_stream)
		waits = sim_stream_settle(context->default_stream);
	for (struct sim_stream *stream = context->streams; stream; stream = stream->next)
		waits |= sim_stream_settle(stream);
	pthread_mutex_unlock(&context->lock);
	return waits;
}

void sim_context_each(void (*visit)(struct sim_context *context))
{
	for (struct sim_context *context = atomic_load(&contexts); context; context = context->next)
		if (sim_context_check(context))
			visit(context);
}

struct sim_context *sim_context_primary_retain(int ordinal)
{
	pthread_mutex_lock(&primary_lock);
	struct sim_context *context = primaries[ordinal].context;
	if (!context) {
		context = sim_context_create(ordinal);
		if (context)
			context->primary = true;
		primaries[ordinal].context = context;
	}
	if (context)
		primaries[ordinal].retained++;
	pthread_mutex_unlock(&primary_lock);
	return context;
}

bool sim_context_primary_release(int ordinal)
{
	bool was_retained;

	pthread_mutex_lock(&primary_lock);
	was_retained = primaries[ordinal].retained > 0;
	if (was_retained && --primaries[ordinal].retained == 0) {
		sim_context_destroy(primaries[ordinal].context);
		primaries[ordinal].context = NULL;
	}
	pthread_mutex_unlock(&primary_lock);
	return was_retained;
}

bool sim_context_primary_active(int ordinal)
{
	pthread_mutex_lock(&primary_lock);
	bool active = primaries[ordinal].context != NULL;
	pthread_mutex_unlock(&primary_lock);
	return active;
}

struct sim_context *sim_context_check(void *handle)
{
	struct sim_context *context = handle;

	return context && __atomic_load_n(&context->magic, __ATOMIC_ACQUIRE) == CONTEXT_MAGIC
		       ? context
		       : NULL;
}

struct sim_context *sim_context_current(void)
{
	return thread.depth ? sim_context_check(thread.stack[thread.depth - 1]) : NULL;
}

void sim_context_set_current(struct sim_context *context)
{
	if (thread.depth)
		thread.depth--;
	if (context)
		thread.stack[thread.depth++] = context;
}

bool sim_context_push(struct sim_context *context)
{
	if (thread.depth == STACK_DEPTH)
		return false;
	thread.stack[thread.depth++] = context;
	return true;
}

struct sim_context *sim_context_pop(void)
{
	return thread.depth ? thread.stack[--thread.depth] : NULL;
}

static void synchronize(struct sim_context *context)
{
	while (sim_context_settle(context))
		sim_open_pause();
	pthread_mutex_lock(&context->lock);
	uint64_t end_ns = context->retired_ns;
	uint64_t stream_ns = sim_stream_ready_ns(context->default_stream);
	if (stream_ns > end_ns)
		end_ns = stream_ns;
	for (struct sim_stream *stream = context->streams; stream; stream = stream->next) {
		stream_ns = sim_stream_ready_ns(stream);
		if (stream_ns > end_ns)
			end_ns = stream_ns;
	}
	pthread_mutex_unlock(&context->lock);
	sim_clock_wait(end_ns);
}

void sim_context_synchronize(struct sim_context *context)
{
	synchronize(context);
	for (struct sim_context *part = atomic_load(&contexts); part; part = part->next)
		if (part->parent == context && sim_context_check(part))
			synchronize(part);
}

void sim_context_synchronize_all(void)
{
	for (struct sim_context *context = atomic_load(&contexts); context; context = context->next)
		if (sim_context_check(context))
			synchronize(context);
}
