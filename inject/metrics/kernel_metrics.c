#include "kernel_metrics.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "capture_calls.h"
#include "device_counters.h"
#include "device_launches.h"
#include "idle_context.h"
#include "launch_choice.h"
#include "measured_calls.h"
#include "measured_launch.h"
#include "measured_range.h"
#include "metrics_lock.h"
#include "waiting_work.h"

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_callback.h"
#include "inject/launch/launch_thread.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

/* CUresults of an invalid capture. */
#define CAPTURE_INVALIDATED 901
#define CAPTURE_UNMATCHED   903 /* this one ended none */
#define CAPTURE_EVENT       907

static struct {
	const struct cupti_library *library;
	struct definition_writer *definitions;
	const struct metric_options *options;
	struct launch_choice *choice;
	atomic_bool captured_said, missing_said;
} self;

int kernel_metrics_init(const struct cupti_library *library, struct definition_writer *definitions,
			const struct metric_options *options, void (*flush_soon)(void))
{
	struct metric_sums *sums =
		metric_sums_create(options->names, options->nr_names + options->are_ranges);

	self.library = library;
	self.definitions = definitions;
	self.options = options;
	device_counters_init(library, definitions, options);
	measured_calls_init(library);
	idle_context_init();
	device_launches_init();
	waiting_work_init(flush_soon);
	atomic_store(&self.captured_said, false);
	atomic_store(&self.missing_said, false);
	launch_choice_destroy(self.choice);
	self.choice = sums ? launch_choice_create(options->launches, options->regex) : NULL;
	if (!self.choice) {
		metric_sums_destroy(sums);
		return -ENOMEM;
	}
	measurements_init(sums, definitions->ring, flush_soon);
	measured_launch_init(self.choice, definitions->ring);
	if (options->are_ranges)
		measured_range_init(self.choice, definitions, options);
	return 0;
}

bool kernel_metrics_has_begun(void)
{
	return device_counters_have_begun();
}

/* ---- launches -------------------------------------------------------------------------------- */

/* No call of CUPTI's may wait for such a kernel. So those under way end first, and a launch that is measured is given
 * up. */
static void enter_waiting(void)
{
	waiting_work_launched();
	if (metrics_lock_take_first()) {
		measured_launch_cut();
		metrics_lock_release();
	}
}

static void enter(const struct launch_callback *launch, struct launch_thread *thread, uint32_t cbid,
		  const struct cupti_callback_data *call)
{
	const uint32_t stack_id = launch_callback_stack(launch, thread);
	const uint64_t key = measured_calls_key(cbid, call, stack_id, false);
	enum launch_verdict verdict = launch_choice_find(self.choice, key);
	const bool is_first = verdict == LAUNCH_UNKNOWN;

	if (verdict == LAUNCH_WAITING)
		enter_waiting();
	if (verdict == LAUNCH_DONE || verdict == LAUNCH_WAITING)
		return;
	if (!metrics_lock_try()) {
		if (verdict == LAUNCH_UNKNOWN && waiting_work_is(call->symbol_name))
			enter_waiting();
		return;
	}
	if (verdict == LAUNCH_UNKNOWN)
		verdict = launch_choice_enter(self.choice, key, call->symbol_name);
	if (verdict == LAUNCH_WAITING)
		waiting_work_launched();
	if (verdict == LAUNCH_WANTED && !waiting_work_is_none()) {
		record_ring_count(self.definitions->ring, measured_calls_device(call),
				  LEDGER_METRIC_REFUSED, 1, 0);
		verdict = LAUNCH_WAITING;
	}
	if (verdict != LAUNCH_WANTED || measured_launch_is() ||
	    !measured_launch_begin(cbid, call, stack_id, key, is_first))
		metrics_lock_release();
}

/* ---- callbacks ------------------------------------------------------------------------------- */

void kernel_metrics_enter(const struct launch_callback *launch, uint32_t cbid,
			  const struct cupti_callback_data *call)
{
	struct launch_thread *thread = launch_thread_tls;
	int saved_errno = errno;

	if (capture_calls_begin(cbid)) {
		bool locked = metrics_lock_take_first();

		if (locked) {
			measured_range_cut();
			measured_launch_cut();
		}
		waiting_work_capture(true);
		if (locked)
			metrics_lock_release();
		errno = saved_errno;
		return;
	}
	if (capture_calls_end(cbid) || !launch_thread_is_real(thread) || thread->nested ||
	    !self.choice)
		return;
	uint32_t device_id = measured_calls_device(call);
	if (device_id == RECORD_DEVICES_MAX) {
		errno = saved_errno;
		return;
	}
	device_launches_enter(thread, device_id);
	if (self.options->are_ranges)
		measured_range_enter(
			&(struct measured_range_call){launch, thread, cbid, device_id, call});
	else if (measured_calls_is_kernel(cbid) && thread->lane != LAUNCH_THREAD_NO_LANE)
		enter(launch, thread, cbid, call);
	else if (measured_calls_is_cooperative(cbid) && waiting_work_is(call->symbol_name))
		enter_waiting();
	errno = saved_errno;
}

/* Other answers say that there is no such capture, or none of this thread. */
static bool ends_capture(int answer)
{
	return answer == 0 || (answer >= CAPTURE_INVALIDATED && answer <= CAPTURE_EVENT &&
			       answer != CAPTURE_UNMATCHED);
}

void kernel_metrics_exit(uint32_t cbid, const struct cupti_callback_data *call)
{
	const int answer = call->return_value ? *call->return_value : 0;
	int saved_errno = errno;

	if ((capture_calls_begin(cbid) && answer != 0) ||
	    (capture_calls_end(cbid) && ends_capture(answer))) {
		waiting_work_capture(false);
		errno = saved_errno;
		return;
	}
	struct launch_thread *thread = launch_thread_tls;
	if (launch_thread_is_real(thread) && thread->measured_device && thread->nested == 0) {
		device_launches_exit(thread);
		/* No record will come. */
		if (answer != 0 &&
		    (measured_calls_is_kernel(cbid) || measured_calls_is_cooperative(cbid)))
			waiting_work_ended(call->symbol_name);
		if (answer != 0 && self.options->are_ranges)
			measured_range_failed(cbid, call);
	}
	if (launch_thread_is_real(thread) && !thread->nested &&
	    measured_launch_has(call->correlation_id)) {
		measured_launch_end(call, answer != 0);
		metrics_lock_release();
	}
	errno = saved_errno;
}

void kernel_metrics_record(const struct gpu_record *record, const char *name)
{
	/* CUPTI waits in the GPU by a kernel of its own, which has the id of the launch that is measured. */
	if (name && strcmp(name, "WaitNs") == 0)
		return;
	const struct measured_kernel kernel = {
		.correlation_id = record->correlation_id,
		.name_id = record->name_id,
		.device_id = record->device_id,
		.begin_ns = record->start_ns,
		.end_ns = record->end_ns,
	};

	measurements_record(&kernel);
}

/* ---- the guest's own thread, and ends -------------------------------------------------------- */

/* Returns whether a range was left open whose end may wait for the GPU. */
static bool would_wait(const struct device_counters *counters)
{
	return counters->is_left_open &&
	       (!waiting_work_is_none() ||
		idle_context_state(device_counters_number(counters)) != IDLE_CONTEXT_ENDED);
}

/* Ends the session of a context, or all (NULL), after a last look if that is possible. */
static void end_of(void *context, bool is_gone)
{
	const bool may_look = !is_gone && !waiting_work_is_capturing();

	for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++) {
		struct device_counters *counters = &device_counters[i];

		if (!counters->context || (context && counters->context != context))
			continue;
		/* What is open is given up. */
		if (measured_launch_uses(counters))
			measured_launch_cut();
		if (measured_range_uses(counters) && is_gone)
			measured_range_forget();
		else if (measured_range_uses(counters))
			measured_range_cut_unended(context ? "its context was destroyed within it"
							   : MEASURED_RANGE_NEVER_ENDED);
		/* Only a context's destruction waits for its work anyway. */
		if (!context && !is_gone && would_wait(counters))
			continue;
		if (may_look && counters->context)
			device_counters_look(counters);
		/* Nor may it be ended by CUPTI while a stream is captured. */
		if (counters->context)
			device_counters_end(counters, is_gone || waiting_work_is_capturing());
	}
}

void kernel_metrics_forget(void *context)
{
	int saved_errno = errno;

	const bool locked = metrics_lock_take(METRICS_LOCK_CALLBACK_S);

	if (locked)
		end_of(context, false);
	idle_context_forget(context);
	if (locked)
		metrics_lock_release();
	errno = saved_errno;
}

void kernel_metrics_leave(bool ended)
{
	int saved_errno = errno;

	if (metrics_lock_take(METRICS_LOCK_CALLBACK_S)) {
		end_of(NULL, ended);
		metrics_lock_release();
	}
	errno = saved_errno;
}

static void step(struct device_counters *counters, uint64_t now_ns, bool last)
{
	if (last && measured_range_uses(counters))
		measured_range_cut_unended(MEASURED_RANGE_NEVER_ENDED);
	const bool is_open = measured_range_uses(counters) || measured_launch_uses(counters);

	/* At the end the last records have not come yet. */
	const bool may_rest = last ? !waiting_work_is_capturing() : waiting_work_is_none();

	if (may_rest && !would_wait(counters) && !is_open)
		device_counters_rest(counters, now_ns, last);
	device_counters_say(counters, last);
}

static void say_no_longer(const char *why)
{
	definition_writer_notice(self.definitions, NOTICE_NO_KERNEL_METRICS, 0,
				 "%s are no longer measured%s",
				 self.options->are_ranges ? "ranges" : "kernels", why);
}

void kernel_metrics_step(bool last)
{
	const uint64_t now_ns = monotonic_ns();

	if (!self.choice)
		return;
	if (last ? metrics_lock_take(METRICS_LOCK_CALLBACK_S) : metrics_lock_try()) {
		for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++)
			step(&device_counters[i], now_ns, last);
		if (self.options->are_ranges)
			measured_range_say();
		metrics_lock_release();
	}
	if (waiting_work_is_in_graphs() && !atomic_exchange(&self.captured_said, true))
		say_no_longer(": a kernel that may wait for other GPUs was launched while a stream "
			      "was captured, so a graph may have it");
	if (waiting_work_is_missing() && !atomic_exchange(&self.missing_said, true))
		say_no_longer(" while the record of a kernel that may wait for other GPUs is "
			      "missing: CUPTI has dropped records");
	measurements_expire(now_ns, last);
	uint32_t left = measurements_define(self.definitions);
	if (last && left)
		record_ring_count(self.definitions->ring, LEDGER_DEVICE_NONE, LEDGER_STATISTIC_LOST,
				  left, 0);
}
