#include "kernel_sampler.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cubin_copies.h"
#include "exact_pace.h"
#include "exact_windows.h"
#include "launch_gate.h"
#include "look_pace.h"
#include "sample_passing.h"
#include "sampling_session.h"
#include "waiting_launches.h"

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/cupti_refusal.h"
#include "inject/cupti/device_query.h"
#include "proto/kernel_refusal.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

#define CALLBACK_WAIT_S 1
#define LOOKS_AT_ONCE   64u /* of one context */
#define FULL_MAX        8u /* sessions of a context that may end full and without a sample, in a row */
#define FIRST_BLACKWELL 10u /* compute capability: a period of our own yields nothing there */

struct context {
	struct sampling_session session;
	_Atomic(void *) context; /* NULL: unused */
	uint32_t device_id;
	bool on, given_up, taken_said;
	uint32_t nr_full; /* sessions that ended full since one gave a sample */
	/* our number of each reason of the session's, which differ from GPU to GPU */
	uint32_t reasons[DEFINITION_STALL_REASONS_MAX];
	/* of exact windows */
	struct exact_window window;
	struct exact_pace pace;
};

static struct {
	const struct cupti_library *library;
	struct definition_writer *definitions;
	pthread_mutex_t lock; /* of contexts, and around all calls of CUPTI */
	struct context contexts[KERNEL_SAMPLER_CONTEXTS];
	atomic_bool left_out; /* contexts found no room */
	bool left_out_said;
	struct look_pace looks;
	atomic_bool begun, refused;
	uint32_t rate; /* of exact windows; 0: samples are taken continuously */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

void kernel_sampler_init(const struct cupti_library *library, struct definition_writer *definitions)
{
	self.library = library;
	self.definitions = definitions;
	self.left_out_said = false;
	self.looks = (struct look_pace){0};
	atomic_store(&self.left_out, false);
	atomic_store(&self.begun, false);
	atomic_store(&self.refused, false);
	self.rate = 0;
	sample_passing_init(definitions, false);
}

void kernel_sampler_use_windows(uint32_t rate)
{
	self.rate = rate;
	sample_passing_init(self.definitions, rate != 0);
	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++)
		self.contexts[i].pace.rate = 0;
}

/* In a callback CUPTI may hold what a look waits for, so that nobody may wait for the look without end. */
static bool lock_in_callback(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CALLBACK_WAIT_S;
	return pthread_mutex_timedlock(&self.lock, &until) == 0;
}

/* Returns where the context is, or else a place that is free; KERNEL_SAMPLER_CONTEXTS: there is none. */
static uint32_t place_of(const void *context)
{
	uint32_t room = KERNEL_SAMPLER_CONTEXTS;

	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++) {
		void *known = atomic_load_explicit(&self.contexts[i].context, memory_order_relaxed);

		if (known == context)
			return i;
		if (!known && room == KERNEL_SAMPLER_CONTEXTS)
			room = i;
	}
	return room;
}

void kernel_sampler_context(void *context, uint32_t device_id)
{
	/* A launch of the context will tell of it again. */
	if (pthread_mutex_trylock(&self.lock) != 0)
		return;
	uint32_t i = place_of(context);
	if (i == KERNEL_SAMPLER_CONTEXTS) {
		atomic_store(&self.left_out, true);
	} else if (atomic_load(&self.contexts[i].context) != context) {
		if (self.contexts[i].device_id != device_id)
			self.contexts[i].pace.rate = 0;
		self.contexts[i].device_id = device_id;
		self.contexts[i].on = self.contexts[i].given_up = false;
		self.contexts[i].taken_said = false;
		self.contexts[i].nr_full = 0;
		atomic_store(&self.contexts[i].context, context);
	}
	pthread_mutex_unlock(&self.lock);
}

void kernel_sampler_meet(void *context)
{
	uint32_t device_id, i = place_of(context);

	if (i == KERNEL_SAMPLER_CONTEXTS) {
		if (!atomic_load_explicit(&self.left_out, memory_order_relaxed))
			atomic_store(&self.left_out, true);
		return;
	}
	if (atomic_load_explicit(&self.contexts[i].context, memory_order_relaxed) != context &&
	    self.library->get_device_id &&
	    self.library->get_device_id(context, &device_id) == CUPTI_ABI_SUCCESS)
		kernel_sampler_context(context, device_id);
}

bool kernel_sampler_has_begun(void)
{
	return atomic_load(&self.begun);
}

bool kernel_sampler_needs_code(void)
{
	return !atomic_load(&self.refused) || atomic_load(&self.begun);
}

static bool has_functions(void)
{
	return self.library->version >= CUPTI_ABI_VERSION_12_4 && self.library->sampling_enable &&
	       self.library->sampling_disable && self.library->sampling_get &&
	       self.library->sampling_count_reasons && self.library->sampling_get_reasons &&
	       self.library->sampling_configure &&
	       (!self.rate || (self.library->sampling_start && self.library->sampling_stop));
}

static void refuse(struct context *context, int result)
{
	context->given_up = true;
	atomic_store(&self.refused, true);
	definition_writer_notice(self.definitions, NOTICE_NO_KERNEL_SAMPLES, result,
				 KERNEL_REFUSAL "%u are not sampled (CUPTI's error %d): %s",
				 context->device_id, result, cupti_refusal_text(result));
}

static void begin(struct context *context)
{
	struct device_query_speed speed = device_query_speed(context->device_id);
	void *cuda = atomic_load(&context->context);
	struct sampling_session_way way = {.windows = self.rate != 0};

	if (!cuda)
		return;
	if (speed.clock_khz && speed.compute_major && speed.compute_major < FIRST_BLACKWELL)
		way.period = sampling_session_period(speed.clock_khz,
						     way.windows ? exact_pace_looks(self.rate)
								 : SAMPLING_LOOKS_PER_SECOND);
	const int result = sampling_session_begin(&context->session, self.library, cuda, way);
	if (result != CUPTI_ABI_SUCCESS) {
		refuse(context, result);
		return;
	}
	context->on = true;
	/* Windows of all sessions on a GPU together keep to their share. */
	if (context->pace.rate != self.rate)
		exact_pace_begin(&context->pace, self.rate, monotonic_ns());
	atomic_store(&self.begun, true);
	sample_passing_number(&context->session, context->reasons);
}

static void pass_on(struct context *context, struct cupti_samples *samples, bool is_whole)
{
	const struct sample_origin origin = {&context->session, context->reasons,
					     context->device_id};
	const struct sample_sums sums = sample_passing_add(&origin, samples, is_whole);

	if (sums.passed + sums.other)
		context->nr_full = 0;
	exact_pace_add(&context->pace, sums.passed + sums.other + sums.lost, 0);
}

static void count_window(struct context *context)
{
	const struct exact_window *window = &context->window;

	record_ring_count(self.definitions->ring, context->device_id, LEDGER_EXACT_WINDOWS, 1,
			  window->end_ns - window->begin_ns);
	exact_pace_add(&context->pace, 0, window->end_ns - window->ready_ns);
}

static void give_up(struct context *context)
{
	context->given_up = true;
	if (launch_gate_is_broken())
		definition_writer_notice(self.definitions, NOTICE_NO_KERNEL_SAMPLES, 0,
					 KERNEL_REFUSAL
					 "%u are not sampled any more: a launch waited 1 s for the "
					 "end of an exact window or of sampling",
					 context->device_id);
}

/* Launches wait meanwhile. Where one of them does not end, a session with exact windows stays, and its samples in it,
 * because its end would never come. Continuous ones have always ended. */
static void finish(struct context *context)
{
	const bool held = launch_gate_close();

	if (held)
		exact_windows_end(self.library, &context->window, context->session.context);
	if (exact_windows_drop(&context->window) == EXACT_WINDOW_CLOSED)
		count_window(context);
	context->on = false;
	if (held || !self.rate) {
		sampling_session_end(&context->session, self.library);
		pass_on(context, context->session.last, true);
	} else {
		give_up(context);
	}
	if (held)
		launch_gate_open();
}

/* Ends a session that gives nothing any more. If the GPU's buffer was full, another one gets samples again. */
static void fail(struct context *context, int result)
{
	if (!atomic_load(&context->context))
		return;
	finish(context);
	if (result != CUPTI_ABI_OUT_OF_MEMORY || ++context->nr_full == FULL_MAX)
		refuse(context, result);
}

/* Returns a CUptiResult. A context that is destroyed meanwhile is not looked at again, because its session ends with
 * it. */
static int look(struct context *context)
{
	int result = CUPTI_ABI_SUCCESS;
	bool more = true;

	for (uint32_t i = 0; i < LOOKS_AT_ONCE && more && atomic_load(&context->context); i++) {
		result = sampling_session_look(&context->session, self.library, &more);
		pass_on(context, context->session.samples, i == 0 && !more);
	}
	return result;
}

static void end(struct context *context)
{
	if (!atomic_load(&context->context) || !context->on)
		return;
	if (!self.rate)
		look(context);
	if (context->on && atomic_load(&context->context))
		finish(context);
}

/* CUPTI asks that a context's session end before the context (its sample pc_sampling_continuous does so, too). Without
 * the lock a look is at work, perhaps at this context, which it then finds gone. */
void kernel_sampler_forget(void *context)
{
	bool locked = lock_in_callback();

	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++) {
		if (atomic_load(&self.contexts[i].context) != context)
			continue;
		if (locked)
			end(&self.contexts[i]);
		exact_windows_drop(&self.contexts[i].window);
		atomic_store(&self.contexts[i].context, NULL);
	}
	if (locked)
		pthread_mutex_unlock(&self.lock);
}

void kernel_sampler_leave(bool ended)
{
	bool locked = lock_in_callback();

	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++) {
		if (locked && !ended)
			end(&self.contexts[i]);
		exact_windows_drop(&self.contexts[i].window);
		atomic_store(&self.contexts[i].context, NULL);
	}
	if (locked)
		pthread_mutex_unlock(&self.lock);
}

/* Returns whether another context of this process has the GPU's session. */
static bool is_taken(const struct context *context)
{
	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++)
		if (self.contexts[i].on && atomic_load(&self.contexts[i].context) &&
		    self.contexts[i].device_id == context->device_id)
			return true;
	return false;
}

/* Says so once. The context's turn comes when the other one is gone. */
static void wait_for_turn(struct context *context)
{
	if (context->taken_said)
		return;
	context->taken_said = true;
	definition_writer_notice(
		self.definitions, NOTICE_NO_KERNEL_SAMPLES, 0,
		"kernels of a further context of CUDA device %u are not sampled yet: CUPTI "
		"samples one context of a GPU at a time",
		context->device_id);
}

/* Takes the account of a window that is closed, and asks for the next one in its time. */
static int step_window(struct context *context)
{
	const int state = atomic_load(&context->window.state);
	int result = CUPTI_ABI_SUCCESS;

	if (state == EXACT_WINDOW_FAILED) {
		result = context->window.result;
		exact_windows_settle(&context->window);
	} else if (state == EXACT_WINDOW_CLOSED) {
		count_window(context);
		result = look(context);
		exact_windows_settle(&context->window);
	} else if (state == EXACT_WINDOW_NONE && launch_gate_is_broken()) {
		give_up(context);
	} else if (state == EXACT_WINDOW_NONE &&
		   monotonic_ns() >= exact_pace_next(&context->pace)) {
		waiting_launches_look();
		exact_windows_want(&context->window);
	}
	return result;
}

/* NULL: the context is not sampled. */
static struct exact_window *window_of(void *context)
{
	struct context *place = &self.contexts[place_of(context) % KERNEL_SAMPLER_CONTEXTS];

	return atomic_load(&place->context) == context ? &place->window : NULL;
}

void kernel_sampler_enter(void *context, uint32_t correlation_id, const struct exact_launch *launch,
			  uint32_t cbid, const char *kernel)
{
	struct exact_window *window = window_of(context);

	if (window && waiting_launches_has(cbid, kernel))
		exact_windows_make_way(self.library, window, context);
	else if (window && launch)
		exact_windows_enter(self.library, window, context, correlation_id, launch);
}

void kernel_sampler_exit(void *context, uint32_t correlation_id)
{
	struct exact_window *window = window_of(context);

	if (exact_windows_leave(correlation_id) && window)
		exact_windows_exit(self.library, window, context);
}

static void step(struct context *context, bool may_look)
{
	if (!atomic_load(&context->context) || context->given_up)
		return;
	if (!has_functions()) {
		refuse(context, CUPTI_ABI_NOT_SUPPORTED);
		return;
	}
	if (context->on && (may_look || self.rate)) {
		int result = self.rate ? step_window(context) : look(context);

		if (result != CUPTI_ABI_SUCCESS)
			fail(context, result);
	}
	if (context->on || context->given_up)
		return;
	if (is_taken(context))
		wait_for_turn(context);
	else
		begin(context);
	/* Of a short capture window this may be the only step. */
	if (context->on && self.rate)
		step_window(context);
}

void kernel_sampler_step(void)
{
	const bool may_look =
		look_pace_is_due(&self.looks, monotonic_ns(), atomic_load(&self.begun));

	cubin_copies_send(self.library, self.definitions, false);
	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++)
		step(&self.contexts[i], may_look);
	pthread_mutex_unlock(&self.lock);
	if (!kernel_sampler_needs_code())
		cubin_copies_forget();
	if (!atomic_load(&self.left_out) || self.left_out_said)
		return;
	self.left_out_said = true;
	definition_writer_notice(self.definitions, NOTICE_NO_KERNEL_SAMPLES, 0,
				 "kernels of some contexts are not sampled: the process has more "
				 "than %u",
				 KERNEL_SAMPLER_CONTEXTS);
}

void kernel_sampler_end(bool last)
{
	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++)
		end(&self.contexts[i]);
	pthread_mutex_unlock(&self.lock);
	cubin_copies_send(self.library, self.definitions, last);
}
