/* The guest's own thread. Ten times a second it calls what has work to do: the agent's watch, modules, unwind tables,
 * Python, devices, the flush of activity (activity_flush.h) and its watch (window_watch.h). It also does the last
 * flush. All signals are blocked in it. One per process. */
#ifndef HELPER_THREAD_H
#define HELPER_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct autograd_origin;
struct kernel_contexts;
struct cupti_library;
struct definition_writer;
struct module_watch;
struct python_frames;
struct record_ring;
struct unwind_tables;

struct helper_thread_parts { /* all borrowed for good */
	struct record_ring *ring;
	struct definition_writer *definitions;
	struct module_watch *modules;
	struct unwind_tables *tables;
	struct python_frames *python;
	struct autograd_origin *autograd; /* NULL: launches want no Python frames */
	struct kernel_contexts *contexts; /* NULL: launches want no stacks */
	const struct cupti_library *library;
	bool native_stacks;   /* launches want them */
	bool soon;            /* a window may open at any moment: have everything ready */
	bool late;            /* CUDA may have been used before the first capture window */
	uint32_t record;      /* a set of enum record_option */
	uint32_t sample_rate; /* of exact windows (sample_option.h); 0: none */
	uint32_t max_cost;    /* what launches may cost (cost_option.h); 0: no limit */
};

/* Returns 0, or -errno of pthread_create(). */
int helper_thread_start(const struct helper_thread_parts *parts);

/* Asks the thread for the last flush, for the goodbye in the ring and for an agent that has the ring. Waits for them,
 * at most 2 seconds in all. There is no flush if the GPU never worked. Returns whether the goodbye is in the ring; if
 * not, counts the launches whose records CUPTI still holds. If the thread was not started: false at once. */
bool helper_thread_stop(void);

/* CUPTI's callbacks tell of events. These functions only set a flag and wake the thread. */
void helper_thread_init_finished(void);
void helper_thread_context_created(void);
void helper_thread_cupti_failed(void);
void helper_thread_flush_soon(void); /* flush now, not at the end of the interval */

/* Makes ready what stacks need and do not have yet. On the guest's own thread alone. */
void helper_thread_prepare(void);

/* Wakes the thread to look for something new. Any thread. */
void helper_thread_wake(void);

#endif
