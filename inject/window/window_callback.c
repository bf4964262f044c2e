#include "window_callback.h"

#include <stdatomic.h>
#include <string.h>

#include "capture_window.h"
#include "profiler_range.h"

#include "inject/base/monotonic.h"
#include "inject/cupti/context_count.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/outstanding_launches.h"
#include "inject/launch/window_cbid.h"
#include "inject/launch/window_word.h"
#include "proto/record.h"

#define THREAD_MARK 16u /* streams are aligned; default streams are marked by their context */

static uint32_t recorded; /* a set of enum record_option */

void window_callback_init(uint32_t record)
{
	recorded = record;
}

/* Returns the stream in a form on which launches and waits agree. NULL means the context's default stream, unless it
 * means the thread's. */
static const void *stream_of(const struct cupti_callback_data *call, uint32_t index,
			     bool per_thread)
{
	const void *stream;

	if (!call->function_params)
		return NULL;
	memcpy(&stream, (const char *)call->function_params + index * sizeof(stream),
	       sizeof(stream));
	if ((uintptr_t)stream >= THREAD_MARK)
		return stream;
	if (per_thread || (uintptr_t)stream > 1)
		return NULL;
	return (const void *)((uintptr_t)call->context_id * THREAD_MARK + 1);
}

/* Returns the stream of a launch that may have many records. */
static const void *stream_of_many(uint32_t cbid, const struct cupti_callback_data *call)
{
	bool plain = cbid == LAUNCH_CBID_GRAPH;

	return plain || cbid == LAUNCH_CBID_GRAPH_T ? stream_of(call, 1, !plain) : NULL;
}

static void begin(uint32_t cbid, const struct cupti_callback_data *call,
		  const struct launch_cbid *launch, enum window_role role, bool outside)
{
	if (!launch || launch->flags & RECORD_LAUNCH_MANY)
		outstanding_launches_begin_many(
			call->correlation_id, outside,
			launch ? stream_of_many(cbid, call)
			       : stream_of(call, 0, role == WINDOW_ROLE_BLOCKER_T),
			monotonic_ns());
	else
		outstanding_launches_begin(call->correlation_id, outside);
}

/* Returns the word, and which window it belongs to. */
static unsigned int word_of_window(uint32_t *nr_windows)
{
	unsigned int word;

	do {
		*nr_windows = capture_window_count();
		word = atomic_load(&window_word);
	} while (*nr_windows != capture_window_count());
	return word;
}

/* Returns whether CUPTI was left since the callback began, because its thread had no processor for so long. The launch
 * goes on without CUPTI, or with a CUPTI that is back and does not know it. */
static bool is_over(unsigned int word, uint32_t nr_windows)
{
	return word == 0 || word & WINDOW_WORD_LISTEN || nr_windows != capture_window_count();
}

bool window_callback_enter(uint32_t cbid, const struct cupti_callback_data *call)
{
	uint32_t nr_windows;
	unsigned int word = word_of_window(&nr_windows);
	enum window_role role = window_cbid_role(cbid);
	const struct launch_cbid *launch = launch_cbid_find(cbid);
	bool host = launch && launch->flags & RECORD_LAUNCH_HOST;
	bool blocker = role == WINDOW_ROLE_BLOCKER || role == WINDOW_ROLE_BLOCKER_T;

	if (word & WINDOW_WORD_LISTEN) {
		/* The range's window could not be opened, or a command has closed it. */
		if (role == WINDOW_ROLE_PROFILER_STOP)
			profiler_range_stop();
		return false;
	}
	if (role != WINDOW_ROLE_NONE && !blocker && call->correlation_data)
		*call->correlation_data = monotonic_ns();
	if (role == WINDOW_ROLE_PROFILER_STOP)
		profiler_range_stop();
	if (launch && launch->option && !(launch->option & recorded))
		launch = NULL; /* enabled for its role alone */
	if (host || (!launch && !blocker))
		return launch && !(word & WINDOW_WORD_OUTSIDE);
	context_count_note(call->context_id);
	/* A launch within a launch is part of it, and must not stop half-way. */
	if (outstanding_launches_is_pending(call->correlation_id))
		return launch && !outstanding_launches_is_outside(call->correlation_id);
	for (;;) {
		bool outside = word & WINDOW_WORD_OUTSIDE;

		begin(cbid, call, launch, role, outside);
		/* This comes after the bit is set. So either this thread sees the gate, or the thread that closed the
		 * gate sees the bit. */
		word = atomic_load(&window_word);
		if (is_over(word, nr_windows)) {
			outstanding_launches_cancel(call->correlation_id);
			return false;
		}
		if (!(word & WINDOW_WORD_GATE))
			return launch && !outside;
		outstanding_launches_cancel(call->correlation_id);
		window_word_wait_at_gate();
		word = atomic_load(&window_word);
		if (word == 0)
			return false; /* CUPTI was left, and the launch goes on without it */
		if (word & WINDOW_WORD_GATE || nr_windows != capture_window_count()) {
			/* The gate is closed for too long, or CUPTI is back already and does not know this call. */
			begin(cbid, call, launch, role, true);
			return false;
		}
	}
}

static void note_wait(enum window_role role, const struct cupti_callback_data *call)
{
	uint64_t since_ns = call->correlation_data ? *call->correlation_data : 0;

	if (role == WINDOW_ROLE_WAIT_STREAM || role == WINDOW_ROLE_WAIT_STREAM_T)
		outstanding_launches_stream_waited(
			stream_of(call, 0, role == WINDOW_ROLE_WAIT_STREAM_T), since_ns);
	if (role == WINDOW_ROLE_WAIT_CONTEXT && !context_count_has_several())
		capture_window_context_waited(since_ns);
}

bool window_callback_exit(uint32_t cbid, const struct cupti_callback_data *call)
{
	unsigned int word = atomic_load(&window_word);
	enum window_role role = window_cbid_role(cbid);
	bool failed = call->return_value && *call->return_value != 0;

	if (role == WINDOW_ROLE_PROFILER_START && !failed)
		profiler_range_start();
	if (word & WINDOW_WORD_LISTEN)
		return false;
	if (failed) {
		outstanding_launches_cancel(call->correlation_id);
	} else if (role != WINDOW_ROLE_NONE && role != WINDOW_ROLE_PROFILER_START &&
		   role != WINDOW_ROLE_BLOCKER && role != WINDOW_ROLE_BLOCKER_T) {
		note_wait(role, call);
		capture_window_try_to_leave();
	}
	const struct launch_cbid *launch = launch_cbid_find(cbid);
	return launch && (!launch->option || launch->option & recorded) &&
	       !outstanding_launches_is_outside(call->correlation_id);
}
