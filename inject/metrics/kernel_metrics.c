#include "kernel_metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "capture_calls.h"
#include "device_counters.h"
#include "device_launches.h"
#include "idle_context.h"
#include "launch_choice.h"
#include "measured_calls.h"
#include "measured_launch.h"
#include "waiting_work.h"

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_callback.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/launch_thread.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

#define NOT_CAPTURING   401 /* CUresult: the call that should end a capture did not */
#define WRONG_THREAD    908
#define CAPTURE_WAIT_S  10 /* the most that a capture's begin waits for CUPTI's calls */
#define CALLBACK_WAIT_S 1

static struct {
	const struct cupti_library *library;
	struct definition_writer *definitions;
	const struct metric_options *options;
	/* From a measured launch's enter to its exit, except while it waits for the GPU; around all calls of CUPTI. */
	pthread_mutex_t lock;
	/* pthread_self() of the thread whose range of the program is open; 0: none. Changes under the lock, as all
	 * that follows it. */
	_Atomic uintptr_t owner;
	uint8_t token; /* of that range (nvtx_ranges_offer) */
	uint32_t name;
	uint64_t nr_own;  /* calls on the device that are the range's, but for the first */
	uint32_t unended; /* the name of the first range that never ended */
	bool unended_said;
	struct launch_choice *choice;
	struct device_counters *open_at;
	uint64_t open_key;
	struct device_launches_mark beside;
	atomic_bool captured_said;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void range_ends(uint8_t token, bool with_thread);

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
	atomic_store(&self.owner, 0);
	self.unended = NVTX_NAME_LOST;
	self.unended_said = false;
	nvtx_ranges_tell_ends(range_ends);
	waiting_work_init(flush_soon);
	atomic_store(&self.captured_said, false);
	launch_choice_destroy(self.choice);
	self.choice = sums ? launch_choice_create(options->launches, options->regex) : NULL;
	if (!self.choice) {
		metric_sums_destroy(sums);
		return -ENOMEM;
	}
	measurements_init(sums, definitions->ring);
	measured_launch_init(&self.lock, self.choice, definitions->ring);
	return 0;
}

bool kernel_metrics_has_begun(void)
{
	return device_counters_have_begun();
}

/* ---- launches -------------------------------------------------------------------------------- */

static void enter(const struct launch_callback *launch, struct launch_thread *thread, uint32_t cbid,
		  const struct cupti_callback_data *call)
{
	const uint32_t stack_id = launch_callback_stack(launch, thread);
	const uint64_t key = measured_calls_key(cbid, call, stack_id, false);
	enum launch_verdict verdict = launch_choice_find(self.choice, key);
	const bool is_first = verdict == LAUNCH_UNKNOWN;

	if (verdict == LAUNCH_WAITING)
		waiting_work_launched();
	if (verdict == LAUNCH_DONE || verdict == LAUNCH_WAITING)
		return;
	if (pthread_mutex_trylock(&self.lock) != 0) {
		if (verdict == LAUNCH_UNKNOWN && waiting_work_is(call->symbol_name))
			waiting_work_launched();
		return;
	}
	if (verdict == LAUNCH_UNKNOWN)
		verdict = launch_choice_enter(self.choice, key, call->symbol_name);
	if (verdict == LAUNCH_WAITING)
		waiting_work_launched();
	if (verdict != LAUNCH_WANTED || measured_launch_is() || !waiting_work_is_none() ||
	    !measured_launch_begin(cbid, call, stack_id, key, is_first))
		pthread_mutex_unlock(&self.lock);
}

static bool lock_for(time_t seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	return pthread_mutex_timedlock(&self.lock, &until) == 0;
}

/* Closes what is open. nr_own: as device_launches_were_shared(). */
static void close_open(uint64_t nr_own, enum device_counters_fate fate)
{
	if (device_counters_close(self.open_at, &self.beside, nr_own, fate))
		launch_choice_measured(self.choice, self.open_key);
}

/* ---- ranges of the program ------------------------------------------------------------------- */

struct range_offer {
	const struct launch_callback *launch;
	struct launch_thread *thread;
	uint32_t cbid, device_id;
	const struct cupti_callback_data *call;
};

static void count_refused(uint32_t device_id)
{
	record_ring_count(self.definitions->ring, device_id, LEDGER_METRIC_REFUSED, 1, 0);
}

static bool is_owner(void)
{
	return atomic_load_explicit(&self.owner, memory_order_relaxed) == (uintptr_t)pthread_self();
}

/* Gives up the range that is open, if there is one. The lock is held. */
static void cut_range(void)
{
	if (!atomic_load(&self.owner))
		return;
	atomic_store(&self.owner, 0);
	count_refused(device_counters_number(self.open_at));
	close_open(0, DEVICE_COUNTERS_CUT);
}

static void cut_unended(void)
{
	if (atomic_load(&self.owner) && self.unended == NVTX_NAME_LOST)
		self.unended = self.name;
	cut_range();
}

static void range_ends(uint8_t token, bool with_thread)
{
	int saved_errno = errno;

	/* In a forked child the lock may be held for good. */
	if (!is_owner() || lifecycle_state() == LIFECYCLE_FORKED || !lock_for(CAPTURE_WAIT_S))
		return;
	if (is_owner() && self.token == token) {
		if (with_thread) {
			cut_unended();
		} else {
			const uint32_t device_id = device_counters_number(self.open_at);

			/* What others are about to submit may be counted or not. */
			self.beside.is_shared |= device_launches_inside(device_id) != 0;
			atomic_store(&self.owner, 0);
			close_open(self.nr_own, DEVICE_COUNTERS_DONE);
		}
	}
	pthread_mutex_unlock(&self.lock);
	errno = saved_errno;
}

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

/* Returns whether a range that is wanted is measured from now on. */
static bool begin_range(const struct range_offer *offer, uint64_t key, uint32_t name, bool is_first)
{
	struct device_counters *counters = &device_counters[offer->device_id];
	const struct metric_subject subject = {
		.stack_id = launch_callback_stack(offer->launch, offer->thread),
		.name_id = DEFINITION_NAME_RANGES + name,
		.cbid = offer->cbid,
		.is_range = true,
		.kernels_metric = self.options->nr_names,
	};

	if (atomic_load(&self.owner) || !waiting_work_is_none() ||
	    !device_counters_claim(counters, offer->call->context)) {
		self.beside.is_shared |= self.open_at == counters;
		count_refused(offer->device_id);
		return false;
	}
	if (!device_counters_take_pass(counters, key, is_first))
		return false;
	self.beside = device_launches_mark(offer->device_id);
	if (!device_counters_open(counters, &subject, key, offer->call->correlation_id)) {
		count_refused(offer->device_id);
		return false;
	}
	self.open_at = counters;
	self.open_key = key;
	self.token = (uint8_t)(self.token % UINT8_MAX + 1);
	self.name = name;
	self.nr_own = UINT64_MAX; /* follow_range() adds the first */
	atomic_store(&self.owner, (uintptr_t)pthread_self());
	return true;
}

/* Decides about a range at its first call that asks the GPU for work. Within a measured range none is measured: ranges
 * take turns. */
static uint8_t take_range(void *context, uint32_t name)
{
	const struct range_offer *offer = context;
	const uint64_t key = launch_choice_key(offer->call->context_id, RECORD_STACK_NONE,
					       (const void *)(uintptr_t)name, NULL, 0);
	enum launch_verdict verdict = launch_choice_find(self.choice, key);
	const bool is_first = verdict == LAUNCH_UNKNOWN;
	uint8_t token = 0;

	if (verdict == LAUNCH_DONE || verdict == LAUNCH_WAITING || is_owner())
		return 0;
	if (!lock_for(CALLBACK_WAIT_S)) {
		count_refused(offer->device_id);
		return 0;
	}
	if (is_first)
		verdict = judge_name(key, name);
	if (verdict == LAUNCH_WANTED && begin_range(offer, key, name, is_first))
		token = self.token;
	pthread_mutex_unlock(&self.lock);
	return token;
}

/* Adds a call, of any thread, to the range that is open. */
static void follow_range(const struct range_offer *offer)
{
	if (!lock_for(CALLBACK_WAIT_S))
		return;
	struct device_counters *counters = self.open_at;
	if (atomic_load(&self.owner) && device_counters_number(counters) == offer->device_id) {
		self.nr_own++;
		self.beside.is_shared |= counters->context != offer->call->context;
		measurements_call(device_counters_measurement(counters),
				  offer->call->correlation_id, measured_calls_kernels(offer->cbid));
	}
	pthread_mutex_unlock(&self.lock);
}

/* A range must not be open while such a kernel runs, since its end waits for the kernel's. */
static bool launches_waiting(uint32_t cbid, const struct cupti_callback_data *call)
{
	const uint64_t key = measured_calls_key(cbid, call, RECORD_STACK_NONE, false);
	enum launch_verdict verdict = launch_choice_find(self.choice, key);

	if (verdict == LAUNCH_UNKNOWN && lock_for(CALLBACK_WAIT_S)) {
		verdict = launch_choice_enter(self.choice, key, call->symbol_name);
		pthread_mutex_unlock(&self.lock);
	}
	return verdict == LAUNCH_WAITING ||
	       (verdict == LAUNCH_UNKNOWN && waiting_work_is(call->symbol_name));
}

static void enter_ranges(struct range_offer *offer)
{
	if (measured_calls_is_kernel(offer->cbid) && launches_waiting(offer->cbid, offer->call)) {
		waiting_work_launched();
		if (atomic_load(&self.owner) && lock_for(CAPTURE_WAIT_S)) {
			cut_range();
			pthread_mutex_unlock(&self.lock);
		}
	}
	if (offer->thread->lane != LAUNCH_THREAD_NO_LANE &&
	    !(launch_cbid_flags(offer->cbid) & (RECORD_LAUNCH_HOST | LAUNCH_CBID_POLL)))
		nvtx_ranges_offer(take_range, offer);
	if (atomic_load(&self.owner))
		follow_range(offer);
}

/* A call of a range failed. */
static void exit_ranges(uint32_t cbid, const struct cupti_callback_data *call)
{
	if (!atomic_load(&self.owner) || !lock_for(CALLBACK_WAIT_S))
		return;
	if (atomic_load(&self.owner) && self.open_at->context == call->context)
		measurements_uncall(device_counters_measurement(self.open_at),
				    measured_calls_kernels(cbid));
	pthread_mutex_unlock(&self.lock);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

void kernel_metrics_enter(const struct launch_callback *launch, uint32_t cbid,
			  const struct cupti_callback_data *call)
{
	struct launch_thread *thread = launch_thread_tls;
	int saved_errno = errno;

	if (capture_calls_begin(cbid)) {
		bool locked = lock_for(CAPTURE_WAIT_S);

		if (locked) {
			cut_range();
			measured_launch_cut();
		}
		waiting_work_capture(true);
		if (locked)
			pthread_mutex_unlock(&self.lock);
		errno = saved_errno;
		return;
	}
	if (capture_calls_end(cbid) || !launch_thread_is_real(thread) || thread->nested ||
	    !self.choice)
		return;
	uint32_t device_id = measured_calls_device(call);
	if (device_id == RECORD_DEVICES_MAX)
		return;
	device_launches_enter(thread, device_id);
	if (self.options->are_ranges)
		enter_ranges(&(struct range_offer){launch, thread, cbid, device_id, call});
	else if (measured_calls_is_kernel(cbid) && thread->lane != LAUNCH_THREAD_NO_LANE)
		enter(launch, thread, cbid, call);
	errno = saved_errno;
}

void kernel_metrics_exit(uint32_t cbid, const struct cupti_callback_data *call)
{
	const int answer = call->return_value ? *call->return_value : 0;
	int saved_errno = errno;

	if ((capture_calls_begin(cbid) && answer != 0) ||
	    (capture_calls_end(cbid) && answer != NOT_CAPTURING && answer != WRONG_THREAD)) {
		waiting_work_capture(false);
		return;
	}
	struct launch_thread *thread = launch_thread_tls;
	if (launch_thread_is_real(thread) && thread->measured_device && thread->nested == 0) {
		device_launches_exit(thread);
		if (answer != 0 && self.options->are_ranges)
			exit_ranges(cbid, call);
	}
	if (!launch_thread_is_real(thread) || !measured_launch_has(call->correlation_id))
		return;
	measured_launch_end(call, answer != 0);
	pthread_mutex_unlock(&self.lock);
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

	waiting_work_ended(name);
	measurements_record(&kernel);
}

/* ---- the guest's own thread, and ends -------------------------------------------------------- */

/* Returns whether a range was left open whose end may wait for the GPU. */
static bool would_wait(const struct device_counters *counters)
{
	return counters->is_left_open &&
	       idle_context_state(device_counters_number(counters)) != IDLE_CONTEXT_ENDED;
}

/* Ends the session of a context, or all (NULL), after a last look if that is possible. */
static void end_of(void *context, bool is_gone)
{
	const bool may_look = !is_gone && !waiting_work_is_capturing();

	for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++) {
		struct device_counters *counters = &device_counters[i];

		if (!counters->context || (context && counters->context != context))
			continue;
		/* Without CUPTI it is lost with the others. */
		if (measured_launch_uses(counters))
			measured_launch_cut();
		/* Only a context's destruction waits for its work anyway. */
		if (!context && !is_gone && would_wait(counters))
			continue;
		if (self.open_at == counters && is_gone)
			atomic_store(&self.owner, 0);
		else if (self.open_at == counters)
			cut_unended();
		if (may_look && counters->context)
			device_counters_look(counters);
		if (counters->context)
			device_counters_end(counters, is_gone);
	}
}

void kernel_metrics_forget(void *context)
{
	int saved_errno = errno;

	idle_context_forget(context);
	if (lock_for(CALLBACK_WAIT_S)) {
		end_of(context, false);
		pthread_mutex_unlock(&self.lock);
	}
	errno = saved_errno;
}

void kernel_metrics_leave(bool ended)
{
	int saved_errno = errno;

	if (lock_for(CALLBACK_WAIT_S)) {
		end_of(NULL, ended);
		pthread_mutex_unlock(&self.lock);
	}
	errno = saved_errno;
}

static void step(struct device_counters *counters, uint64_t now_ns, bool last)
{
	if (last && self.open_at == counters)
		cut_unended();
	const bool is_open = (atomic_load(&self.owner) && self.open_at == counters) ||
			     measured_launch_uses(counters);
	if (!waiting_work_is_capturing() && !would_wait(counters) && !is_open)
		device_counters_rest(counters, now_ns, last);
	device_counters_say(counters, last);
}

static void say_unended(void)
{
	char text[NVTX_RANGES_TEXT];

	if (self.unended == NVTX_NAME_LOST || self.unended_said)
		return;
	self.unended_said = true;
	nvtx_ranges_text(self.unended, text);
	definition_writer_notice(self.definitions, NOTICE_NO_KERNEL_METRICS, 0,
				 "a range %s is not measured: it never ended", text);
}

void kernel_metrics_step(bool last)
{
	const uint64_t now_ns = monotonic_ns();

	if (!self.choice)
		return;
	if (last ? lock_for(CALLBACK_WAIT_S) : pthread_mutex_trylock(&self.lock) == 0) {
		for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++)
			step(&device_counters[i], now_ns, last);
		say_unended();
		pthread_mutex_unlock(&self.lock);
	}
	if (waiting_work_is_in_graphs() && !atomic_exchange(&self.captured_said, true))
		definition_writer_notice(
			self.definitions, NOTICE_NO_KERNEL_METRICS, 0,
			"kernels are no longer measured: graphs of this process have kernels that "
			"may wait for other GPUs");
	measurements_expire(now_ns, last);
	uint32_t left = measurements_define(self.definitions);
	if (last && left)
		record_ring_count(self.definitions->ring, LEDGER_DEVICE_NONE, LEDGER_STATISTIC_LOST,
				  left, 0);
}
