#include "exact_windows.h"

#include <errno.h>
#include <sched.h>

#include "exact_pace.h"
#include "launch_gate.h"

#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"

#define LAUNCHES  32768u /* remembered; a power of two */
#define WAY_TURNS 5u

struct place {
	_Atomic uint32_t correlation_id; /* 0: none */
	_Atomic uint32_t stack_id, cbid;
	atomic_bool inside; /* it has begun in an open window, and has not ended */
};

atomic_uint exact_windows_wanted;
static struct place places[LAUNCHES];
static atomic_uint inside; /* launches that were noted and have not ended */

void exact_windows_want(struct exact_window *window)
{
	atomic_fetch_add(&exact_windows_wanted, 1);
	atomic_store(&window->state, EXACT_WINDOW_WANTED);
}

void exact_windows_settle(struct exact_window *window)
{
	atomic_store(&window->state, EXACT_WINDOW_NONE);
	atomic_fetch_sub(&exact_windows_wanted, 1);
}

int exact_windows_drop(struct exact_window *window)
{
	int state = atomic_load(&window->state);

	for (;;) {
		if (state == EXACT_WINDOW_BUSY) {
			sched_yield();
			state = atomic_load(&window->state);
		} else if (atomic_compare_exchange_weak(&window->state, &state,
							EXACT_WINDOW_NONE)) {
			break;
		}
	}
	if (state != EXACT_WINDOW_NONE)
		atomic_fetch_sub(&exact_windows_wanted, 1);
	window->has_set_up = false;
	return state;
}

static bool turn(struct exact_window *window, int from)
{
	return atomic_compare_exchange_strong(&window->state, &from, EXACT_WINDOW_BUSY);
}

static void open_window(const struct cupti_library *library, struct exact_window *window,
			void *context)
{
	struct cupti_sampling_call call = {.size = sizeof(call), .context = context};

	window->begin_ns = monotonic_ns();
	atomic_store(&window->ready_ns, window->has_set_up ? window->begin_ns : 0);
	window->result = library->sampling_start(&call);
	atomic_store(&window->state,
		     window->result == CUPTI_ABI_SUCCESS ? EXACT_WINDOW_OPEN : EXACT_WINDOW_FAILED);
}

static void close_window(const struct cupti_library *library, struct exact_window *window,
			 void *context, uint64_t now_ns)
{
	struct cupti_sampling_call call = {.size = sizeof(call), .context = context};

	window->end_ns = now_ns;
	window->result = library->sampling_stop(&call);
	atomic_store(&window->state, window->result == CUPTI_ABI_SUCCESS ? EXACT_WINDOW_CLOSED
									 : EXACT_WINDOW_FAILED);
}

/* Another thread may be opening or closing it. */
static bool is_there(struct exact_window *window)
{
	int state;

	while ((state = atomic_load(&window->state)) == EXACT_WINDOW_BUSY)
		sched_yield();
	return state == EXACT_WINDOW_WANTED || state == EXACT_WINDOW_OPEN;
}

void exact_windows_end(const struct cupti_library *library, struct exact_window *window,
		       void *context)
{
	const uint64_t now_ns = monotonic_ns();
	uint64_t ready_ns = 0;

	if (turn(window, EXACT_WINDOW_WANTED)) {
		exact_windows_settle(window);
	} else if (turn(window, EXACT_WINDOW_OPEN)) {
		atomic_compare_exchange_strong(&window->ready_ns, &ready_ns, now_ns);
		close_window(library, window, context, now_ns);
	}
}

void exact_windows_make_way(const struct cupti_library *library, struct exact_window *window,
			    void *context)
{
	int saved_errno = errno;

	if (!is_there(window))
		return;
	launch_gate_exit();
	for (uint32_t turns = WAY_TURNS; turns && is_there(window); turns--)
		if (launch_gate_close()) {
			exact_windows_end(library, window, context);
			launch_gate_open();
		}
	launch_gate_enter();
	errno = saved_errno;
}

/* is_inside: else it meets the window's begin or end, and may be sampled. */
static void note(uint32_t correlation_id, const struct exact_launch *launch, bool is_inside)
{
	struct place *place = &places[correlation_id % LAUNCHES];

	if (atomic_exchange(&place->inside, false)) {
		atomic_fetch_sub(&inside, 1);
		atomic_fetch_sub(&exact_windows_wanted, 1);
	}
	atomic_store(&place->correlation_id, 0);
	atomic_store(&place->stack_id, launch->stack_id);
	atomic_store(&place->cbid, launch->cbid);
	atomic_store(&place->inside, is_inside);
	atomic_store(&place->correlation_id, correlation_id);
	atomic_fetch_add(&inside, is_inside);
	atomic_fetch_add(&exact_windows_wanted, is_inside);
}

bool exact_windows_find(uint32_t correlation_id, struct exact_launch *launch)
{
	struct place *place = &places[correlation_id % LAUNCHES];

	if (!correlation_id || atomic_load(&place->correlation_id) != correlation_id)
		return false;
	launch->stack_id = atomic_load(&place->stack_id);
	launch->cbid = atomic_load(&place->cbid);
	return atomic_load(&place->correlation_id) == correlation_id;
}

void exact_windows_enter(const struct cupti_library *library, struct exact_window *window,
			 void *context, uint32_t correlation_id, const struct exact_launch *launch)
{
	int saved_errno = errno;

	if (atomic_load(&window->state) == EXACT_WINDOW_WANTED &&
	    turn(window, EXACT_WINDOW_WANTED)) {
		/* A kernel that must not be in the window could not close it. */
		if (launch_gate_is_broken())
			exact_windows_settle(window);
		else
			open_window(library, window, context);
	}
	const int state = atomic_load(&window->state);
	if (state == EXACT_WINDOW_OPEN || state == EXACT_WINDOW_BUSY)
		note(correlation_id, launch, state == EXACT_WINDOW_OPEN);
	errno = saved_errno;
}

bool exact_windows_leave(uint32_t correlation_id)
{
	struct place *place = &places[correlation_id % LAUNCHES];

	if (atomic_load(&place->correlation_id) != correlation_id ||
	    !atomic_exchange(&place->inside, false))
		return false;
	atomic_fetch_sub(&inside, 1);
	atomic_fetch_sub(&exact_windows_wanted, 1);
	return true;
}

/* The first launch that ends in a session's first window begins its time. */
static bool is_due(struct exact_window *window, uint64_t now_ns)
{
	uint64_t ready_ns = 0;

	if (atomic_compare_exchange_strong(&window->ready_ns, &ready_ns, now_ns))
		return false;
	/* This launch has left, and is still within the gate. */
	return now_ns - ready_ns >= EXACT_PACE_WINDOW_NS && now_ns > ready_ns &&
	       launch_gate_within() <= atomic_load(&inside) + 1;
}

void exact_windows_exit(const struct cupti_library *library, struct exact_window *window,
			void *context)
{
	const uint64_t now_ns = monotonic_ns();
	int saved_errno = errno;

	if (atomic_load(&window->state) == EXACT_WINDOW_OPEN && is_due(window, now_ns) &&
	    turn(window, EXACT_WINDOW_OPEN)) {
		window->has_set_up = true;
		close_window(library, window, context, now_ns);
	}
	errno = saved_errno;
}
