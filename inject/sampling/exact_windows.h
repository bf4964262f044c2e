/* Opens and closes exact windows: CUPTI's serialized PC Sampling runs for some milliseconds. Each sample then has the
 * correlation id of its launch. The guest's own thread asks for a window. The program's threads open it where a launch
 * begins, and close it where one ends, because CUPTI stands still for ever if another thread calls
 * cuptiPCSamplingStop() while a launch is under way (launch_gate.h). Measured on an H200 (CUPTI 13.0): to open and to
 * close take 6 us each; a launch in a window returns when its kernel has ended, after 0.8 ms at least; the first launch
 * of a session takes 0.08 s more.
 *
 * A kernel that waits for those of other GPUs must not be launched in a window. Its launch would return only when the
 * others have been launched, which the same thread may do next: with NCCL on two GPUs that is a deadlock. One per
 * process. */
#ifndef EXACT_WINDOWS_H
#define EXACT_WINDOWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cupti_library;

/* Embedded, one for each context. Zeroed memory is one without a window. */
struct exact_window {
	atomic_int state;  /* enum exact_window_state */
	bool has_set_up;   /* a launch of this session has ended in a window */
	int result;        /* CUptiResult, of a window that failed */
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	/* when the first launch had ended, if that one prepares the session; else begin_ns */
	_Atomic uint64_t ready_ns;
	uint64_t end_ns;
};

enum exact_window_state {
	EXACT_WINDOW_NONE,
	EXACT_WINDOW_WANTED,
	EXACT_WINDOW_BUSY, /* a launching thread opens or closes it */
	EXACT_WINDOW_OPEN,
	EXACT_WINDOW_CLOSED, /* its samples can be fetched */
	EXACT_WINDOW_FAILED,
};

/* A launch of a window. */
struct exact_launch {
	uint32_t stack_id, cbid; /* as in launch_record */
};

extern atomic_uint exact_windows_wanted __attribute__((visibility("hidden")));

/* Returns whether the callbacks of launches have to call enter(), leave() and exit(). */
static inline bool exact_windows_are_wanted(void)
{
	return atomic_load_explicit(&exact_windows_wanted, memory_order_relaxed) != 0;
}

/* The guest's own thread: asks for a window; ends the account of one that is closed or has failed. */
void exact_windows_want(struct exact_window *window);
void exact_windows_settle(struct exact_window *window);

/* The context goes, or its session ends: nobody opens or closes a window any more. Waits for a thread that does so.
 * Returns the enum exact_window_state of before. */
int exact_windows_drop(struct exact_window *window);

/* With the gate closed: closes a window that is open, and takes back the wish for one. */
void exact_windows_end(const struct cupti_library *library, struct exact_window *window,
		       void *context);

/* In the callback of a launch of the context, within the gate, whose kernel must not be in a window: closes one that
 * is open, and takes back the wish for one. Waits until other launches have ended, at most for five times 0.2 s; after
 * that the launch is in the window. Keeps errno. */
void exact_windows_make_way(const struct cupti_library *library, struct exact_window *window,
			    void *context);

/* In the callbacks of a launch of the context, within the gate. The first opens a window that is wanted, unless the
 * gate is broken (launch_gate.h). It notes the launch if a window is open; leave() returns whether it did; exit()
 * closes the window if its time is over and no launch is under way that began before it. Launches of a window do not
 * meet: CUPTI lets one in at a time, until it has told of its end. Keep errno. */
void exact_windows_enter(const struct cupti_library *library, struct exact_window *window,
			 void *context, uint32_t correlation_id, const struct exact_launch *launch);
bool exact_windows_leave(uint32_t correlation_id);
void exact_windows_exit(const struct cupti_library *library, struct exact_window *window,
			void *context);

/* Finds one of the last 32,768 launches of windows. Any thread. false: it is not known. */
bool exact_windows_find(uint32_t correlation_id, struct exact_launch *launch);

#endif
