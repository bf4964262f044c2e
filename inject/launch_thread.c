#include "launch_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api_thread.h"
#include "graph_copies.h"
#include "lifecycle.h"
#include "proto/record_ring.h"

#define CLAIM_INTERVAL_NS 100000000u
/* The thread's destructor ran: whatever launches now comes from another destructor, and starts
 * nothing anew. */
#define ENDED   ((struct launch_thread *)1)
#define IGNORED ((struct launch_thread *)2)

static __thread struct launch_thread *own __attribute__((tls_model("initial-exec")));
static pthread_key_t key;

static inline bool is_real(const struct launch_thread *thread)
{
	return (uintptr_t)thread > (uintptr_t)IGNORED;
}

static void give_back(void *user)
{
	struct launch_thread *thread = user;

	own = ENDED;
	if (thread->api)
		api_thread_end(thread->api);
	/* In a forked child the ring is the parent's. */
	if (thread->lane != LAUNCH_THREAD_NO_LANE && lifecycle_state() != LIFECYCLE_FORKED)
		record_ring_give_back_lane(thread->ring, (uint32_t)thread->lane);
	graph_copies_destroy(thread->copies);
	munmap(thread, sizeof(*thread));
}

int launch_thread_init(void)
{
	return -pthread_key_create(&key, give_back);
}

static struct launch_thread *create(struct record_ring *ring)
{
	struct launch_thread *thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (thread == MAP_FAILED)
		return NULL;
	thread->ring = ring;
	thread->lane = LAUNCH_THREAD_NO_LANE;
	thread->tid = (uint32_t)syscall(SYS_gettid);
	if (pthread_setspecific(key, thread) != 0) {
		munmap(thread, sizeof(*thread));
		return NULL;
	}
	return thread;
}

struct launch_thread *launch_thread_own(struct record_ring *ring, uint64_t now_ns)
{
	struct launch_thread *thread = own;

	if (__builtin_expect(is_real(thread) && thread->lane >= 0, 1))
		return thread;
	if (thread && !is_real(thread))
		return NULL;

	int saved_errno = errno;
	if (!thread)
		thread = own = create(ring);
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
	struct launch_thread *thread = own;

	if (__builtin_expect(is_real(thread), 1))
		return thread;
	if (thread)
		return NULL;

	int saved_errno = errno;
	thread = own = create(ring);
	errno = saved_errno;
	return thread;
}

void launch_thread_ignore(void)
{
	own = IGNORED;
}

bool launch_thread_is_ignored(void)
{
	return own == IGNORED;
}

bool launch_thread_exists(void)
{
	return is_real(own);
}
