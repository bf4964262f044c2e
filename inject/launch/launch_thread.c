#include "launch_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api_thread.h"

#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/graph_copies.h"
#include "proto/launch_path.h"
#include "proto/ring/record_ring.h"
#include "proto/sparse_memory.h"
#include "python/python_texts.h"

#define CLAIM_INTERVAL_NS 100000000u

__thread struct launch_thread *launch_thread_tls __attribute__((tls_model("initial-exec")));
static pthread_key_t key;

/* The states that ended threads left for later ones. Their memory is mapped, and their knowledge of code and stacks
 * holds for the whole process. The newest is taken first. They are pushed and popped by number, with a count of changes
 * above it, so that no two threads take the same one. */
static struct launch_thread *kept; /* [nr_kept]; NULL: none are kept */
static uint32_t nr_kept;
static _Atomic uint32_t nr_made;
static _Atomic uint64_t free_head; /* changes << 32 | number, from 1; 0: none is free */
static uint32_t generation;

static bool is_kept(const struct launch_thread *thread)
{
	return kept && thread >= kept && thread < kept + nr_kept;
}

static uint64_t next_head(uint64_t head, uint32_t number)
{
	return ((head >> 32) + 1) << 32 | number;
}

static void push_free(struct launch_thread *thread)
{
	uint64_t head = atomic_load_explicit(&free_head, memory_order_relaxed);

	do
		atomic_store_explicit(&thread->next_free, (uint32_t)head, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
		&free_head, &head, next_head(head, (uint32_t)(thread - kept) + 1),
		memory_order_release, memory_order_relaxed));
}

/* NULL: none is free. */
static struct launch_thread *pop_free(void)
{
	uint64_t head = atomic_load_explicit(&free_head, memory_order_acquire);
	uint32_t next;

	do {
		if ((uint32_t)head == 0)
			return NULL;
		/* Another thread may have taken it by now, but then the head has changed. */
		next = atomic_load_explicit(&kept[(uint32_t)head - 1].next_free,
					    memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&free_head, &head, next_head(head, next),
							memory_order_acquire,
							memory_order_acquire));
	return &kept[(uint32_t)head - 1];
}

static struct launch_thread *take_kept(void)
{
	struct launch_thread *thread = pop_free();

	if (thread || !kept || atomic_load_explicit(&nr_made, memory_order_relaxed) >= nr_kept)
		return thread;
	uint32_t number = atomic_fetch_add_explicit(&nr_made, 1, memory_order_relaxed);
	return number < nr_kept ? &kept[number] : NULL;
}

/* Cleans a state, but keeps what holds for any thread: the rules of code, the ids of stacks, and a block of calls that
 * the meter has not added yet. */
static void clean(struct launch_thread *thread)
{
	memset(thread, 0, offsetof(struct launch_thread, generation));
	if (thread->generation != generation) {
		known_stacks_fini(&thread->scratch.known);
		python_texts_unmap(&thread->scratch.standing.texts);
		memset(&thread->scratch, 0, sizeof(thread->scratch));
	}
	thread->generation = generation;
	thread->scratch.bounds = (struct stack_bounds){0};
	thread->scratch.rules.trail.nr = 0;
	thread->scratch.known.busy = false;
	thread->scratch.autograd = (struct autograd_thread){0};
}

static void release(struct launch_thread *thread)
{
	if (is_kept(thread)) {
		push_free(thread);
	} else {
		known_stacks_fini(&thread->scratch.known);
		python_texts_unmap(&thread->scratch.standing.texts);
		munmap(thread, sizeof(*thread));
	}
}

static void give_back(void *user)
{
	struct launch_thread *thread = user;

	/* A launch after this comes from another destructor, and gets no new state. */
	launch_thread_tls = LAUNCH_THREAD_ENDED;
	if (lifecycle_state() == LIFECYCLE_FORKED)
		return; /* the ring is the parent's, and the rest ends with the child */
	if (thread->api)
		api_thread_end(thread->api);
	launch_meter_hand_on(&thread->scratch.meter, monotonic_ns());
	if (thread->lane != LAUNCH_THREAD_NO_LANE)
		record_ring_give_back_lane(thread->ring, (uint32_t)thread->lane);
	graph_copies_destroy(thread->copies);
	release(thread);
}

int launch_thread_init(uint32_t threads)
{
	if (generation++ > 0)
		return 0;
	nr_kept = threads;
	kept = sparse_memory_map(nr_kept * sizeof(*kept), PROT_READ | PROT_WRITE);
	return -pthread_key_create(&key, give_back);
}

static struct launch_thread *create(struct record_ring *ring)
{
	struct launch_thread *thread = take_kept();

	if (!thread)
		thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (thread == MAP_FAILED)
		return NULL;
	clean(thread);
	thread->ring = ring;
	thread->lane = LAUNCH_THREAD_NO_LANE;
	thread->tid = (uint32_t)syscall(SYS_gettid);
	if (pthread_setspecific(key, thread) != 0) {
		release(thread);
		return NULL;
	}
	return thread;
}

LAUNCH_PATH struct launch_thread *launch_thread_own(struct record_ring *ring, uint64_t now_ns)
{
	struct launch_thread *thread = launch_thread_tls;

	if (__builtin_expect(launch_thread_is_real(thread) && thread->lane >= 0, 1))
		return thread;
	if (thread && !launch_thread_is_real(thread))
		return NULL;

	int saved_errno = errno;
	if (!thread)
		thread = launch_thread_tls = create(ring);
	if (thread && now_ns >= thread->next_claim_ns) {
		int lane = record_ring_claim_lane(ring);

		thread->lane = lane >= 0 ? lane : LAUNCH_THREAD_NO_LANE;
		thread->next_claim_ns = now_ns + CLAIM_INTERVAL_NS;
	}
	errno = saved_errno;
	return thread;
}

struct launch_thread *launch_thread_here(struct record_ring *ring)
{
	struct launch_thread *thread = launch_thread_tls;

	if (__builtin_expect(launch_thread_is_real(thread), 1))
		return thread;
	if (thread)
		return NULL;

	int saved_errno = errno;
	thread = launch_thread_tls = create(ring);
	errno = saved_errno;
	return thread;
}

void launch_thread_ignore(void)
{
	launch_thread_tls = LAUNCH_THREAD_IGNORED;
}

bool launch_thread_is_ignored(void)
{
	return launch_thread_tls == LAUNCH_THREAD_IGNORED;
}

bool launch_thread_exists(void)
{
	return launch_thread_is_real(launch_thread_tls);
}
