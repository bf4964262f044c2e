#include "kernel_sampler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cubin_copies.h"
#include "exact_pace.h"
#include "exact_windows.h"
#include "launch_gate.h"
#include "look_pace.h"
#include "sampling_session.h"
#include "waiting_launches.h"

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/device_query.h"
#include "proto/kernel_refusal.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

#define SUM_MAX         (1u << 30) /* samples of one look: more is no number of samples */
#define CALLBACK_WAIT_S 1
#define LOOKS_AT_ONCE   64u   /* of one context */
#define ENTRIES         4096u /* of one definition */
#define FULL_MAX        8u /* sessions of a context that may end full and without a sample, in a row */
#define REASONS_MAX     (DEFINITION_STALL_REASONS_MAX - 1) /* the last number stands for all others */
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

/* The reasons of the ledger, for samples taken continuously and in exact windows. */
static const struct way {
	enum ledger_reason samples, other, lost;
} ways[] = {
	{LEDGER_KERNEL_SAMPLES, LEDGER_KERNEL_SAMPLE_OTHER, LEDGER_KERNEL_SAMPLE_LOST},
	{LEDGER_EXACT_SAMPLES, LEDGER_EXACT_SAMPLE_OTHER, LEDGER_EXACT_SAMPLE_LOST},
};

/* One definition: entries, and the kernel's name behind them. */
struct passing {
	struct definition_kernel_sample
		entries[ENTRIES + RECORD_NAME_MAX / sizeof(struct definition_kernel_sample) + 1];
	uint32_t count;
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
	char names[REASONS_MAX][CUPTI_ABI_STALL_NAME_SIZE];
	uint32_t nr_names, nr_defined;
	uint32_t rate; /* of exact windows; 0: samples are taken continuously */
	struct passing passing;
	struct exact_launch launches[SAMPLING_INSTRUCTIONS]; /* of what CUPTI gives */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

void kernel_sampler_init(const struct cupti_library *library, struct definition_writer *definitions)
{
	self.library = library;
	self.definitions = definitions;
	self.nr_names = self.nr_defined = 0;
	self.left_out_said = false;
	self.looks = (struct look_pace){0};
	atomic_store(&self.left_out, false);
	atomic_store(&self.begun, false);
	atomic_store(&self.refused, false);
	self.rate = 0;
}

void kernel_sampler_use_windows(uint32_t rate)
{
	self.rate = rate;
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

static void count(const struct context *context, enum ledger_reason reason, uint64_t samples)
{
	if (samples)
		record_ring_count(self.definitions->ring, context->device_id, reason, samples, 0);
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
				 context->device_id, result, sampling_session_why(result));
}

/* Defines the reasons that the agent does not know yet. What finds no room is defined later. */
static void define_reasons(void)
{
	while (self.nr_defined < self.nr_names) {
		const char *name = self.names[self.nr_defined];
		struct definition_stall_reason head = {.index = self.nr_defined};

		if (!definition_writer_put(self.definitions, DEFINITION_STALL_REASON, &head,
					   sizeof(head), name, (uint32_t)strlen(name)))
			return;
		self.nr_defined++;
	}
}

/* Gives each reason of the session's a number of our own. */
static void number_reasons(struct context *context)
{
	for (uint32_t i = 0; i < context->session.nr_reasons; i++) {
		uint32_t index = context->session.reasons[i], ours = 0;
		const char *name = sampling_session_reason(&context->session, index);

		while (ours < self.nr_names && strcmp(self.names[ours], name) != 0)
			ours++;
		context->reasons[index] = ours;
		if (ours == self.nr_names && ours < REASONS_MAX)
			strcpy(self.names[self.nr_names++], name);
	}
	define_reasons();
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
	number_reasons(context);
}

/* Sends the entries. launch: of exact samples. */
static bool write_entries(const struct definition_kernel_samples *samples,
			  const struct exact_launch *launch, uint32_t size)
{
	const struct definition_exact_samples exact = {*samples, launch->stack_id, launch->cbid};

	return self.rate ? definition_writer_put_bulk(self.definitions, DEFINITION_EXACT_SAMPLES,
						      &exact, sizeof(exact), self.passing.entries,
						      size)
			 : definition_writer_put_bulk(self.definitions, DEFINITION_KERNEL_SAMPLES,
						      samples, sizeof(*samples),
						      self.passing.entries, size);
}

static void send(const struct context *context, const struct cupti_instruction *of,
		 const struct exact_launch *launch)
{
	struct passing *passing = &self.passing;
	struct definition_kernel_samples head = {
		.time_ns = monotonic_ns(),
		.cubin_crc = of->cubin_crc,
		.device_id = context->device_id,
		.nr_entries = passing->count,
	};
	const char *name = of->function ? of->function : "";
	size_t size = strnlen(name, RECORD_NAME_MAX);
	uint64_t samples = 0;

	memcpy(&passing->entries[passing->count], name, size);
	for (uint32_t i = 0; i < passing->count; i++)
		samples += passing->entries[i].count;
	if (passing->count &&
	    !write_entries(&head, launch,
			   (uint32_t)(passing->count * sizeof(passing->entries[0]) + size)))
		count(context, ways[self.rate != 0].lost, samples);
	passing->count = 0;
}

/* Returns the samples of one instruction, whose entries it adds. */
static uint64_t add(const struct context *context, const struct cupti_instruction *instruction,
		    const struct exact_launch *launch)
{
	struct passing *passing = &self.passing;
	uint64_t samples = 0;

	for (size_t i = 0; i < instruction->nr_stalls && i < DEFINITION_STALL_REASONS_MAX; i++) {
		const struct cupti_stall *stall = &instruction->stalls[i];

		if (!*sampling_session_reason(&context->session, stall->reason) || !stall->samples)
			continue;
		if (passing->count == ENTRIES)
			send(context, instruction, launch);
		passing->entries[passing->count++] = (struct definition_kernel_sample){
			.offset = (uint32_t)instruction->offset,
			.reason = context->reasons[stall->reason],
			.count = stall->samples,
		};
		samples += stall->samples;
	}
	return samples;
}

static bool is_same(const struct cupti_instruction *a, const struct cupti_instruction *b)
{
	return a->cubin_crc == b->cubin_crc && a->function_index == b->function_index &&
	       (a->function == b->function ||
		(a->function && b->function && strcmp(a->function, b->function) == 0));
}

/* Finds the launch of each instruction in exact windows. */
static void find_launches(const struct cupti_samples *samples)
{
	for (size_t i = 0; i < samples->nr_instructions && i < samples->room; i++) {
		self.launches[i] = (struct exact_launch){0};
		if (self.rate)
			exact_windows_find(samples->instructions[i].correlation_id,
					   &self.launches[i]);
	}
}

static bool is_same_launch(size_t a, size_t b)
{
	return self.launches[a].stack_id == self.launches[b].stack_id &&
	       self.launches[a].cbid == self.launches[b].cbid;
}

/* Passes on what CUPTI has given, kernel by kernel. is_whole: CUPTI gave all that it had in one call, and its sum tells
 * whether all of it is there. Where several calls are needed, each sum has samples that another call gives. */
static void pass_on(struct context *context, struct cupti_samples *samples, bool is_whole)
{
	struct cupti_instruction *all = samples->instructions;
	const uint64_t other = samples->other < SUM_MAX ? samples->other : SUM_MAX;
	const uint64_t total = samples->total < SUM_MAX ? samples->total : SUM_MAX;
	uint64_t lost = samples->dropped < SUM_MAX ? samples->dropped : SUM_MAX, passed = 0;

	define_reasons();
	find_launches(samples);
	for (size_t i = 0; i < samples->nr_instructions && i < samples->room; i++) {
		if (!all[i].nr_stalls)
			continue;
		for (size_t k = i; k < samples->nr_instructions && k < samples->room; k++) {
			if (k != i && (!all[k].nr_stalls || !is_same(&all[i], &all[k]) ||
				       !is_same_launch(i, k)))
				continue;
			passed += add(context, &all[k], &self.launches[i]);
			if (k != i)
				all[k].nr_stalls = 0;
		}
		send(context, &all[i], &self.launches[i]);
		all[i].nr_stalls = 0;
	}
	if (is_whole && total > other + lost + passed)
		lost = total - other - passed;
	if (passed + other)
		context->nr_full = 0;
	const struct way *way = &ways[self.rate != 0];
	count(context, way->samples, passed + other + lost);
	count(context, way->other, other);
	count(context, way->lost, lost);
	exact_pace_add(&context->pace, passed + other + lost, 0);
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
