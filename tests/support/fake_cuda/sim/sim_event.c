#include "sim_event.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "sim_clock.h"
#include "sim_context.h"
#include "sim_open.h"
#include "sim_stream.h"

#define EVENT_MAGIC 0x73696d6576656e74ull

static __thread struct {
	const struct sim_context *context;
	uint64_t open_number, end_ns;
	bool waits;
} asked;

struct sim_event *sim_event_create(void)
{
	struct sim_event *event = calloc(1, sizeof(*event));

	if (event)
		event->magic = EVENT_MAGIC;
	return event;
}

void sim_event_destroy(struct sim_event *event)
{
	event->magic = 0;
	free(event);
}

struct sim_event *sim_event_check(void *handle)
{
	struct sim_event *event = handle;

	return event && event->magic == EVENT_MAGIC ? event : NULL;
}

void sim_event_set(struct sim_event *event, uint64_t complete_ns)
{
	atomic_store(&event->complete_ns, complete_ns);
	atomic_store(&event->context, NULL);
}

static void add_end(uint64_t end_ns)
{
	if (end_ns > asked.end_ns)
		asked.end_ns = end_ns;
}

static void ask(struct sim_context *context)
{
	if (context != asked.context && context->parent != asked.context)
		return;
	pthread_mutex_lock(&context->lock);
	add_end(context->retired_ns);
	add_end(sim_stream_known_ns(context->default_stream, asked.open_number, &asked.waits));
	for (struct sim_stream *stream = context->streams; stream; stream = stream->next)
		add_end(sim_stream_known_ns(stream, asked.open_number, &asked.waits));
	pthread_mutex_unlock(&context->lock);
}

void sim_event_set_behind(struct sim_event *event, struct sim_context *context)
{
	atomic_store(&event->complete_ns, sim_clock_now());
	event->open_number = sim_open_last();
	atomic_store(&event->context, context);
	sim_event_is_known(event);
}

bool sim_event_is_known(struct sim_event *event)
{
	asked.context = atomic_load(&event->context);
	if (!asked.context)
		return true;
	asked.open_number = event->open_number;
	asked.end_ns = atomic_load(&event->complete_ns);
	asked.waits = false;
	sim_context_each(ask);
	if (!asked.waits)
		sim_event_set(event, asked.end_ns);
	return !asked.waits;
}

uint64_t sim_event_complete_ns(struct sim_event *event)
{
	while (!sim_event_is_known(event))
		sim_open_pause();
	return atomic_load(&event->complete_ns);
}
