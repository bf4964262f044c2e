#include "launch_callback.h"

#include "launch_cbid.h"
#include "launch_thread.h"
#include "monotonic.h"
#include "proto/record_ring.h"

static void push(const struct launch_callback *launch, struct launch_thread *thread, uint32_t cbid,
		 uint32_t correlation_id, uint64_t now_ns, uint32_t stack_id, uint32_t flags)
{
	const struct launch_record record = {
		.time_ns = now_ns,
		.correlation_id = correlation_id,
		.stack_id = stack_id,
		.tid = thread->tid,
		.cbid = (uint16_t)cbid,
		.window = launch->window,
		.flags = flags,
	};

	record_ring_push_launch(launch->ring, (uint32_t)thread->lane, &record);
}

static void count_without_lane(const struct launch_callback *launch)
{
	record_ring_count(launch->ring, LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, 1, 0);
	record_ring_count(launch->ring, LEDGER_DEVICE_NONE, LEDGER_LAUNCH_NO_LANE, 1, 0);
}

void launch_callback_enter(const struct launch_callback *launch, uint32_t cbid,
			   const struct cupti_callback_data *data)
{
	uint64_t now_ns = monotonic_ns();
	struct launch_thread *thread = launch_thread_own(launch->ring, now_ns);

	if (!thread) {
		count_without_lane(launch);
		return;
	}
	if (thread->outer_correlation_id == data->correlation_id && data->correlation_id != 0) {
		thread->nested++;
		return;
	}
	/* Should an exit never come (the call threw), the next call's id differs and starts afresh.
	 */
	thread->outer_correlation_id = data->correlation_id;
	thread->nested = 0;
	if (thread->lane == LAUNCH_THREAD_NO_LANE) {
		thread->outer_stack_id = RECORD_STACK_NONE;
		count_without_lane(launch);
		return;
	}
	thread->outer_stack_id = stack_capture_take(&launch->capture, &thread->scratch, now_ns);
	push(launch, thread, cbid, data->correlation_id, now_ns, thread->outer_stack_id,
	     launch_cbid_flags(cbid));
}

void launch_callback_exit(const struct launch_callback *launch, uint32_t cbid,
			  const struct cupti_callback_data *data)
{
	bool failed = data->return_value && *data->return_value != 0;

	if (!launch_thread_exists() && !failed)
		return;

	uint64_t now_ns = failed ? monotonic_ns() : 0;
	struct launch_thread *thread = launch_thread_own(launch->ring, now_ns);
	if (thread && thread->outer_correlation_id == data->correlation_id && thread->nested) {
		thread->nested--;
		return;
	}
	if (thread)
		thread->outer_correlation_id = 0;
	if (!failed)
		return;
	uint32_t flags = launch_cbid_flags(cbid);
	if (!(flags & RECORD_LAUNCH_HOST))
		record_ring_count(launch->ring, LEDGER_DEVICE_NONE, LEDGER_LAUNCH_FAILED, 1, 0);
	if (thread && thread->lane != LAUNCH_THREAD_NO_LANE)
		push(launch, thread, cbid, data->correlation_id, now_ns, RECORD_STACK_NONE,
		     flags | RECORD_LAUNCH_FAILED);
}
