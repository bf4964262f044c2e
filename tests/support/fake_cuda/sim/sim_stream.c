#include "sim_stream.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fake_cuda.h"
#include "sim_clock.h"
#include "sim_context.h"
#include "sim_device.h"
#include "sim_host.h"
#include "sim_kernel.h"
#include "sim_power.h"

#define STREAM_MAGIC                     0x73696d7374726561ull
#define RESOURCE_STREAM_CREATED          3u
#define RESOURCE_STREAM_DESTROY_STARTING 4u
#define HANDLE_LEGACY                    1u
#define HANDLE_PER_THREAD                2u
#define COPY_LATENCY_NS                  1000u
#define COPY_BYTES_PER_NS                20u   /* 20 GB/s over the bus */
#define MEMORY_BYTES_PER_NS              1000u /* 1 TB/s inside the device */
#define COPY_KIND_DTOD                   8u
#define LAZY_LOAD_NS                     5000u
#define PRIORITY_FIRST                   (-5)

static _Atomic uint64_t next_thread_token = 1;
static _Atomic uint64_t kernels;

static __thread struct {
	uint64_t token;
	uint32_t context_id; /* whose per-thread stream is cached */
	struct sim_stream *stream;
} thread;

struct sim_stream *sim_stream_create_with_id(struct sim_context *context, uint32_t stream_id)
{
	struct sim_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->magic = STREAM_MAGIC;
	stream->context = context;
	stream->stream_id = stream_id;
	pthread_mutex_init(&stream->lock, NULL);
	return stream;
}

static struct sim_stream *create_listed(struct sim_context *context, uint64_t thread_token)
{
	uint32_t stream_id = atomic_fetch_add(&sim_context_whole(context)->next_stream_id, 1);
	struct sim_stream *stream = sim_stream_create_with_id(context, stream_id);

	pthread_mutex_lock(&context->lock);
	if (stream) {
		stream->thread_token = thread_token;
		stream->next = context->streams;
		context->streams = stream;
	}
	pthread_mutex_unlock(&context->lock);
	return stream;
}

struct sim_stream *sim_stream_create(struct sim_context *context, int32_t priority,
				     bool non_blocking)
{
	struct sim_stream *stream = create_listed(context, 0);

	if (!stream)
		return NULL;
	stream->priority = priority > 0 ? 0 : priority < PRIORITY_FIRST ? PRIORITY_FIRST : priority;
	stream->non_blocking = non_blocking;
	sim_trace_resource(RESOURCE_STREAM_CREATED, sim_context_whole(context), stream, NULL);
	return stream;
}

void sim_stream_destroy(struct sim_stream *stream)
{
	struct sim_context *context = stream->context;

	while (sim_stream_settle(stream))
		sim_open_pause();
	if (stream != context->default_stream && stream->thread_token == 0)
		sim_trace_resource(RESOURCE_STREAM_DESTROY_STARTING, sim_context_whole(context),
				   stream, NULL);
	pthread_mutex_lock(&context->lock);
	for (struct sim_stream **link = &context->streams; *link; link = &(*link)->next) {
		if (*link == stream) {
			*link = stream->next;
			break;
		}
	}
	uint64_t ready_ns = sim_stream_ready_ns(stream);
	if (ready_ns > context->retired_ns)
		context->retired_ns = ready_ns;
	pthread_mutex_unlock(&context->lock);
	stream->magic = 0;
	sim_truth_table_fini(&stream->truth);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

static struct sim_stream *per_thread_stream(struct sim_context *context)
{
	if (thread.stream && thread.context_id == context->context_id)
		return thread.stream;
	if (thread.token == 0)
		thread.token = atomic_fetch_add(&next_thread_token, 1);

	pthread_mutex_lock(&context->lock);
	struct sim_stream *stream = context->streams;
	while (stream && stream->thread_token != thread.token)
		stream = stream->next;
	pthread_mutex_unlock(&context->lock);
	if (!stream)
		stream = create_listed(context, thread.token);
	thread.stream = stream;
	thread.context_id = context->context_id;
	return stream;
}

struct sim_stream *sim_stream_resolve(struct sim_context *context, void *handle, bool per_thread)
{
	uintptr_t number = (uintptr_t)handle;
	struct sim_stream *stream = handle;

	if (number == HANDLE_PER_THREAD || (number == 0 && per_thread))
		return per_thread_stream(context);
	if (number == 0 || number == HANDLE_LEGACY)
		return context->default_stream;
	return stream->magic == STREAM_MAGIC ? stream : NULL;
}

static uint64_t transfer_ns(const struct sim_operation *operation)
{
	bool inside = operation->kind == SIM_MEMSET || operation->copy_kind == COPY_KIND_DTOD;

	return COPY_LATENCY_NS +
	       operation->bytes / (inside ? MEMORY_BYTES_PER_NS : COPY_BYTES_PER_NS);
}

/* Returns with the lock held and room in the queue. */
static void lock_with_room(struct sim_stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	while (stream->open.nr >= SIM_QUEUE_DEPTH) {
		pthread_mutex_unlock(&stream->lock);
		sim_stream_settle(stream);
		sim_open_pause();
		pthread_mutex_lock(&stream->lock);
	}
	while (stream->queue_ns[stream->nr_operations % SIM_QUEUE_DEPTH] > sim_clock_now()) {
		uint64_t oldest_ns = stream->queue_ns[stream->nr_operations % SIM_QUEUE_DEPTH];

		pthread_mutex_unlock(&stream->lock);
		sim_clock_wait(oldest_ns);
		pthread_mutex_lock(&stream->lock);
	}
}

/* Whose operation it is, and its row; NULL: out of memory. The lock is held. */
static struct sim_truth_row *identify(struct sim_stream *stream, struct sim_operation *operation)
{
	const struct sim_context *context = stream->context;
	const struct sim_truth_row key = {
		.device = context->device,
		.device_ordinal = (uint32_t)context->ordinal,
		.context_id = context->context_id,
		.stream_id = stream->stream_id,
		.kind = operation->kind,
		.name = operation->name,
	};

	operation->device_ordinal = key.device_ordinal;
	operation->context_id = key.context_id;
	operation->stream_id = key.stream_id;
	operation->correlation_id = operation->uncorrelated ? 0 : sim_trace_correlation_id();
	operation->row = sim_truth_table_row(&stream->truth, &key);
	return operation->row;
}

/* A kernel's code is loaded by its first launch. */
static void load_lazily(const struct sim_context *context)
{
	uint64_t now_ns = sim_clock_now();
	struct sim_operation cost = {.kind = SIM_OVERHEAD,
				     .overhead = SIM_OVERHEAD_LAZY,
				     .context_id = context->context_id,
				     .correlation_id = sim_trace_correlation_id(),
				     .start_ns = now_ns,
				     .end_ns = now_ns + LAZY_LOAD_NS};

	sim_host_note(&cost, "lazy function loading", context->ordinal);
}

/* The operation, whose start is known, ends then. The lock is held. */
static void count_run(struct sim_stream *stream, struct sim_operation *operation, uint64_t end_ns)
{
	struct sim_truth_row *row = operation->row;

	operation->end_ns = end_ns;
	sim_power_add(stream->context->device->pci_bus, operation);
	stream->ready_ns = end_ns;
	stream->queue_ns[stream->nr_operations++ % SIM_QUEUE_DEPTH] = end_ns;
	atomic_fetch_add_explicit(&row->ran_ns, end_ns - operation->start_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&row->bytes, operation->bytes, memory_order_relaxed);
}

static uint64_t start_of(const struct sim_stream *stream, uint64_t submitted_ns)
{
	return submitted_ns > stream->ready_ns ? submitted_ns : stream->ready_ns;
}

/* true: the first that waits has its times now, and is told of. The lock is held. */
static bool settle_first(struct sim_stream *stream)
{
	struct sim_open *first = stream->open.first;
	uint64_t end_ns;

	if (!first->begun) {
		first->begun = true;
		first->operation.start_ns = start_of(stream, first->submitted_ns);
		if (first->open)
			first->open->begin(first->open, first->operation.start_ns);
	}
	end_ns = first->operation.start_ns + first->duration_ns;
	if (first->open && !first->open->end(first->open, &end_ns))
		return false;
	count_run(stream, &first->operation, end_ns);
	sim_open_take(&stream->open);
	pthread_mutex_unlock(&stream->lock);
	sim_trace_operation(&first->operation);
	free(first);
	pthread_mutex_lock(&stream->lock);
	return true;
}

/* One thread at a time, so that records come in order. */
bool sim_stream_settle(struct sim_stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	if (!stream->open.settling) {
		stream->open.settling = true;
		while (stream->open.first && settle_first(stream))
			;
		stream->open.settling = false;
	}
	bool waits = stream->open.first || stream->open.settling;
	pthread_mutex_unlock(&stream->lock);
	return waits;
}

int sim_stream_run(struct sim_stream *stream, struct sim_operation *operation,
		   const struct sim_kernel *kernel)
{
	const struct sim_context *context = stream->context;
	struct fake_cuda_open *open = kernel ? sim_open_next() : NULL;
	struct sim_open *waiting = NULL;

	if (kernel && sim_kernel_is_first_use(kernel))
		load_lazily(context);
	lock_with_room(stream);
	struct sim_truth_row *row = identify(stream, operation);
	if (row && (open || stream->open.first || stream->open.settling))
		waiting = calloc(1, sizeof(*waiting));
	if (!row || ((open || stream->open.first || stream->open.settling) && !waiting)) {
		pthread_mutex_unlock(&stream->lock);
		return -ENOMEM;
	}
	uint64_t nth = atomic_fetch_add_explicit(&row->ran_count, 1, memory_order_relaxed);
	uint64_t stream_key = (uint64_t)context->device->index << 32 | stream->stream_id;
	uint64_t duration_ns =
		kernel ? sim_kernel_duration_ns(kernel, stream_key, nth) : transfer_ns(operation);
	uint64_t now_ns = sim_clock_now();

	operation->sequence =
		kernel ? atomic_fetch_add_explicit(&kernels, 1, memory_order_relaxed) + 1 : 0;
	if (waiting) {
		*waiting = (struct sim_open){.operation = *operation,
					     .submitted_ns = now_ns,
					     .duration_ns = duration_ns,
					     .open = open};
		sim_open_put(&stream->open, waiting);
		pthread_mutex_unlock(&stream->lock);
		if (sim_stream_settle(stream))
			sim_open_watch();
		return 0;
	}
	operation->start_ns = start_of(stream, now_ns);
	count_run(stream, operation, operation->start_ns + duration_ns);
	pthread_mutex_unlock(&stream->lock);
	sim_trace_operation(operation);
	return 0;
}

int sim_stream_note(struct sim_stream *stream, struct sim_operation *operation)
{
	pthread_mutex_lock(&stream->lock);
	struct sim_truth_row *row = identify(stream, operation);
	pthread_mutex_unlock(&stream->lock);
	if (!row)
		return -ENOMEM;
	atomic_fetch_add_explicit(&row->ran_count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&row->ran_ns, operation->end_ns - operation->start_ns,
				  memory_order_relaxed);
	sim_trace_operation(operation);
	return 0;
}

bool sim_stream_is_known(struct sim_stream *stream)
{
	return !sim_stream_settle(stream);
}

uint64_t sim_stream_ready_ns(struct sim_stream *stream)
{
	while (sim_stream_settle(stream))
		sim_open_pause();
	pthread_mutex_lock(&stream->lock);
	uint64_t ready_ns = stream->ready_ns;
	pthread_mutex_unlock(&stream->lock);
	return ready_ns;
}

void sim_stream_synchronize(struct sim_stream *stream)
{
	sim_clock_wait(sim_stream_ready_ns(stream));
}

void sim_stream_wait_until(struct sim_stream *stream, uint64_t end_ns)
{
	while (sim_stream_settle(stream))
		sim_open_pause();
	pthread_mutex_lock(&stream->lock);
	if (end_ns > stream->ready_ns)
		stream->ready_ns = end_ns;
	pthread_mutex_unlock(&stream->lock);
}

uint64_t sim_stream_known_ns(struct sim_stream *stream, uint64_t open_number, bool *waits)
{
	sim_stream_settle(stream);
	pthread_mutex_lock(&stream->lock);
	*waits |= stream->open.settling ||
		  (stream->open.first && stream->open.first->number <= open_number);
	uint64_t ready_ns = stream->ready_ns;
	pthread_mutex_unlock(&stream->lock);
	return ready_ns;
}

uint64_t sim_stream_kernels(void)
{
	return atomic_load_explicit(&kernels, memory_order_relaxed);
}
