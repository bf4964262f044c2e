/* Opens and closes capture windows. CUPTI is in use only inside a window. Once CUPTI was used, only cuptiFinalize()
 * takes its cost off every launch again (docs/figures.md). That call waits for all GPU work, so it must not happen
 * while a kernel may need this process to go on. A window ends like this:
 *   1. Launches from then on are outside: neither they nor their GPU work are recorded.
 *   2. At the exit of a call that waited for the GPU, the gate closes: a thread that is about to launch waits, at most
 *     50 ms. Finished records are fetched. If no launch is outstanding then (outstanding_launches.h), callbacks and
 *     kinds are switched off, and the rest is fetched by force. The gate opens, and cuptiFinalize() is called. The
 *     helper subscribes again at once, with nothing on, because subscribing waits for all GPU work, too.
 *   3. If no such moment comes within a second, or an obstacle lasts (leave_obstacle.h), the kinds are switched off.
 *     CUPTI stays. The callbacks stay, too, and do nothing (subscription_stop() says why). The state then says that
 *     launches still cost (RECORD_RING_CAPTURE_LOADED).
 *
 * Threads: "helper" is the guest's own thread; "callback" any thread of the application within CUPTI's callback. */
#ifndef CAPTURE_WINDOW_H
#define CAPTURE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"
#include "proto/options/graph_mode.h"
#include "proto/options/window_options.h"

struct cupti_library;
struct definition_writer;
struct graph_nodes;
struct record_ring;

struct capture_window_parts { /* all borrowed for good */
	struct record_ring *ring;
	struct definition_writer *definitions;
	const struct cupti_library *library; /* zeroed until find_cupti() has filled it */
	/* Finds a CUPTI and subscribes to it, or says in a notice why not (capture/cupti_choice.h). */
	bool (*find_cupti)(void);
	/* Makes ready what stacks need, before a window that the helper opens. */
	void (*prepare)(void);
	/* Wakes the helper, as a state has changed. */
	void (*wake)(void);
	/* CUPTI's callbacks go to `receive`. set_window is told which window they belong to from now on. */
	cupti_callback_fn *receive;
	void (*set_window)(uint16_t window);
	struct graph_nodes *nodes; /* of the window; NULL: none are kept */
	struct window_options options;
	enum graph_mode graphs;
	uint32_t record; /* a set of enum record_option */
};

/* Call it once, before the others. */
void capture_window_init(const struct capture_window_parts *parts);

/* Returns whether the process is captured from its start on, also because a range that it waits for is open already. On
 * the thread that loads the guest. */
bool capture_window_is_due(void);

/* Opens the first window, after CUPTI was found and subscribed to. Returns a CUptiResult, as subscription_start(). On
 * the thread that loads the guest. */
int capture_window_open_first(void);

/* Call it instead where no window is due. Subscribes, with nothing on but cudaProfilerStart if that opens windows. The
 * helper opens the windows. A dormant guest does not subscribe between windows, so that other profilers can, unless
 * CUPTI stayed. Its windows therefore open only where it is safe to subscribe late: not in a process that works on
 * several GPUs. On the thread that loads the guest. */
void capture_window_start(void);

/* Helper: takes commands, opens and ends windows. Returns after how many nanoseconds to call it again; UINT64_MAX: time
 * alone is no reason to. */
uint64_t capture_window_step(void);

/* Helper: CUPTI may be called until capture_window_unlock(). false: it is not in use. */
bool capture_window_lock(void);
void capture_window_unlock(void);

/* Any thread: returns whether the ring may go to another agent now. Each agent of a dormant guest makes a profile of
 * its own, so the window that one has begun must end before the next agent comes. */
bool capture_window_may_change_agents(void);

/* Helper: returns whether the guest is dormant again and has done all that the last window left to do. */
bool capture_window_is_resting(void);

/* Helper, within the lock: returns whether the window is open and not about to end. Any thread: whether it is, or was
 * just now. */
bool capture_window_is_open(void);

/* Helper, at the process's end, within the lock: ends the window. */
void capture_window_finish(void);

/* Helper, at the process's end: if windows waited for something and none ever opened, says in a notice what did not
 * come. nr_starts: calls of cudaProfilerStart (profiler_range_starts()). */
void capture_window_say_absence(uint64_t nr_starts);

/* Tells that CUPTI gave up by itself: no more windows open. Any thread. */
void capture_window_failed(void);

/* Call capture_window_yield() before another user of CUPTI takes the records, or ends CUPTI and our subscription. It
 * returns whether the guest stays out of CUPTI until capture_window_yielded(), which gets that result as `locked`. In
 * between, capture_window_fetch() fetches all that CUPTI still holds for us, work that has not ended included. ended:
 * CUPTI was ended, so the window is over, and the helper opens another after a while. Any thread, within CUPTI's
 * callbacks, too. */
bool capture_window_yield(void);
void capture_window_fetch(void);
void capture_window_yielded(bool locked, bool ended);

/* Helper: returns whether CUPTI was ended so. The guest does not take CUPTI up again before this was called. */
bool capture_window_was_lost(void);

/* Tells that an NVTX range of the wanted name, or cudaProfilerStart's, opens or closes. It takes effect at once. Any
 * thread, outside CUPTI's callbacks. */
void capture_window_range(bool open);

/* Callback: the number of windows so far, the open one included. */
uint32_t capture_window_count(void);

/* Callback, at the exit of a call that waited for the GPU: leaves CUPTI if the window is over and nothing is
 * outstanding. */
void capture_window_try_to_leave(void);

/* Callback: tells that all work of the only context that was launched before since_ns (CLOCK_MONOTONIC) is done. */
void capture_window_context_waited(uint64_t since_ns);

#endif
