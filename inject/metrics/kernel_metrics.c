#include "kernel_metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "capture_calls.h"
#include "launch_choice.h"
#include "measurements.h"
#include "metrics_session.h"

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_callback.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/launch_thread.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

#define LAUNCH_T        442u /* cuLaunchKernel_ptsz */
#define LAUNCH_EX_T     653u /* cuLaunchKernelEx_ptsz */
#define NOT_CAPTURING   401  /* CUresult: the call that should end a capture did not */
#define WRONG_THREAD    908
#define NO_PRIVILEGES   35         /* CUptiResult */
#define IDLE_NS         500000000u /* after so long without a launch to measure, a look */
#define PASS_NS         100000000u /* so long a measurement waits for the launch of its next pass */
#define REST_NS         5000000000u /* and the session's end, so that another context has its turn */
#define RETRY_NS        1000000000u
#define TRIES           5u /* of a context */
#define FLUSH_NS        50000000u
#define CAPTURE_WAIT_S  10 /* the most that a capture's begin waits for a measured kernel */
#define CALLBACK_WAIT_S 1
#define CONTEXTS        64u
#define CONFIG_BYTES    (6 * sizeof(unsigned int)) /* grid and block */

struct counted {
	struct metrics_session session;
	void *context; /* NULL: none is being measured */
	uint64_t used_ns, retry_ns;
	uint32_t tries;
	int refusal; /* CUptiResult of the last try, that no notice has told */
	bool is_refused, other_context, other_said, is_unknown_said;
	uint64_t key;                            /* of the launches that the passes are of */
	uint32_t numbers[METRIC_OPTIONS_MAX];    /* of the session's metrics in the options */
	uint32_t ranges[METRICS_SESSION_RANGES]; /* their measurements */
	uint32_t nr_ranges;
};

static struct {
	const struct cupti_library *library;
	struct definition_writer *definitions;
	const struct metric_options *options;
	void (*flush_soon)(void);
	pthread_mutex_t
		lock; /* from a measured launch's enter to its exit; around all calls of CUPTI */
	struct launch_choice *choice;
	struct counted devices[RECORD_DEVICES_MAX];
	_Atomic uint32_t open; /* the correlation id of the measured launch; 0: none */
	struct counted *open_at;
	uint64_t open_key;
	uint64_t nr_launches_at; /* on its device, before it */
	bool is_shared;          /* other threads were at a launch there */
	_Atomic uint64_t nr_launches[RECORD_DEVICES_MAX];
	_Atomic uint32_t nr_inside[RECORD_DEVICES_MAX]; /* threads at a launch */
	_Atomic uint64_t contexts[CONTEXTS]; /* id << 8 | device, by the id's last bits */
	_Atomic uint32_t nr_captures;        /* at this moment */
	_Atomic uint32_t nr_waiting; /* kernels that may wait for other GPUs, without record */
	_Atomic uint64_t next_flush_ns;
	atomic_bool begun, captured_waiting, captured_said;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

int kernel_metrics_init(const struct cupti_library *library, struct definition_writer *definitions,
			const struct metric_options *options, void (*flush_soon)(void))
{
	struct metric_sums *sums = metric_sums_create(options->names, options->nr_names);

	self.library = library;
	self.definitions = definitions;
	self.options = options;
	self.flush_soon = flush_soon;
	memset(self.devices, 0, sizeof(self.devices));
	for (uint32_t i = 0; i < CONTEXTS; i++)
		atomic_store(&self.contexts[i], 0);
	for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++)
		atomic_store(&self.nr_inside[i], 0);
	atomic_store(&self.open, 0);
	atomic_store(&self.nr_captures, 0);
	atomic_store(&self.nr_waiting, 0);
	atomic_store(&self.begun, false);
	atomic_store(&self.captured_waiting, false);
	atomic_store(&self.captured_said, false);
	launch_choice_destroy(self.choice);
	self.choice = sums ? launch_choice_create(options->launches, options->kernels) : NULL;
	if (!self.choice) {
		metric_sums_destroy(sums);
		return -ENOMEM;
	}
	measurements_init(sums, definitions->ring);
	return 0;
}

bool kernel_metrics_has_begun(void)
{
	return atomic_load(&self.begun);
}

/* ---- looks ----------------------------------------------------------------------------------- */

static void lose_all(struct counted *counted)
{
	for (uint32_t i = 0; i < counted->nr_ranges; i++)
		measurements_lose(counted->ranges[i]);
	counted->nr_ranges = 0;
	counted->key = 0;
}

static void end(struct counted *counted, bool is_gone)
{
	metrics_session_end(&counted->session, &self.library->metrics, is_gone);
	lose_all(counted);
	counted->context = NULL;
}

/* Gives measurements their values. The lock is held, and nobody captures a stream. */
static void look(struct counted *counted)
{
	const struct metrics_session *session = &counted->session;
	const bool is_part = session->config.nr_passes > 1 && !metrics_session_is_full(session);
	double values[METRIC_OPTIONS_MAX];
	uint32_t nr_ranges;
	int result = metrics_session_look(&counted->session, &self.library->metrics, &nr_ranges);

	for (uint32_t i = 0; i < nr_ranges && i < counted->nr_ranges; i++) {
		if (metrics_config_evaluate(&session->config, &self.library->metrics,
					    session->counters, session->counters_size, i,
					    values) == CUPTI_ABI_SUCCESS)
			measurements_values(counted->ranges[i], counted->numbers, values,
					    session->config.nr_names);
	}
	/* Those that got no values; for the others it is nothing. */
	for (uint32_t i = nr_ranges; i < counted->nr_ranges; i++) {
		if (is_part && result == CUPTI_ABI_SUCCESS)
			measurements_give_up(counted->ranges[i]);
		else
			measurements_lose(counted->ranges[i]);
	}
	counted->nr_ranges = 0;
	counted->key = 0;
	if (result != CUPTI_ABI_SUCCESS) {
		end(counted, false);
		counted->refusal = result;
		counted->is_refused = true;
	}
}

/* ---- launches -------------------------------------------------------------------------------- */

static bool is_kernel(uint32_t cbid)
{
	return cbid == LAUNCH_CBID_KERNEL || cbid == LAUNCH_CBID_KERNEL_EX || cbid == LAUNCH_T ||
	       cbid == LAUNCH_EX_T;
}

/* The two calls begin with the function, or with a pointer to the configuration and the function. */
static uint64_t key_of(uint32_t cbid, const struct cupti_callback_data *call, uint32_t stack_id,
		       bool with_config)
{
	const bool is_ex = cbid == LAUNCH_CBID_KERNEL_EX || cbid == LAUNCH_EX_T;
	const void *words[2] = {NULL, NULL}, *config;

	if (call->function_params)
		memcpy(words, call->function_params, sizeof(words));
	config = is_ex                   ? words[0]
		 : call->function_params ? (const char *)call->function_params + sizeof(words[0])
					 : NULL;
	return launch_choice_key(call->context_id, stack_id, words[is_ex],
				 with_config ? config : NULL, CONFIG_BYTES);
}

static void refuse(struct counted *counted, int result)
{
	counted->tries++;
	counted->refusal = result;
	counted->retry_ns = monotonic_ns() + RETRY_NS;
	counted->is_refused = counted->tries == TRIES || result == NO_PRIVILEGES ||
			      !self.library->metrics.is_whole;
}

/* Returns whether the context is being measured from now on. */
static bool begin(struct counted *counted, uint32_t device_id, void *context)
{
	struct metrics_session *session = &counted->session;

	if (counted->is_refused || (counted->tries && monotonic_ns() < counted->retry_ns))
		return false;
	int result = metrics_session_begin(session, &self.library->metrics, context, device_id,
					   self.options);
	if (result != CUPTI_ABI_SUCCESS) {
		refuse(counted, result);
		return false;
	}
	counted->context = context;
	counted->tries = 0;
	for (uint32_t i = 0, k = 0; i < self.options->nr_names; i++)
		if (!(session->config.unknown >> i & 1))
			counted->numbers[k++] = i;
	atomic_store(&self.begun, true);
	return true;
}

/* Returns the device that a call works on; RECORD_DEVICES_MAX: not known. CUPTI is asked once for each context. */
static uint32_t device_of(const struct cupti_callback_data *call)
{
	_Atomic uint64_t *known = &self.contexts[call->context_id % CONTEXTS];
	const uint64_t word = atomic_load_explicit(known, memory_order_relaxed);
	uint32_t device_id;

	if (word >> 8 == call->context_id)
		return word & 0xff;
	if (!call->context || !self.library->get_device_id ||
	    self.library->get_device_id(call->context, &device_id) != CUPTI_ABI_SUCCESS ||
	    device_id >= RECORD_DEVICES_MAX)
		return RECORD_DEVICES_MAX;
	atomic_store_explicit(known, (uint64_t)call->context_id << 8 | device_id,
			      memory_order_relaxed);
	return device_id;
}

/* Returns where the context is measured; NULL: it is not. */
static struct counted *counted_of(void *context, uint32_t device_id)
{
	struct counted *counted = &self.devices[device_id];
	if (counted->context == context ||
	    (!counted->context && begin(counted, device_id, context)))
		return counted;
	counted->other_context |= counted->context != NULL;
	return NULL;
}

/* Returns whether a launch can be the next pass. Many kernels come once, so the first launch of each is none. */
static bool takes_pass(struct counted *counted, uint64_t key, bool is_first)
{
	if (counted->session.config.nr_passes == 1 || counted->key == key)
		return true;
	if (counted->key && monotonic_ns() - counted->used_ns >= PASS_NS)
		look(counted);
	return !is_first && counted->context && !counted->key;
}

/* Opens the range of a launch. Returns whether it did. The lock is held. */
static bool open_range(const struct launch_callback *launch, struct launch_thread *thread,
		       uint32_t cbid, const struct cupti_callback_data *call, uint64_t key,
		       bool is_first)
{
	struct counted *counted = call->context ? counted_of(call->context, device_of(call)) : NULL;
	struct metrics_session *session = counted ? &counted->session : NULL;

	if (!counted || !takes_pass(counted, key, is_first))
		return false;
	/* With several passes the key tells configurations apart, which the table does not. */
	if (counted->nr_ranges == 0 || session->config.nr_passes == 1) {
		const struct metric_subject subject = {
			.device_id = (uint32_t)(counted - self.devices),
			.stack_id = launch_callback_stack(launch, thread),
			.cbid = cbid,
			.nr_passes = session->config.nr_passes,
		};
		const uint32_t number = measurements_begin(&subject);

		if (number == MEASUREMENTS_NONE)
			return false;
		counted->ranges[counted->nr_ranges++] = number;
		counted->key = key;
	}
	measurements_launch(counted->ranges[counted->nr_ranges - 1], call->correlation_id,
			    monotonic_ns());
	self.nr_launches_at = atomic_load(&self.nr_launches[counted - self.devices]);
	/* Others that are at a launch may submit it when the range is open. */
	self.is_shared = atomic_load(&self.nr_inside[counted - self.devices]) != 1;
	int result = metrics_session_push(session, &self.library->metrics);
	if (result == CUPTI_ABI_SUCCESS) {
		self.open_at = counted;
		self.open_key = key;
		atomic_store(&self.open, call->correlation_id);
		return true;
	}
	measurements_failed(counted->ranges[counted->nr_ranges - 1]);
	counted->ranges[counted->nr_ranges - 1] = MEASUREMENTS_NONE;
	end(counted, false);
	refuse(counted, result);
	return false;
}

/* A kernel that may wait for others is launched. In a captured stream it comes with any launch of the graph. */
static void note_waiting(void)
{
	if (atomic_load(&self.nr_captures))
		atomic_store(&self.captured_waiting, true);
	else
		atomic_fetch_add(&self.nr_waiting, 1);
}

/* Returns whether nothing runs, or may run, that a range would have to wait for without end. */
static bool may_measure(void)
{
	uint64_t now_ns, next_ns;

	if (atomic_load(&self.nr_captures) || atomic_load(&self.captured_waiting))
		return false;
	if (!atomic_load(&self.nr_waiting))
		return true;
	now_ns = monotonic_ns();
	next_ns = atomic_load(&self.next_flush_ns);
	/* Their records tell when they have ended. */
	if (now_ns >= next_ns &&
	    atomic_compare_exchange_strong(&self.next_flush_ns, &next_ns, now_ns + FLUSH_NS))
		self.flush_soon();
	return false;
}

static void enter(const struct launch_callback *launch, struct launch_thread *thread, uint32_t cbid,
		  const struct cupti_callback_data *call)
{
	const uint32_t stack_id = launch_callback_stack(launch, thread);
	const uint64_t key = key_of(cbid, call, stack_id, false);
	enum launch_verdict verdict = launch_choice_find(self.choice, key);
	const bool is_first = verdict == LAUNCH_UNKNOWN;

	if (verdict == LAUNCH_WAITING)
		note_waiting();
	if (verdict == LAUNCH_DONE || verdict == LAUNCH_WAITING)
		return;
	if (pthread_mutex_trylock(&self.lock) != 0) {
		if (verdict == LAUNCH_UNKNOWN && call->symbol_name &&
		    (strstr(call->symbol_name, "nccl") || strstr(call->symbol_name, "nvshmem")))
			note_waiting();
		return;
	}
	if (verdict == LAUNCH_UNKNOWN)
		verdict = launch_choice_enter(self.choice, key, call->symbol_name);
	if (verdict == LAUNCH_WAITING)
		note_waiting();
	if (verdict != LAUNCH_WANTED || !may_measure() ||
	    !open_range(launch, thread, cbid, call, key_of(cbid, call, stack_id, true), is_first))
		pthread_mutex_unlock(&self.lock);
	else
		self.open_key = key;
}

static bool lock_for(time_t seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	return pthread_mutex_timedlock(&self.lock, &until) == 0;
}

void kernel_metrics_enter(const struct launch_callback *launch, uint32_t cbid,
			  const struct cupti_callback_data *call)
{
	struct launch_thread *thread = launch_thread_tls;
	int saved_errno = errno;

	if (capture_calls_begin(cbid)) {
		bool locked = lock_for(CAPTURE_WAIT_S);

		atomic_fetch_add(&self.nr_captures, 1);
		if (locked)
			pthread_mutex_unlock(&self.lock);
		errno = saved_errno;
		return;
	}
	if (capture_calls_end(cbid) || !launch_thread_is_real(thread) || thread->nested ||
	    !self.choice)
		return;
	uint32_t device_id = device_of(call);
	if (device_id == RECORD_DEVICES_MAX)
		return;
	/* A launch that threw has no exit. */
	if (thread->measured_device)
		atomic_fetch_sub(&self.nr_inside[thread->measured_device - 1], 1);
	thread->measured_device = device_id + 1;
	atomic_fetch_add(&self.nr_inside[device_id], 1);
	atomic_fetch_add(&self.nr_launches[device_id], 1);
	if (is_kernel(cbid) && thread->lane != LAUNCH_THREAD_NO_LANE)
		enter(launch, thread, cbid, call);
	errno = saved_errno;
}

static void close_range(bool failed)
{
	struct counted *counted = self.open_at;
	struct metrics_session *session = &counted->session;
	int result = metrics_session_pop(session, &self.library->metrics);
	uint32_t number = counted->ranges[counted->nr_ranges - 1];

	counted->used_ns = monotonic_ns();
	/* What was launched until the range was closed is counted with it. */
	if (self.is_shared ||
	    atomic_load(&self.nr_launches[counted - self.devices]) != self.nr_launches_at)
		measurements_shared(number);
	if (failed) {
		measurements_failed(number);
		counted->ranges[counted->nr_ranges - 1] = MEASUREMENTS_NONE;
	}
	if (result != CUPTI_ABI_SUCCESS) {
		end(counted, false);
		refuse(counted, result);
		return;
	}
	const bool is_full = metrics_session_is_full(session);
	if (!failed && (session->config.nr_passes == 1 || is_full))
		launch_choice_measured(self.choice, self.open_key);
	if (is_full || (failed && session->config.nr_passes > 1))
		look(counted);
}

void kernel_metrics_exit(uint32_t cbid, const struct cupti_callback_data *call)
{
	const int answer = call->return_value ? *call->return_value : 0;
	int saved_errno = errno;
	uint32_t nr;

	if ((capture_calls_begin(cbid) && answer != 0) ||
	    (capture_calls_end(cbid) && answer != NOT_CAPTURING && answer != WRONG_THREAD)) {
		nr = atomic_load(&self.nr_captures);
		while (nr && !atomic_compare_exchange_weak(&self.nr_captures, &nr, nr - 1))
			;
		return;
	}
	struct launch_thread *thread = launch_thread_tls;
	if (launch_thread_is_real(thread) && thread->measured_device && thread->nested == 0) {
		atomic_fetch_sub(&self.nr_inside[thread->measured_device - 1], 1);
		thread->measured_device = 0;
	}
	if (call->correlation_id == 0 ||
	    atomic_load_explicit(&self.open, memory_order_relaxed) != call->correlation_id)
		return;
	close_range(answer != 0);
	atomic_store(&self.open, 0);
	pthread_mutex_unlock(&self.lock);
	errno = saved_errno;
}

void kernel_metrics_record(uint32_t correlation_id, uint32_t name_id, const char *name, uint64_t ns)
{
	uint32_t nr = atomic_load_explicit(&self.nr_waiting, memory_order_relaxed);

	if (nr && name && (strstr(name, "nccl") || strstr(name, "nvshmem")))
		while (nr && !atomic_compare_exchange_weak(&self.nr_waiting, &nr, nr - 1))
			;
	measurements_record(correlation_id, name_id, ns);
}

/* ---- the guest's own thread, and ends -------------------------------------------------------- */

void kernel_metrics_forget(void *context)
{
	int saved_errno = errno;
	bool locked = lock_for(CALLBACK_WAIT_S);

	for (uint32_t i = 0; locked && i < RECORD_DEVICES_MAX; i++) {
		struct counted *counted = &self.devices[i];

		if (counted->context != context)
			continue;
		if (!atomic_load(&self.nr_captures))
			look(counted);
		end(counted, false);
	}
	if (locked)
		pthread_mutex_unlock(&self.lock);
	errno = saved_errno;
}

void kernel_metrics_leave(bool ended)
{
	int saved_errno = errno;
	bool locked = lock_for(CALLBACK_WAIT_S);

	for (uint32_t i = 0; locked && i < RECORD_DEVICES_MAX; i++) {
		struct counted *counted = &self.devices[i];

		if (counted->context && !ended && !atomic_load(&self.nr_captures))
			look(counted);
		if (counted->context)
			end(counted, ended);
	}
	if (locked)
		pthread_mutex_unlock(&self.lock);
	errno = saved_errno;
}

static void say_unknown(struct counted *counted)
{
	const uint64_t unknown = counted->session.config.unknown;

	if (!unknown || counted->is_unknown_said)
		return;
	counted->is_unknown_said = true;
	for (uint32_t i = 0; i < self.options->nr_names; i++)
		if (unknown >> i & 1)
			definition_writer_notice(
				self.definitions, NOTICE_NO_KERNEL_METRICS, 0,
				"kernels of CUDA device %u are not measured by %s: CUPTI knows no "
				"such metric for it",
				(uint32_t)(counted - self.devices), self.options->names[i]);
}

static void say_refusal(struct counted *counted)
{
	const int result = counted->refusal;
	const char *why =
		result == NO_PRIVILEGES ? "it needs CAP_SYS_ADMIN (CAP_PERFMON from driver 565 "
					  "on), or the driver's "
					  "option NVreg_RestrictProfilingToAdminUsers=0"
		: !self.library->metrics.is_whole || result == CUPTI_ABI_NOT_SUPPORTED
			? "this CUPTI or this GPU does not support it, or the metrics take too "
			  "many "
			  "passes"
		: counted->session.config.unknown
			? "CUPTI knows none of the metrics for it"
			: "another process may measure it, or a profiler may hold its counters, "
			  "such as DCGM (dcgmi profile --pause)";

	if (!counted->is_refused || result == CUPTI_ABI_SUCCESS)
		return;
	counted->refusal = CUPTI_ABI_SUCCESS;
	definition_writer_notice(self.definitions, NOTICE_NO_KERNEL_METRICS, result,
				 "kernels of CUDA device %u are not measured (CUPTI's error %d): "
				 "%s",
				 (uint32_t)(counted - self.devices), result, why);
}

static void say(struct counted *counted)
{
	say_unknown(counted);
	say_refusal(counted);
	if (counted->other_context && !counted->other_said) {
		counted->other_said = true;
		definition_writer_notice(
			self.definitions, NOTICE_NO_KERNEL_METRICS, 0,
			"kernels of a further context of CUDA device %u are not measured while the "
			"first one's are: CUPTI measures one context of a GPU at a time",
			(uint32_t)(counted - self.devices));
	}
}

static void step(struct counted *counted, uint64_t now_ns, bool last)
{
	const uint64_t idle_ns = now_ns > counted->used_ns ? now_ns - counted->used_ns : 0;

	if (counted->context && !atomic_load(&self.nr_captures)) {
		const bool is_part = counted->session.config.nr_passes > 1;

		if (last || idle_ns >= (is_part ? REST_NS : IDLE_NS))
			look(counted);
		if (counted->context && (last || idle_ns >= REST_NS))
			end(counted, false);
	}
	say(counted);
}

void kernel_metrics_step(bool last)
{
	const uint64_t now_ns = monotonic_ns();

	if (!self.choice)
		return;
	if (last ? lock_for(CALLBACK_WAIT_S) : pthread_mutex_trylock(&self.lock) == 0) {
		for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++)
			step(&self.devices[i], now_ns, last);
		pthread_mutex_unlock(&self.lock);
	}
	if (atomic_load(&self.captured_waiting) && !atomic_exchange(&self.captured_said, true))
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
