#include "measured_range.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "device_counters.h"
#include "device_launches.h"
#include "idle_context.h"
#include "launch_choice.h"
#include "measured_calls.h"
#include "metrics_lock.h"
#include "waiting_work.h"

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/cupti/cupti_abi.h"
#include "inject/launch/launch_callback.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/launch_thread.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

static struct {
	struct launch_choice *choice;
	struct definition_writer *definitions;
	const struct metric_options *options;
	/* pthread_self() of the thread whose range is measured, or waits to be; 0: none. Changes under the lock, as all
	 * that follows it. */
	_Atomic uintptr_t owner;
	bool is_open;  /* in CUPTI */
	uint8_t token; /* of that range (nvtx_ranges_offer) */
	uint32_t name;
	uint64_t nr_own;  /* calls on the device that are the range's, but for the first */
	uint32_t unended; /* the name of the first range that was cut so, and why */
	const char *unended_why;
	bool unended_said;
	struct device_counters *counters;
	uint64_t key;
	struct device_launches_mark beside;
} self;

static bool is_owner(void)
{
	return atomic_load_explicit(&self.owner, memory_order_relaxed) == (uintptr_t)pthread_self();
}

static bool goes_on(uint32_t token)
{
	return is_owner() && self.token == token;
}

static bool is_any(void)
{
	return atomic_load(&self.owner) != 0;
}

bool measured_range_uses(const struct device_counters *counters)
{
	return is_any() && self.counters == counters;
}

static void count_refused(uint32_t device_id)
{
	record_ring_count(self.definitions->ring, device_id, LEDGER_METRIC_REFUSED, 1, 0);
}

static void close_open(enum device_counters_fate fate)
{
	if (device_counters_close(self.counters, &self.beside, self.nr_own, fate))
		launch_choice_measured(self.choice, self.key);
}

/* ---- ends ------------------------------------------------------------------------------------ */

void measured_range_cut(void)
{
	if (!is_any())
		return;
	const uint32_t device_id = device_counters_number(self.counters);

	count_refused(device_id);
	if (self.is_open && idle_context_mark(device_id, self.counters->context))
		device_counters_leave_open(self.counters);
	else if (self.is_open)
		close_open(DEVICE_COUNTERS_CUT);
	atomic_store(&self.owner, 0);
}

void measured_range_cut_unended(const char *why)
{
	if (is_any() && self.unended == NVTX_NAME_LOST) {
		self.unended = self.name;
		self.unended_why = why;
	}
	measured_range_cut();
}

void measured_range_forget(void)
{
	atomic_store(&self.owner, 0);
}

static void end(uint8_t token)
{
	const struct metrics_lock_wait wait = {self.counters, goes_on, token};

	if (!metrics_lock_wait_for_all(&wait))
		return;
	/* What others are about to submit may be counted or not. */
	self.beside.is_shared |= device_launches_inside(device_counters_number(self.counters)) != 0;
	close_open(DEVICE_COUNTERS_DONE);
	atomic_store(&self.owner, 0);
}

static void range_ends(uint8_t token, bool with_thread)
{
	int saved_errno = errno;

	/* In a forked child the lock may be held for good. */
	if (!is_owner() || lifecycle_state() == LIFECYCLE_FORKED ||
	    !metrics_lock_take(METRICS_LOCK_FIRST_S))
		return;
	if (goes_on(token) && with_thread)
		measured_range_cut_unended(MEASURED_RANGE_NEVER_ENDED);
	else if (goes_on(token))
		end(token);
	metrics_lock_release();
	errno = saved_errno;
}

/* ---- beginnings ------------------------------------------------------------------------------ */

/* Enters a name that is met for the first time, and defines it if such ranges are measured. */
static enum launch_verdict judge_name(uint64_t key, uint32_t name)
{
	const struct definition_name head = {.name_id = DEFINITION_NAME_RANGES + name};
	char text[NVTX_RANGES_TEXT];

	nvtx_ranges_text(name, text);
	enum launch_verdict verdict = launch_choice_enter(self.choice, key, text);
	if (verdict == LAUNCH_WANTED)
		definition_writer_put(self.definitions, DEFINITION_NAME, &head, sizeof(head), text,
				      (uint32_t)strlen(text));
	return verdict;
}

/* Waits for the context's work, and opens the range behind it. */
static bool open_range(const struct measured_range_call *call)
{
	const struct metrics_lock_wait wait = {self.counters, goes_on, self.token};
	const struct metric_subject subject = {
		.stack_id = launch_callback_stack(call->launch, call->thread),
		.name_id = DEFINITION_NAME_RANGES + self.name,
		.cbid = call->cbid,
		.is_range = true,
		.kernels_metric = self.options->nr_names,
	};

	if (!metrics_lock_wait(&wait))
		return false;
	const bool is_shared = self.beside.is_shared;

	self.beside = device_launches_mark(call->device_id);
	self.beside.is_shared |= is_shared;
	self.nr_own = UINT64_MAX; /* follow() adds the first */
	self.is_open =
		device_counters_open(self.counters, &subject, self.key, call->data->correlation_id);
	if (!self.is_open)
		measured_range_cut();
	return self.is_open;
}

/* Returns whether a range that is wanted is measured from now on. */
static bool begin(const struct measured_range_call *call, uint64_t key, uint32_t name,
		  bool is_first)
{
	struct device_counters *counters = &device_counters[call->device_id];

	if (is_any() || !waiting_work_is_none() ||
	    !device_counters_claim(counters, call->data->context)) {
		self.beside.is_shared |= self.counters == counters;
		count_refused(call->device_id);
		return false;
	}
	if (!device_counters_take_pass(counters, key, is_first))
		return false;
	self.counters = counters;
	self.key = key;
	self.beside.is_shared = false;
	self.is_open = false;
	self.token = (uint8_t)(self.token % UINT8_MAX + 1);
	self.name = name;
	atomic_store(&self.owner, (uintptr_t)pthread_self());
	/* From here on a thread that launches such work sees the range, and gives it up. */
	if (waiting_work_is_none())
		return open_range(call);
	measured_range_cut();
	return false;
}

/* Decides about a range at its first call that asks the GPU for work. Within a measured range none is measured: ranges
 * take turns. */
static uint8_t take(void *context, uint32_t name)
{
	const struct measured_range_call *call = context;
	const uint64_t key = launch_choice_key(call->data->context_id, RECORD_STACK_NONE,
					       (const void *)(uintptr_t)name, NULL, 0);
	enum launch_verdict verdict = launch_choice_find(self.choice, key);
	const bool is_first = verdict == LAUNCH_UNKNOWN;
	uint8_t token = 0;

	if (verdict == LAUNCH_DONE || verdict == LAUNCH_WAITING || is_owner())
		return 0;
	if (!metrics_lock_take(METRICS_LOCK_CALLBACK_S)) {
		if (verdict == LAUNCH_WANTED)
			count_refused(call->device_id);
		return 0;
	}
	if (is_first)
		verdict = judge_name(key, name);
	if (verdict == LAUNCH_WANTED && begin(call, key, name, is_first))
		token = self.token;
	metrics_lock_release();
	return token;
}

void measured_range_init(struct launch_choice *choice, struct definition_writer *definitions,
			 const struct metric_options *options)
{
	self.choice = choice;
	self.definitions = definitions;
	self.options = options;
	atomic_store(&self.owner, 0);
	self.unended = NVTX_NAME_LOST;
	self.unended_said = false;
	nvtx_ranges_tell_ends(range_ends);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Adds a call, of any thread, to the range that is open. */
static void follow(const struct measured_range_call *call)
{
	if (!metrics_lock_take(METRICS_LOCK_CALLBACK_S))
		return;
	if (is_any() && self.is_open && device_counters_number(self.counters) == call->device_id) {
		self.nr_own++;
		self.beside.is_shared |= self.counters->context != call->data->context;
		measurements_call(device_counters_measurement(self.counters),
				  call->data->correlation_id, measured_calls_kernels(call->cbid));
	}
	metrics_lock_release();
}

/* A range must not be open while such a kernel runs, since its end waits for the kernel's. */
static bool is_waiting_work(uint32_t cbid, const struct cupti_callback_data *data)
{
	if (measured_calls_is_cooperative(cbid))
		return waiting_work_is(data->symbol_name);
	if (!measured_calls_is_kernel(cbid))
		return false;
	const uint64_t key = measured_calls_key(cbid, data, RECORD_STACK_NONE, false);
	enum launch_verdict verdict = launch_choice_find(self.choice, key);

	if (verdict == LAUNCH_UNKNOWN && metrics_lock_try()) {
		verdict = launch_choice_enter(self.choice, key, data->symbol_name);
		metrics_lock_release();
	}
	return verdict == LAUNCH_WAITING ||
	       (verdict == LAUNCH_UNKNOWN && waiting_work_is(data->symbol_name));
}

void measured_range_enter(const struct measured_range_call *call)
{
	if (is_waiting_work(call->cbid, call->data)) {
		waiting_work_launched();
		/* Calls of CUPTI's that may wait for the kernel end first, whether there is a range or not. */
		if (metrics_lock_take_first()) {
			measured_range_cut();
			metrics_lock_release();
		}
	}
	if (call->thread->lane != LAUNCH_THREAD_NO_LANE &&
	    !(launch_cbid_flags(call->cbid) & (RECORD_LAUNCH_HOST | LAUNCH_CBID_POLL)))
		nvtx_ranges_offer(take, (void *)call);
	if (is_any())
		follow(call);
}

void measured_range_failed(uint32_t cbid, const struct cupti_callback_data *data)
{
	if (!is_any() || !metrics_lock_take(METRICS_LOCK_CALLBACK_S))
		return;
	if (is_any() && self.is_open && self.counters->context == data->context)
		measurements_uncall(device_counters_measurement(self.counters),
				    measured_calls_kernels(cbid));
	metrics_lock_release();
}

void measured_range_say(void)
{
	char text[NVTX_RANGES_TEXT];

	if (self.unended == NVTX_NAME_LOST || self.unended_said)
		return;
	self.unended_said = true;
	nvtx_ranges_text(self.unended, text);
	definition_writer_notice(self.definitions, NOTICE_NO_KERNEL_METRICS, 0,
				 "a range %s is not measured: %s", text, self.unended_why);
}
