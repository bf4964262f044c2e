#include "launch_callback.h"

#include <string.h>

#include "cost_limit.h"
#include "launch_cbid.h"
#include "launch_probe.h"
#include "launch_thread.h"

#include "inject/base/monotonic.h"
#include "inject/cupti/context_devices.h"
#include "inject/cupti/module_load.h"
#include "proto/launch_path.h"
#include "proto/options/record_options.h"
#include "proto/ring/record_ring.h"

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

/* Returns the stream of a plain launch. Other calls have theirs in other places. */
static uint64_t stream_of(uint32_t cbid, const struct cupti_callback_data *data)
{
	const struct cupti_launch_kernel *params = data->function_params;

	return cbid == LAUNCH_CBID_KERNEL && params ? (uint64_t)(uintptr_t)params->stream : 0;
}

/* Returns whether the kernel walks this stack. It can only walk native frames, by frame pointers, so stacks without
 * native frames are never its work. */
static bool is_walked_by_kernel(const struct launch_callback *launch)
{
	enum stack_mode mode = launch->capture.options.mode;

	return record_ring_is_probed(launch->ring) && mode != STACK_MODE_NONE &&
	       mode != STACK_MODE_PYTHON;
}

/* Counts a stack with less than was asked for. */
static void count_less(const struct launch_callback *launch, const struct launch_thread *thread,
		       enum cost_level level)
{
	if (thread->lane == LAUNCH_THREAD_NO_LANE)
		return;
	_Atomic uint64_t *count = record_ring_meter(launch->ring, (uint32_t)thread->lane) +
				  RECORD_METER_LESS + level - COST_LEVEL_PYTHON;

	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Takes less of a stack than was asked for, and counts that. At no level it takes anything else. */
static __attribute__((noinline)) uint32_t take_less(const struct launch_callback *launch,
						    struct launch_thread *thread,
						    enum cost_level level, uint64_t now_ns)
{
	struct stack_capture capture = launch->capture;
	bool has_native = capture.options.mode != STACK_MODE_PYTHON;
	bool has_python = capture.options.mode != STACK_MODE_NATIVE &&
			  python_frames_first(capture.python) != 0;

	if (level == COST_LEVEL_NONE)
		capture.options.mode = STACK_MODE_NONE;
	else if (has_python)
		capture.options.mode = STACK_MODE_PYTHON;
	/* A cut stack is never recorded as known. */
	capture.leaf_only = capture.walks_always = level == COST_LEVEL_LEAF;
	if (level == COST_LEVEL_PYTHON ? has_native && has_python : has_native || has_python)
		count_less(launch, thread, level);
	return stack_capture_take(&capture, &thread->scratch, now_ns);
}

/* Takes a stack, or as much of it as launches may cost. */
static uint32_t take(const struct launch_callback *launch, struct launch_thread *thread,
		     uint64_t now_ns)
{
	enum cost_level level = cost_limit_level();

	return __builtin_expect(level != COST_LEVEL_WHOLE, 0)
		       ? take_less(launch, thread, level, now_ns)
		       : stack_capture_take(&launch->capture, &thread->scratch, now_ns);
}

static __attribute__((noinline, cold)) uint32_t
take_watched(const struct launch_callback *launch, struct launch_thread *thread, uint32_t cbid,
	     const struct cupti_callback_data *data, uint64_t now_ns)
{
	bool by_kernel = is_walked_by_kernel(launch);

	launch_probe_fire(data->correlation_id, cbid, context_devices_get(data->context_id),
			  data->context_id, stream_of(cbid, data));
	return by_kernel ? RECORD_STACK_PROBE : take(launch, thread, now_ns);
}

uint32_t launch_callback_take(const struct launch_callback *launch, struct launch_thread *thread,
			      uint64_t now_ns)
{
	return take(launch, thread, now_ns);
}

uint32_t launch_callback_stack(const struct launch_callback *launch, struct launch_thread *thread)
{
	if (thread->outer_stack_id == RECORD_STACK_PROBE)
		thread->outer_stack_id = take(launch, thread, monotonic_ns());
	return thread->outer_stack_id;
}

static __attribute__((noinline, cold)) void count_without_lane(const struct launch_callback *launch,
							       uint32_t flags)
{
	if (flags & RECORD_LAUNCH_HOST)
		return; /* no launch: its records are then under [unknown stack] */
	record_ring_count(launch->ring, LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, 1, 0);
	record_ring_count(launch->ring, LEDGER_DEVICE_NONE, LEDGER_LAUNCH_NO_LANE, 1, 0);
}

/* Counts a call that leaves a record, for the meter. The thread has a lane. */
static inline void count_call(const struct launch_callback *launch, struct launch_thread *thread,
			      uint64_t now_ns)
{
	struct launch_meter *meter = &thread->scratch.meter;

	if (launch_meter_is_due(meter))
		launch_meter_turn(meter, record_ring_meter(launch->ring, (uint32_t)thread->lane),
				  now_ns);
}

/* Gives a poll that found all work done a record with its stack. */
static void end_poll(const struct launch_callback *launch, struct launch_thread *thread,
		     uint32_t cbid, const struct cupti_callback_data *data)
{
	uint64_t now_ns = monotonic_ns();

	if (!data->return_value || *data->return_value != 0 ||
	    thread->lane == LAUNCH_THREAD_NO_LANE)
		return;
	count_call(launch, thread, now_ns);
	push(launch, thread, cbid, data->correlation_id, now_ns, take(launch, thread, now_ns),
	     RECORD_LAUNCH_HOST);
}

static void end_load(struct launch_thread *thread, const struct launch_callback *launch,
		     const struct cupti_callback_data *data)
{
	const struct module_load load = {
		.begin_ns = thread->load_begin_ns,
		.end_ns = monotonic_ns(),
		.function = data->function_name,
		.correlation_id = data->correlation_id,
		.context_id = data->context_id,
	};

	if (module_load_put(&load))
		return;
	record_ring_count(launch->ring, LEDGER_DEVICE_NONE, LEDGER_RECORDS, 1, 0);
	record_ring_count(launch->ring, LEDGER_DEVICE_NONE, LEDGER_RECORD_RING_FULL, 1, 0);
}

static bool loads_code(uint32_t cbid)
{
	const struct launch_cbid *row = launch_cbid_find(cbid);

	return row && row->option == RECORD_OPTION_MODULES;
}

LAUNCH_PATH void launch_callback_enter(const struct launch_callback *launch, uint32_t cbid,
				       const struct cupti_callback_data *data)
{
	struct launch_meter *meter = launch_thread_meter();

	if (meter)
		launch_meter_stamp(meter);

	uint64_t now_ns = monotonic_ns();
	struct launch_thread *thread = launch_thread_own(launch->ring, now_ns);
	uint32_t flags = launch_cbid_flags(cbid);

	if (!thread) {
		count_without_lane(launch, flags);
		return;
	}
	if (__builtin_expect(flags & LAUNCH_CBID_POLL, 0)) {
		thread->exit_counts = true;
		if (thread->scratch.meter.on)
			launch_meter_pause(&thread->scratch.meter);
		return;
	}
	if (thread->outer_correlation_id == data->correlation_id && data->correlation_id != 0) {
		thread->nested++;
		return;
	}
	/* If an exit never comes because the call threw, the next call has another id and starts anew. */
	thread->outer_correlation_id = data->correlation_id;
	thread->nested = 0;
	thread->exit_counts = false;
	thread->last_launch = (struct launch_mark){
		.time_ns = now_ns, .correlation_id = data->correlation_id, .cbid = (uint16_t)cbid};
	if (flags & RECORD_LAUNCH_HOST && loads_code(cbid)) {
		thread->load_begin_ns = now_ns;
		thread->exit_counts = true;
	}
	if (thread->lane == LAUNCH_THREAD_NO_LANE) {
		thread->outer_stack_id = RECORD_STACK_NONE;
		count_without_lane(launch, flags);
		return;
	}
	count_call(launch, thread, now_ns);
	thread->outer_stack_id = __builtin_expect(launch_probe_is_watched(), 0)
					 ? take_watched(launch, thread, cbid, data, now_ns)
					 : take(launch, thread, now_ns);
	push(launch, thread, cbid, data->correlation_id, now_ns, thread->outer_stack_id, flags);
	meter = &thread->scratch.meter;
	if (__builtin_expect(meter->on, 0))
		launch_meter_pause(meter);
}

static void at_exit(const struct launch_callback *launch, struct launch_thread *thread,
		    uint32_t cbid, const struct cupti_callback_data *data)
{
	thread->exit_counts = false;
	if (launch_cbid_flags(cbid) & LAUNCH_CBID_POLL)
		end_poll(launch, thread, cbid, data);
	else
		end_load(thread, launch, data);
}

static __attribute__((noinline, cold)) void
leave(const struct launch_callback *launch, uint32_t cbid, const struct cupti_callback_data *data)
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
	if (thread) {
		thread->outer_correlation_id = 0;
		if (__builtin_expect(thread->exit_counts, 0))
			at_exit(launch, thread, cbid, data);
	}
	if (!failed)
		return;
	uint32_t flags = launch_cbid_flags(cbid);
	if (flags & RECORD_LAUNCH_HOST)
		return; /* a failed wait has its record, so none is missing */
	record_ring_count(launch->ring, LEDGER_DEVICE_NONE, LEDGER_LAUNCH_FAILED, 1, 0);
	if (thread && thread->lane != LAUNCH_THREAD_NO_LANE)
		push(launch, thread, cbid, data->correlation_id, now_ns, RECORD_STACK_NONE,
		     flags | RECORD_LAUNCH_FAILED);
}

LAUNCH_PATH void launch_callback_exit(const struct launch_callback *launch, uint32_t cbid,
				      const struct cupti_callback_data *data)
{
	struct launch_thread *thread = launch_thread_tls;

	if (__builtin_expect(!launch_thread_is_real(thread), 0)) {
		leave(launch, cbid, data);
		return;
	}
	struct launch_meter *meter = &thread->scratch.meter;
	if (__builtin_expect(meter->open, 0))
		launch_meter_go_on(meter);
	if (__builtin_expect(thread->nested || thread->exit_counts ||
				     (data->return_value && *data->return_value != 0),
			     0))
		leave(launch, cbid, data);
	else
		thread->outer_correlation_id = 0; /* as at most exits */
	if (__builtin_expect(meter->on, 0)) {
		launch_meter_pause(meter);
		if (thread->outer_correlation_id ==
		    0) /* else it was a call within the metered one */
			launch_meter_end(meter);
	}
}

void launch_callback_mark(const struct launch_callback *launch, enum record_mark mark,
			  uint32_t number)
{
	uint64_t now_ns = monotonic_ns();
	struct launch_thread *thread = launch_thread_own(launch->ring, now_ns);

	if (thread && mark == RECORD_MARK_STEP)
		thread->step = number;
	if (thread && mark == RECORD_MARK_STEP_END)
		number = thread->step;
	if (thread && thread->lane != LAUNCH_THREAD_NO_LANE)
		push(launch, thread, mark, number, now_ns,
		     stack_capture_ranges(&launch->capture, &thread->scratch),
		     RECORD_LAUNCH_HOST | RECORD_LAUNCH_MARK);
}
