/* What one launching thread keeps: its lane in the ring, what its stacks are captured with, and its API calls where
 * they are counted. Reached through a single initial-exec thread-local pointer, because the first touch of any
 * larger thread-local block would call malloc; taken at the thread's first launch, given back when the thread ends.
 * As many as the ring has lanes are used again by threads to come, with what their scratch knows of code and stacks.
 * Those of more threads at once are mapped, and unmapped at their end: memory_budget.h does not bound these. */
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

/* A launch as the thread made it; all 0: none. */
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
	uint64_t next_claim_ns;         /* when to ask again */
	uint32_t outer_correlation_id;  /* of the call that this thread is in */
	uint32_t outer_stack_id;        /* and its stack */
	uint32_t nested;                /* calls within it that share its id */
	struct launch_mark last_launch; /* until somebody has taken it (nccl_profiler.h) */
	bool exit_counts;               /* its call has more to do at its exit: it polls or loads */
	uint64_t load_begin_ns;         /* since when it loads GPU code; 0: it does not */
	struct api_thread *api;         /* api_thread.h; NULL: none yet */
	uint64_t next_api_ns;           /* when to ask for one again */
	struct graph_copies *copies;    /* owns; NULL: none yet */
	struct {
		/* that carries NCCL's plan; none: made by another thread, or not seen */
		struct launch_mark launch;
		uint32_t stack_id; /* and its stack */
		uint64_t stream, next_stream;
	} plan;
	/* From here on, what outlives its thread. */
	uint32_t generation;        /* of launch_thread_init() */
	_Atomic uint32_t next_free; /* number of the next free one; 0: none */
	struct stack_scratch scratch;
};

/* Makes threads give back what they have when they end, and keeps that of so many (above 0). Once, before the first
 * launch. Returns 0 or -errno. Called again (tests), what ended threads knew of another ring counts no longer, and
 * `threads` is as at first. */
int launch_thread_init(uint32_t threads);

/* The calling thread's state, made at its first launch. Asks for a lane again every 100 ms by
 * now_ns while it has none.
 * NULL: no memory, or the thread is ending. errno is kept. Should the process use more than 32
 * thread-specific keys, the C library allocates once a thread here; nothing else does. */
struct launch_thread *launch_thread_own(struct record_ring *ring, uint64_t now_ns);

/* The calling thread's state, made at the first call. Does not ask for a lane: for threads that need not launch. */
struct launch_thread *launch_thread_here(struct record_ring *ring);

/* The calling thread is the guest's own: nothing that it does is kept. */
void launch_thread_ignore(void);
bool launch_thread_is_ignored(void);

/* Whether the calling thread has ever launched, or made a call that is counted. */
bool launch_thread_exists(void);

#endif
