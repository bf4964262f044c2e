#include "activity_buffer.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "activity_host.h"
#include "cupti_clock.h"
#include "sim/sim_clock.h"
#include "sim/sim_config.h"
#include "sim/sim_record_log.h"
#include "sim/sim_shape.h"
#include "sim/sim_stream.h"

#define FIRST_NOTES 256u
/* Full buffers that wait for the worker: beyond them records are dropped, as CUPTI does when its device's buffers are
 * all in use. More than the guest ever has. */
#define FULL_MAX 1100u
#define POLL_NS  1000000L
#define NS_PER_S 1000000000L

/* What a record does not say, or no longer says. */
struct note {
	struct sim_truth_row *row;
	struct sim_shape_row *shape; /* of a kernel */
	uint64_t start_ns, end_ns;
	uint64_t sequence;
	uint32_t offset;
	uint16_t size;
	bool zeroed;
};

struct buffer {
	struct buffer *next;
	uint8_t *data; /* the application's */
	size_t size, used, max_records;
	struct note *notes;
	uint32_t nr_notes, notes_capacity;
	uint64_t last_end_ns, last_sequence;
};

/* Where one thread writes. Lanes live for ever. */
struct lane {
	struct lane *next;
	pthread_mutex_t lock;
	struct buffer *current;
};

static _Atomic(CUpti_BuffersCallbackRequestFunc) request_buffer;
static _Atomic(CUpti_BuffersCallbackCompleteFunc) complete_buffer;
static _Atomic bool share_one_lane;

static pthread_mutex_t lanes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lane *lanes;
static struct lane shared_lane = {.lock = PTHREAD_MUTEX_INITIALIZER};
static __thread struct lane *thread_lane;

/* Lock order: delivery, then lanes, then a lane, then full. The application is called under
 * delivery alone. */
static pthread_mutex_t delivery_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t full_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full_added = PTHREAD_COND_INITIALIZER;
static struct buffer *full_first, **full_end = &full_first;
static _Atomic uint32_t nr_full;
static struct buffer *spare; /* emptied ones, for their notes */
static pthread_cond_t flush_served = PTHREAD_COND_INITIALIZER;
static bool worker_started, force_wanted;
static uint64_t flushes_wanted, flushes_served; /* all of these under full_lock */
static __thread bool is_worker;

static struct lane *own_lane(void)
{
	if (atomic_load_explicit(&share_one_lane, memory_order_relaxed))
		return &shared_lane;
	if (!thread_lane) {
		struct lane *lane = calloc(1, sizeof(*lane));

		if (!lane)
			return &shared_lane;
		pthread_mutex_init(&lane->lock, NULL);
		pthread_mutex_lock(&lanes_lock);
		lane->next = lanes;
		lanes = lane;
		pthread_mutex_unlock(&lanes_lock);
		thread_lane = lane;
	}
	return thread_lane;
}

static struct buffer *take_spare(void)
{
	pthread_mutex_lock(&full_lock);
	struct buffer *buffer = spare;
	if (buffer)
		spare = buffer->next;
	pthread_mutex_unlock(&full_lock);
	if (!buffer)
		return calloc(1, sizeof(*buffer));

	struct note *notes = buffer->notes;
	uint32_t capacity = buffer->notes_capacity;
	memset(buffer, 0, sizeof(*buffer));
	buffer->notes = notes;
	buffer->notes_capacity = capacity;
	return buffer;
}

static void put_spare(struct buffer *buffer)
{
	pthread_mutex_lock(&full_lock);
	buffer->next = spare;
	spare = buffer;
	pthread_mutex_unlock(&full_lock);
}

static void add_full(struct buffer *buffer)
{
	pthread_mutex_lock(&full_lock);
	buffer->next = NULL;
	*full_end = buffer;
	full_end = &buffer->next;
	atomic_fetch_add_explicit(&nr_full, 1, memory_order_relaxed);
	pthread_cond_signal(&full_added);
	pthread_mutex_unlock(&full_lock);
}

static struct buffer *ask_application(void)
{
	CUpti_BuffersCallbackRequestFunc request = atomic_load(&request_buffer);
	struct buffer *buffer = NULL;

	if (request && atomic_load_explicit(&nr_full, memory_order_relaxed) < FULL_MAX)
		buffer = take_spare();
	if (!buffer)
		return NULL;
	request(&buffer->data, &buffer->size, &buffer->max_records);
	if (buffer->data && buffer->size)
		return buffer;
	put_spare(buffer);
	return NULL;
}

static bool has_room(const struct buffer *buffer, size_t size)
{
	return buffer->used + size <= buffer->size &&
	       (buffer->max_records == 0 || buffer->nr_notes < buffer->max_records);
}

/* Makes lane->current a buffer with room for size bytes. The lane's lock is held, but not while the
 * application is asked: a thread that shares the lane may have come first, then the buffer goes
 * back empty. */
static bool ensure_room(struct lane *lane, size_t size)
{
	if (lane->current && !has_room(lane->current, size)) {
		add_full(lane->current);
		lane->current = NULL;
	}
	if (!lane->current) {
		pthread_mutex_unlock(&lane->lock);
		struct buffer *buffer = ask_application();
		pthread_mutex_lock(&lane->lock);
		if (!lane->current)
			lane->current = buffer;
		else if (buffer)
			add_full(buffer);
	}
	return lane->current && has_room(lane->current, size);
}

static bool ensure_note(struct buffer *buffer)
{
	if (buffer->nr_notes < buffer->notes_capacity)
		return true;
	uint32_t capacity = buffer->notes_capacity ? buffer->notes_capacity * 2 : FIRST_NOTES;
	struct note *notes = realloc(buffer->notes, capacity * sizeof(*notes));
	if (!notes)
		return false;
	buffer->notes = notes;
	buffer->notes_capacity = capacity;
	return true;
}

bool activity_buffer_append(const void *record, size_t size, const struct sim_operation *operation,
			    bool zeroed)
{
	struct lane *lane = own_lane();
	bool written = false;

	pthread_mutex_lock(&lane->lock);
	if (ensure_room(lane, size) && ensure_note(lane->current)) {
		struct buffer *buffer = lane->current;

		memcpy(buffer->data + buffer->used, record, size);
		buffer->notes[buffer->nr_notes++] = (struct note){
			.row = operation->row,
			.shape = sim_shape_row(operation),
			.start_ns = operation->start_ns,
			.end_ns = operation->end_ns,
			.sequence = operation->sequence,
			.offset = (uint32_t)buffer->used,
			.size = (uint16_t)size,
			.zeroed = zeroed,
		};
		buffer->used += size;
		if (operation->end_ns > buffer->last_end_ns)
			buffer->last_end_ns = operation->end_ns;
		if (operation->sequence > buffer->last_sequence)
			buffer->last_sequence = operation->sequence;
		written = true;
	}
	pthread_mutex_unlock(&lane->lock);
	return written;
}

/* With FAKE_CUDA_RUN_ON=n the last n kernels of the process never end. */
static bool has_ended(uint64_t end_ns, uint64_t sequence, uint64_t now_ns)
{
	uint64_t run_on = sim_config_get(SIM_RUN_ON);

	if (run_on && sequence && sequence + run_on > sim_stream_kernels())
		return false;
	return end_ns <= now_ns;
}

static void set_times(uint8_t *record, uint64_t start_ns, uint64_t end_ns)
{
	switch (((const CUpti_Activity *)(const void *)record)->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
		CUpti_ActivityKernel10 *kernel = (void *)record;
		kernel->start = start_ns;
		kernel->end = end_ns;
		kernel->completed = end_ns;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY: {
		CUpti_ActivityMemcpy6 *copy = (void *)record;
		copy->start = start_ns;
		copy->end = end_ns;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		((CUpti_ActivityMemory4 *)(void *)record)->timestamp = start_ns;
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
		CUpti_ActivityGraphTrace2 *graph = (void *)record;
		graph->start = start_ns;
		graph->end = end_ns;
		break;
	}
	default: {
		if (activity_host_set_times(record, start_ns, end_ns))
			break;
		CUpti_ActivityMemset4 *fill = (void *)record;
		fill->start = start_ns;
		fill->end = end_ns;
		break;
	}
	}
}

/* By the program's clock, if it has put one there. */
static void translate(struct buffer *buffer, uint64_t now_ns)
{
	if (!cupti_clock_is_foreign())
		return;
	for (uint32_t i = 0; i < buffer->nr_notes; i++) {
		const struct note *note = &buffer->notes[i];
		bool changed = cupti_clock_changed_within(note->start_ns, note->end_ns);
		uint64_t start = changed ? 0 : cupti_clock_of(note->start_ns);
		uint64_t end = cupti_clock_of(note->end_ns);
		uint8_t *record = buffer->data + note->offset;

		if (note->zeroed || !has_ended(note->end_ns, note->sequence, now_ns))
			continue;
		if (note->row)
			set_times(record, start, end);
		else
			activity_host_set_times(record, start, end);
	}
}

/* The moment of truth: what the application is about to read. */
static void settle(struct buffer *buffer, uint64_t now_ns)
{
	for (uint32_t i = 0; i < buffer->nr_notes; i++) {
		const struct note *note = &buffer->notes[i];
		struct sim_truth_row *row = note->row;

		if (!row) /* of no operation */
			continue;
		if (!has_ended(note->end_ns, note->sequence, now_ns)) {
			set_times(buffer->data + note->offset,
				  note->start_ns <= now_ns ? note->start_ns : 0, 0);
			atomic_fetch_add_explicit(&row->running_count, 1, memory_order_relaxed);
		} else if (note->zeroed) {
			atomic_fetch_add_explicit(&row->zeroed_count, 1, memory_order_relaxed);
		} else {
			atomic_fetch_add_explicit(&row->valid_count, 1, memory_order_relaxed);
			atomic_fetch_add_explicit(&row->valid_ns, note->end_ns - note->start_ns,
						  memory_order_relaxed);
			sim_shape_count(note->shape, note->end_ns - note->start_ns);
			sim_record_log_add(row, note->start_ns, note->end_ns);
		}
	}
	sim_record_log_flush();
}

static void shuffle(struct buffer *buffer, uint64_t seed)
{
	uint8_t *copy = malloc(buffer->used + 1);
	size_t used = 0;

	if (!copy)
		return;
	memcpy(copy, buffer->data, buffer->used);
	for (uint32_t i = buffer->nr_notes; i > 1; i--) {
		uint32_t other = (uint32_t)(sim_config_mix(seed, i) % i);
		struct note note = buffer->notes[i - 1];

		buffer->notes[i - 1] = buffer->notes[other];
		buffer->notes[other] = note;
	}
	for (uint32_t i = 0; i < buffer->nr_notes; i++) {
		struct note *note = &buffer->notes[i];

		memcpy(buffer->data + used, copy + note->offset, note->size);
		note->offset = (uint32_t)used;
		used += note->size;
	}
	free(copy);
}

/* Takes the full buffers that may go out now. */
static struct buffer *take_ready(bool forced, uint64_t now_ns)
{
	struct buffer *ready = NULL, **ready_end = &ready;

	pthread_mutex_lock(&full_lock);
	for (struct buffer **link = &full_first; *link;) {
		struct buffer *buffer = *link;

		if (!forced && !has_ended(buffer->last_end_ns, buffer->last_sequence, now_ns)) {
			link = &buffer->next;
			continue;
		}
		*link = buffer->next;
		buffer->next = NULL;
		atomic_fetch_sub_explicit(&nr_full, 1, memory_order_relaxed);
		*ready_end = buffer;
		ready_end = &buffer->next;
	}
	full_end = &full_first;
	while (*full_end)
		full_end = &(*full_end)->next;
	pthread_mutex_unlock(&full_lock);
	return ready;
}

/* Holding the delivery lock until the application has them all. */
static void deliver_ready(bool forced)
{
	uint64_t now_ns = sim_clock_now();
	uint64_t seed = sim_config_get(SIM_CUPTI_SHUFFLE);
	struct buffer *next;

	for (struct buffer *buffer = take_ready(forced, now_ns); buffer; buffer = next) {
		CUpti_BuffersCallbackCompleteFunc complete = atomic_load(&complete_buffer);

		next = buffer->next;
		settle(buffer, now_ns);
		translate(buffer, now_ns);
		if (seed)
			shuffle(buffer, seed);
		if (complete)
			complete(NULL, 0, buffer->data, buffer->size, buffer->used);
		put_spare(buffer);
	}
}

static void seal(struct lane *lane)
{
	pthread_mutex_lock(&lane->lock);
	if (lane->current && lane->current->nr_notes) {
		add_full(lane->current);
		lane->current = NULL;
	}
	pthread_mutex_unlock(&lane->lock);
}

static void seal_all(void)
{
	pthread_mutex_lock(&lanes_lock);
	for (struct lane *lane = lanes; lane; lane = lane->next)
		seal(lane);
	pthread_mutex_unlock(&lanes_lock);
	seal(&shared_lane);
}

/* Served by the worker, which alone calls the application back. In a forked child, where there is
 * no worker, it waits for ever. */
void activity_buffer_flush(bool forced)
{
	pthread_mutex_lock(&full_lock);
	if (worker_started && !is_worker) {
		uint64_t ticket = ++flushes_wanted;

		force_wanted |= forced;
		pthread_cond_signal(&full_added);
		while (flushes_served < ticket)
			pthread_cond_wait(&flush_served, &full_lock);
	}
	pthread_mutex_unlock(&full_lock);
}

static void forget_current(struct lane *lane)
{
	pthread_mutex_lock(&lane->lock);
	if (lane->current)
		put_spare(lane->current);
	lane->current = NULL;
	pthread_mutex_unlock(&lane->lock);
}

void activity_buffer_forget(void)
{
	struct buffer *buffer, *next;

	pthread_mutex_lock(&delivery_lock);
	pthread_mutex_lock(&lanes_lock);
	for (struct lane *lane = lanes; lane; lane = lane->next)
		forget_current(lane);
	pthread_mutex_unlock(&lanes_lock);
	forget_current(&shared_lane);
	for (buffer = take_ready(true, 0); buffer; buffer = next) {
		next = buffer->next;
		put_spare(buffer);
	}
	pthread_mutex_unlock(&delivery_lock);
}

/* Sleeps until there may be something to deliver: a flush is wanted, a full buffer came, or one
 * that is here may have ended. The lock is held. */
static void wait_for_work(void)
{
	struct timespec until;

	while (!full_first && flushes_served == flushes_wanted)
		pthread_cond_wait(&full_added, &full_lock);
	if (flushes_served != flushes_wanted)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += POLL_NS;
	until.tv_sec += until.tv_nsec / NS_PER_S;
	until.tv_nsec %= NS_PER_S;
	pthread_cond_timedwait(&full_added, &full_lock, &until);
}

static void serve(bool flush, bool forced)
{
	uint64_t late = sim_config_get(SIM_CUPTI_LATE);

	pthread_mutex_lock(&delivery_lock);
	if (flush && (forced || late < 2)) {
		seal_all();
		deliver_ready(forced);
	} else if (!flush && late == 0) {
		deliver_ready(false);
	}
	pthread_mutex_unlock(&delivery_lock);
}

static void *work(void *unused)
{
	is_worker = true;
	pthread_mutex_lock(&full_lock);
	for (;;) {
		wait_for_work();
		uint64_t ticket = flushes_wanted;
		bool flush = ticket != flushes_served, forced = force_wanted;

		force_wanted = false;
		pthread_mutex_unlock(&full_lock);
		serve(flush, forced);
		pthread_mutex_lock(&full_lock);
		flushes_served = ticket;
		pthread_cond_broadcast(&flush_served);
	}
	return unused;
}

/* As a library's thread should, it takes none of the application's signals. */
static void start_worker(void)
{
	sigset_t all, old;
	pthread_t worker;

	pthread_mutex_lock(&full_lock);
	if (!worker_started) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		worker_started = pthread_create(&worker, NULL, work, NULL) == 0;
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (worker_started)
			pthread_detach(worker);
	}
	pthread_mutex_unlock(&full_lock);
}

void activity_buffer_set_callbacks(CUpti_BuffersCallbackRequestFunc request,
				   CUpti_BuffersCallbackCompleteFunc complete)
{
	atomic_store(&complete_buffer, complete);
	atomic_store(&request_buffer, request);
	if (request)
		start_worker();
}

void activity_buffer_set_per_thread(bool per_thread)
{
	atomic_store(&share_one_lane, !per_thread);
}
