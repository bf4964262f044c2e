/* Keeps the state of one launching thread: its lane in the ring, the scratch memory for its stacks, and its API calls
 * if they are counted. A single initial-exec thread-local pointer leads to it, because the first touch of any larger
 * thread-local block would call malloc. A thread takes it at its first launch, and gives it back when it ends.
 *
 * As many states as the ring has lanes are used again by later threads, with the code and stacks that their scratch
 * knows. If more threads launch at once, their states are mapped, and unmapped when they end. guest_sizes.h does not
 * bound these. */
#ifndef LAUNCH_THREAD_H
#define LAUNCH_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stack_capture.h"

#include "proto/record.h"

#define LAUNCH_THREAD_NO_LANE (-1)
#define LAUNCH_THREADS_KEPT   256u /* as many as a ring has lanes by default */

struct api_thread;
struct graph_copies;
struct record_ring;

/* A launch of this thread; all 0: none. */
struct launch_mark {
	uint64_t time_ns;
	uint32_t correlation_id;
	uint16_t cbid;
	bool captured; /* it became a graph's node */
};

struct launch_thread {
	struct record_ring *ring; /* borrowed for good */
	int lane;                 /* LAUNCH_THREAD_NO_LANE: all were taken */
	uint32_t tid;
	uint64_t next_claim_ns;         /* when to ask for a lane again */
	uint32_t outer_correlation_id;  /* of the call that this thread is in */
	uint32_t outer_stack_id;        /* and its stack */
	uint32_t nested;                /* calls within it that share its id */
	struct launch_mark last_launch; /* until nccl_profiler.h takes it */
	/* the call has more to do at its exit, because it polls or loads */
	bool exit_counts;
	/* when the thread began to load GPU code; 0: it does not load */
	uint64_t load_begin_ns;
	uint32_t step; /* the number of its last step; 0: none */
	uint32_t
		measured_device; /* of the launch that it is in (kernel_metrics.h), from 1; 0: none */
	struct api_thread *api;      /* api_thread.h; NULL: none yet */
	uint64_t next_api_ns;        /* when to ask for an api_thread again */
	struct graph_copies *copies; /* owns; NULL: none yet */
	struct {
		/* the launch that carries NCCL's plan; none: another thread made it, or it was not seen */
		struct launch_mark launch;
		uint32_t stack_id; /* and its stack */
		uint64_t stream, next_stream;
	} plan;
	/* The members from here on outlive the thread. */
	uint32_t generation;        /* counts calls of launch_thread_init() */
	_Atomic uint32_t next_free; /* number of the next free state; 0: none */
	_Alignas(64) struct stack_scratch scratch;
};

/* Makes threads give their state back when they end, and keeps up to `threads` (above 0) of these states. Call it once,
 * before the first launch. Returns 0 or -errno. In a later call (tests) `threads` is ignored, and what ended threads
 * knew of another ring no longer counts. */
int launch_thread_init(uint32_t threads);

/* Returns the calling thread's state, which its first launch makes. While the thread has no lane, asks for one every
 * 100 ms by now_ns. NULL: no memory, or the thread is ending. Keeps errno. If the process uses more than 32
 * thread-specific keys, the C library allocates here once per thread; nothing else allocates. */
struct launch_thread *launch_thread_own(struct record_ring *ring, uint64_t now_ns);

/* The calling thread's state; NULL: it has none. Other values below stand for threads that get none. */
extern __thread struct launch_thread *launch_thread_tls
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#define LAUNCH_THREAD_ENDED   ((struct launch_thread *)1)
#define LAUNCH_THREAD_IGNORED ((struct launch_thread *)2)

static inline bool launch_thread_is_real(const struct launch_thread *thread)
{
	return (uintptr_t)thread > (uintptr_t)LAUNCH_THREAD_IGNORED;
}

/* Returns the meter of the calling thread; NULL: the thread has no state yet. */
static inline struct launch_meter *launch_thread_meter(void)
{
	struct launch_thread *thread = launch_thread_tls;

	return __builtin_expect(launch_thread_is_real(thread), 1) ? &thread->scratch.meter : NULL;
}

/* Returns the calling thread's state, made at the first call, without asking for a lane. It is for threads that may
 * never launch. */
struct launch_thread *launch_thread_here(struct record_ring *ring);

/* Marks the calling thread as the guest's own: none of its calls is recorded. The second function returns whether it is
 * marked. */
void launch_thread_ignore(void);
bool launch_thread_is_ignored(void);

/* Returns whether the calling thread has ever launched, or made a call that is counted. */
bool launch_thread_exists(void);

#endif
