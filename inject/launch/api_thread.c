#include "api_thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define READ_TRIES 10000u

static _Atomic(struct api_thread *) first;
static _Atomic uint32_t nr_threads;

void api_thread_end(struct api_thread *thread)
{
	atomic_store_explicit(&thread->state, API_THREAD_ENDED, memory_order_release);
}

struct api_thread *api_thread_first(void)
{
	return atomic_load_explicit(&first, memory_order_acquire);
}

/* Takes a table that another thread no longer needs. */
static struct api_thread *take_free(void)
{
	for (struct api_thread *thread = api_thread_first(); thread; thread = thread->next) {
		uint32_t expected = API_THREAD_FREE;

		if (atomic_load_explicit(&thread->state, memory_order_relaxed) == expected &&
		    atomic_compare_exchange_strong_explicit(&thread->state, &expected,
							    API_THREAD_OWNED, memory_order_acquire,
							    memory_order_relaxed))
			return thread;
	}
	return NULL;
}

static struct api_thread *create(void)
{
	if (atomic_fetch_add_explicit(&nr_threads, 1, memory_order_relaxed) >= API_THREADS_MAX) {
		atomic_fetch_sub_explicit(&nr_threads, 1, memory_order_relaxed);
		return NULL;
	}
	/* Only pages of functions that are called become memory. */
	struct api_thread *thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (thread == MAP_FAILED) {
		atomic_fetch_sub_explicit(&nr_threads, 1, memory_order_relaxed);
		return NULL;
	}
	atomic_store_explicit(&thread->state, API_THREAD_OWNED, memory_order_relaxed);
	thread->next = api_thread_first();
	while (!atomic_compare_exchange_weak_explicit(&first, &thread->next, thread,
						      memory_order_release, memory_order_acquire))
		;
	return thread;
}

struct api_thread *api_thread_take(void)
{
	int saved_errno = errno;
	struct api_thread *thread = take_free();

	if (!thread)
		thread = create();
	errno = saved_errno;
	return thread;
}

void api_thread_enter(struct api_thread *thread, uint32_t row, uint32_t correlation_id,
		      uint64_t now_ns)
{
	/* Calls whose ends never came have filled the table. The end of the oldest is the least likely to come. */
	if (thread->depth == API_THREAD_DEPTH) {
		memmove(thread->calls, thread->calls + 1,
			(API_THREAD_DEPTH - 1) * sizeof(*thread->calls));
		thread->depth--;
	}
	thread->calls[thread->depth++] = (struct api_call){row, correlation_id, now_ns};
}

bool api_thread_leave(struct api_thread *thread, uint32_t row, uint32_t correlation_id,
		      uint64_t *start_ns)
{
	for (uint32_t i = thread->depth; i > 0; i--) {
		const struct api_call *call = &thread->calls[i - 1];

		if (call->row != row || call->correlation_id != correlation_id)
			continue;
		*start_ns = call->start_ns;
		thread->depth = i - 1;
		return true;
	}
	return false;
}

/* Stores a value that only one thread writes, without a locked instruction. Release, so that a reader that sees the
 * value also sees that version was odd. */
static void set(_Atomic uint64_t *value, uint64_t to)
{
	atomic_store_explicit(value, to, memory_order_release);
}

static uint64_t get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static bool count_failure(struct api_thread *thread, uint32_t row, uint32_t error)
{
	uint64_t wanted = (uint64_t)(row + 1) << 32 | error;
	uint32_t i = (row * 31 + error) % API_THREAD_FAILURES;

	for (uint32_t probes = 0; probes < API_THREAD_FAILURES;
	     probes++, i = (i + 1) % API_THREAD_FAILURES) {
		struct api_failure *failure = &thread->failures[i];
		uint64_t have = get(&failure->key);

		if (have != 0 && have != wanted)
			continue;
		set(&failure->count, get(&failure->count) + 1);
		if (have == 0)
			set(&failure->key, wanted);
		return true;
	}
	return false;
}

bool api_thread_count(struct api_thread *thread, uint32_t row, uint64_t ns, uint32_t error)
{
	struct api_sums *sums = &thread->sums[row];
	/* It is already odd if a signal handler jumped out of this function. */
	uint64_t writing = get(&sums->version) | 1, count = get(&sums->count);

	if (count == 0) {
		uint32_t nr_used = atomic_load_explicit(&thread->nr_used, memory_order_relaxed);

		thread->used[nr_used] = (uint16_t)row;
		atomic_store_explicit(&thread->nr_used, nr_used + 1, memory_order_release);
	}
	atomic_store_explicit(&sums->version, writing, memory_order_relaxed);
	set(&sums->count, count + 1);
	set(&sums->total_ns, get(&sums->total_ns) + ns);
	if (count == 0 || ns < get(&sums->min_ns))
		set(&sums->min_ns, ns);
	if (ns > get(&sums->max_ns))
		set(&sums->max_ns, ns);
	if (error)
		set(&sums->errors, get(&sums->errors) + 1);
	set(&sums->version, writing + 1);
	return !error || count_failure(thread, row, error);
}

void api_thread_read(const struct api_thread *thread, uint32_t row, struct api_snapshot *snapshot)
{
	const struct api_sums *sums = &thread->sums[row];
	uint64_t before, after;
	uint32_t tries = 0;

	/* The thread is in there for nanoseconds. If it was stopped there, the values are used as they are. */
	do {
		before = atomic_load_explicit(&sums->version, memory_order_acquire);
		snapshot->count = atomic_load_explicit(&sums->count, memory_order_acquire);
		snapshot->total_ns = atomic_load_explicit(&sums->total_ns, memory_order_acquire);
		snapshot->min_ns = atomic_load_explicit(&sums->min_ns, memory_order_acquire);
		snapshot->max_ns = atomic_load_explicit(&sums->max_ns, memory_order_acquire);
		snapshot->errors = atomic_load_explicit(&sums->errors, memory_order_acquire);
		after = atomic_load_explicit(&sums->version, memory_order_relaxed);
	} while ((before != after || before % 2 != 0) && ++tries < READ_TRIES);
}

void api_thread_free(struct api_thread *thread)
{
	uint32_t nr_used = atomic_load_explicit(&thread->nr_used, memory_order_acquire);

	for (uint32_t i = 0; i < nr_used; i++) {
		struct api_sums *sums = &thread->sums[thread->used[i]];

		set(&sums->count, 0);
		set(&sums->total_ns, 0);
		set(&sums->min_ns, 0);
		set(&sums->max_ns, 0);
		set(&sums->errors, 0);
	}
	for (uint32_t i = 0; i < API_THREAD_FAILURES; i++) {
		set(&thread->failures[i].key, 0);
		set(&thread->failures[i].count, 0);
	}
	thread->depth = 0;
	atomic_store_explicit(&thread->nr_used, 0, memory_order_relaxed);
	atomic_store_explicit(&thread->state, API_THREAD_FREE, memory_order_release);
}
