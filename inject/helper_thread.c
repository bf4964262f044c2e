#include "helper_thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "activity_flush.h"
#include "agent_watch.h"
#include "module_watch.h"
#include "program_steps.h"
#include "unwind_notices.h"
#include "window_watch.h"

#include "inject/base/definition_writer.h"
#include "inject/base/guest_thread.h"
#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/beside/shared_objects.h"
#include "inject/capture/activity_buffers.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/device_query.h"
#include "inject/cupti/unified_memory.h"
#include "inject/launch/api_statistics.h"
#include "inject/launch/autograd_origin.h"
#include "inject/launch/cost_limit.h"
#include "inject/launch/kernel_context.h"
#include "inject/launch/launch_meter.h"
#include "inject/launch/launch_thread.h"
#include "inject/metrics/kernel_metrics.h"
#include "inject/sampling/kernel_sampler.h"
#include "inject/window/capture_window.h"
#include "inject/window/profiler_range.h"
#include "proto/options/record_options.h"
#include "proto/ring/record_ring.h"
#include "python/python_frames.h"
#include "unwind/unwind_table.h"

#define POLL_NS       100000000u  /* modules */
#define QUICK_NS      10000000u   /* modules, while files take each other's places */
#define RESTLESS_NS   2000000000u /* how long that is expected after the last time */
#define REST_NS       1000000000u /* between two looks at the agent while nothing else may happen */
#define FLUSH_NS      500000000u  /* activity, drop counts, clocks */
#define STATISTICS_NS 1000000000u /* sums, launch configurations, memory of lanes that rest */
#define COST_NOTICES  20u         /* about --max-cost, at most */
#define STOP_NS       2000000000u /* the most that an exiting process waits */
#define LAST_ROOM_NS  1000000000u /* of STOP_NS, for room in the activity lane, if an agent reads */
#define CLOSE_NS      100000000u  /* of STOP_NS, for the work after that */

enum event {
	EVENT_STOP = 1u << 0,
	EVENT_INIT_FINISHED = 1u << 1,
	EVENT_CONTEXT_CREATED = 1u << 2,
	EVENT_CUPTI_FAILED = 1u << 3,
	EVENT_NEWS = 1u << 8, /* a count, in this bit and those above */
};

enum progress {
	PROGRESS_SAID = 1u << 0, /* the goodbye is in the ring */
	PROGRESS_DONE = 1u << 1,
};

static struct {
	struct helper_thread_parts parts;
	bool started, prepared, captured;
	atomic_uint events;       /* a futex: bits are only ever set; EVENT_NEWS counts */
	atomic_uint done;         /* a futex: enum progress; bits are only ever set */
	_Atomic uint64_t stop_ns; /* when the process goes on to end, even if work is left */
	atomic_bool flush_soon;
	bool devices_known, failure_said, unified_asked;
	enum python_state python_said;
	bool autograd_said, contexts_said;
	uint64_t next_flush_ns, next_statistics_ns;
	uint64_t restless_until_ns;              /* files take each other's places */
	uint64_t table_bytes, table_ns, wall_ns; /* counted so far */
	struct cost_limit cost;
	uint32_t cost_notices;
	uint64_t start_ns;
} self;

/* Waits until *word differs from `value`, or timeout_ns are over. It may also return early. */
static void wait_on(atomic_uint *word, unsigned int value, uint64_t timeout_ns)
{
	const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
					 .tv_nsec = (long)(timeout_ns % 1000000000u)};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &timeout, NULL, 0);
}

static void set_and_wake(atomic_uint *word, unsigned int bits)
{
	int saved_errno = errno;

	if ((atomic_fetch_or(word, bits) & bits) != bits)
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = saved_errno;
}

void helper_thread_init_finished(void)
{
	set_and_wake(&self.events, EVENT_INIT_FINISHED);
}

void helper_thread_context_created(void)
{
	set_and_wake(&self.events, EVENT_CONTEXT_CREATED);
}

void helper_thread_cupti_failed(void)
{
	set_and_wake(&self.events, EVENT_CUPTI_FAILED);
}

void helper_thread_wake(void)
{
	int saved_errno = errno;

	atomic_fetch_add(&self.events, EVENT_NEWS);
	syscall(SYS_futex, &self.events, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = saved_errno;
}

void helper_thread_flush_soon(void)
{
	/* Any change of the word wakes the thread, so this needs no event of its own. */
	if (!atomic_exchange(&self.flush_soon, true))
		helper_thread_wake();
}

static void watch_modules(bool last)
{
	if (module_watch_poll(self.parts.modules, last))
		self.restless_until_ns = monotonic_ns() + RESTLESS_NS;
	unwind_tables_build(self.parts.tables, UNWIND_BUILD_WANTED);
	if (!self.parts.contexts)
		return;
	kernel_contexts_find(self.parts.contexts);
	if (*kernel_contexts_text(self.parts.contexts) && !self.contexts_said) {
		self.contexts_said = true;
		definition_writer_notice(self.parts.definitions, NOTICE_CONTEXTS, 0, "%s",
					 kernel_contexts_text(self.parts.contexts));
	}
}

/* An interpreter or PyTorch may come at any time; an interpreter also with its first frames. */
static void watch_python(void)
{
	if (!self.parts.autograd) /* without it no Python frames are wanted */
		return;
	enum python_state state = python_frames_find(self.parts.python);

	if (autograd_origin_find(self.parts.autograd) == AUTOGRAD_REFUSED && !self.autograd_said) {
		self.autograd_said = true;
		definition_writer_notice(self.parts.definitions, NOTICE_AUTOGRAD_REFUSED, 0,
					 "backward work is not under its forward lines: %s",
					 autograd_origin_text(self.parts.autograd));
	}
	if (state == self.python_said)
		return;
	self.python_said = state;
	if (state == PYTHON_READY)
		definition_writer_notice(self.parts.definitions, NOTICE_PYTHON_FOUND, 0, "%s",
					 python_frames_text(self.parts.python));
	if (state == PYTHON_REFUSED)
		definition_writer_notice(self.parts.definitions, NOTICE_PYTHON_REFUSED, 0,
					 "no Python frames: %s",
					 python_frames_text(self.parts.python));
}

static void say_cost(enum cost_level before, enum cost_verdict verdict, uint64_t now_ns)
{
	const unsigned ms = (unsigned)((now_ns - self.start_ns) / 1000000u);
	const unsigned percent = self.cost.share / 1000, thousandths = self.cost.share % 1000;

	if (verdict == COST_VERDICT_CHANGED)
		definition_writer_notice(
			self.parts.definitions, NOTICE_COST_LIMIT, 0,
			"launches take %s from %u.%03u s on: before, with %s, they cost %u.%03u %% "
			"of their threads' time (--max-cost)",
			cost_limit_text(self.cost.level), ms / 1000, ms % 1000,
			cost_limit_text(before), percent, thousandths);
	else
		definition_writer_notice(
			self.parts.definitions, NOTICE_COST_LIMIT, 0,
			"--max-cost cannot be kept: without a stack launches still cost %u.%03u %% "
			"of their threads' time",
			percent, thousandths);
}

/* Launches take less of their stacks while they cost too much. */
static void watch_cost(uint64_t now_ns)
{
	const enum cost_level before = self.cost.level;
	const uint32_t lanes = record_ring_own_lanes(self.parts.ring);
	bool has_python = false;

	if (!self.cost.allowed)
		return;
	for (uint32_t lane = 0; lane < lanes; lane++) {
		const _Atomic uint64_t *meter = record_ring_meter(self.parts.ring, lane);
		uint64_t words[RECORD_METER_WORDS];

		for (uint32_t word = 0; word < RECORD_METER_WORDS; word++)
			words[word] = atomic_load_explicit(&meter[word], memory_order_relaxed);
		has_python |= words[RECORD_METER_PYTHON_NS] > 0;
		cost_limit_take(&self.cost, lane, words, now_ns);
	}
	/* An interpreter alone does not do: perhaps no thread of its launches. */
	self.cost.has_python = self.parts.native_stacks && has_python;
	enum cost_verdict verdict = cost_limit_judge(&self.cost, now_ns);
	cost_limit_set(self.cost.level);
	if (verdict != COST_VERDICT_SAME && self.cost_notices++ < COST_NOTICES)
		say_cost(before, verdict, now_ns);
}

/* A refused request is not repeated. */
static void start_unified_memory(void)
{
	if (self.unified_asked || !(self.parts.record & RECORD_OPTION_UNIFIED))
		return;
	self.unified_asked = true;
	int result = unified_memory_start(self.parts.library);
	if (result != CUPTI_ABI_SUCCESS)
		definition_writer_notice(self.parts.definitions, NOTICE_CUPTI_FAILED, result,
					 "CUPTI does not record unified memory (error %d)", result);
}

/* Returns whether CUDA is initialised, or was used. Callbacks say so; for a guest that came late, a record does. */
static bool has_begun(unsigned int events, enum event event)
{
	return events & event || activity_buffers_any();
}

static void define_devices(unsigned int events)
{
	if (has_begun(events, EVENT_INIT_FINISHED) && !self.devices_known)
		self.devices_known = device_query_define(self.parts.definitions) >= 0;
}

/* Records may come before all tables are built, and wait for their devices. */
static bool tables_go_on(void)
{
	const unsigned int events = atomic_load(&self.events);

	if (!(events & EVENT_CUPTI_FAILED))
		define_devices(events);
	return !(events & EVENT_STOP);
}

void helper_thread_prepare(void)
{
	self.prepared = true;
	watch_modules(false);
	watch_python();
	if (self.parts.native_stacks)
		unwind_tables_build(self.parts.tables, UNWIND_BUILD_ALL);
}

/* Returns whether the process is captured. The guest does not even look at a process that was never captured. For
 * others it builds unwind tables while CUDA still starts, so that the first launches find all that they need. */
static bool is_captured(void)
{
	if (capture_window_count() == 0 && !self.parts.soon)
		return false;
	if (!self.prepared)
		helper_thread_prepare();
	if (!self.captured && capture_window_count() > 0) {
		if (self.parts.late)
			lifecycle_came_late();
		self.captured = true;
	}
	return true;
}

/* Tables are never freed. */
static void count_tables(void)
{
	struct unwind_totals totals;

	unwind_tables_totals(self.parts.tables, &totals);
	if (totals.made_bytes > self.table_bytes || totals.build_ns > self.table_ns)
		record_ring_count(self.parts.ring, LEDGER_DEVICE_NONE, LEDGER_METER_TABLES,
				  totals.made_bytes - self.table_bytes,
				  totals.build_ns - self.table_ns);
	self.table_bytes = totals.made_bytes;
	self.table_ns = totals.build_ns;
}

/* Counts the process's time since its first launch. */
static void count_wall(uint64_t now_ns)
{
	const uint64_t first_ns = launch_meter_first_ns();

	if (!first_ns || now_ns <= first_ns + self.wall_ns)
		return;
	record_ring_count(self.parts.ring, LEDGER_DEVICE_NONE, LEDGER_METER_WALL, !self.wall_ns,
			  now_ns - first_ns - self.wall_ns);
	self.wall_ns = now_ns - first_ns;
}

static void do_once_a_second(uint64_t now_ns, bool last)
{
	if (!last && now_ns < self.next_statistics_ns)
		return;
	api_statistics_publish(self.parts.definitions, last);
	activity_buffers_define(last);
	count_tables();
	count_wall(now_ns);
	if (!last) {
		record_ring_trim_launches(self.parts.ring);
		activity_buffers_trim();
	}
	self.next_statistics_ns = now_ns + STATISTICS_NS;
}

/* Kernels are sampled in the capture window alone. CUPTI is not left after that (leave_obstacle.h). */
static void sample_kernels(void)
{
	if (!(self.parts.record & RECORD_OPTION_STALLS) || !capture_window_lock())
		return;
	if (capture_window_is_open())
		kernel_sampler_step();
	else if (kernel_sampler_has_begun())
		kernel_sampler_end(false);
	capture_window_unlock();
}

static void measure_kernels(void)
{
	if (!(self.parts.record & RECORD_OPTION_METRICS) || !capture_window_lock())
		return;
	kernel_metrics_step(false);
	capture_window_unlock();
}

static void watch_agent(uint64_t now_ns)
{
	enum agent_watch_news news = AGENT_WATCH_NOTHING;

	if (capture_window_may_change_agents())
		news = agent_watch_step(now_ns);
	if (news == AGENT_WATCH_TAKEN)
		helper_thread_wake(); /* its command is there */
	if (news == AGENT_WATCH_GAVE_UP) {
		capture_window_failed();
		lifecycle_off();
	}
}

/* Does the work that is due. A running kernel must not be flushed by force, because its only record would come without
 * an end. */
static void work(unsigned int events)
{
	uint64_t now_ns = monotonic_ns();

	watch_agent(now_ns);
	shared_objects_look(self.parts.definitions);
	window_watch_hear_of_loss();
	if (!is_captured() || capture_window_is_resting())
		return;
	watch_modules(false);
	watch_python();
	watch_cost(now_ns);
	do_once_a_second(now_ns, false);
	program_steps_publish(self.parts.definitions);
	if ((events & EVENT_CUPTI_FAILED) && !self.failure_said) {
		definition_writer_notice(self.parts.definitions, NOTICE_CUPTI_FAILED, 0,
					 "CUPTI met a fatal error and switched itself off");
		self.failure_said = true;
		capture_window_failed();
		lifecycle_off();
	}
	if (events & EVENT_CUPTI_FAILED)
		return;
	if (has_begun(events, EVENT_INIT_FINISHED))
		start_unified_memory();
	define_devices(events);
	/* For a guest that came late, only a flush can show that CUDA was used. */
	if (!(events & EVENT_CONTEXT_CREATED) && !self.parts.late)
		return;
	sample_kernels();
	measure_kernels();
	if ((!atomic_exchange(&self.flush_soon, false) && now_ns < self.next_flush_ns) ||
	    !capture_window_lock())
		return;
	activity_flush_run(0);
	if (capture_window_is_open())
		window_watch_step();
	capture_window_unlock();
	self.next_flush_ns = monotonic_ns() + FLUSH_NS;
}

static void finish(unsigned int events)
{
	bool works = !(events & EVENT_CUPTI_FAILED), watched = false;
	uint64_t now_ns = monotonic_ns();

	if (capture_window_may_change_agents())
		agent_watch_offer(now_ns);
	shared_objects_look(self.parts.definitions);
	window_watch_hear_of_loss();
	if (is_captured()) {
		watch_modules(true);
		watch_python();
		if (self.parts.native_stacks)
			unwind_notices_write(self.parts.tables, self.parts.definitions);
	}
	activity_buffers_hurry(now_ns + (agent_watch_lives(now_ns) ? LAST_ROOM_NS : 1));
	if (works && capture_window_lock()) {
		if (self.parts.late || events & EVENT_CONTEXT_CREATED) {
			activity_flush_run(1);
			watched = capture_window_is_open();
			if (watched)
				window_watch_finish();
			activity_flush_calibrate();
		}
		if (self.parts.record & RECORD_OPTION_STALLS)
			kernel_sampler_end(true);
		if (self.parts.record & RECORD_OPTION_METRICS)
			kernel_metrics_step(true);
		capture_window_finish();
		capture_window_unlock();
	}
	if (works && !watched)
		window_watch_finish_late();
	if (works)
		define_devices(events);
	activity_flush_loads();
	lifecycle_off();
	capture_window_say_absence(profiler_range_starts());
	do_once_a_second(monotonic_ns(), true);
	program_steps_publish(self.parts.definitions);
	record_ring_finish(self.parts.ring);
	set_and_wake(&self.done, PROGRESS_SAID);
	if (capture_window_may_change_agents())
		agent_watch_last(atomic_load(&self.stop_ns) - CLOSE_NS);
}

static uint64_t poll_after_ns(void)
{
	if (capture_window_is_resting())
		return REST_NS;
	return self.restless_until_ns > monotonic_ns() ? QUICK_NS : POLL_NS;
}

static void *run(void *argument)
{
	(void)argument;
	prctl(PR_SET_NAME, "flamegrid");
	launch_thread_ignore();
	for (;;) {
		unsigned int events = atomic_load(&self.events);
		uint64_t rest_ns, poll_ns;

		if (events & EVENT_STOP) {
			finish(events);
			break;
		}
		rest_ns = capture_window_step();
		work(events);
		poll_ns = poll_after_ns();
		wait_on(&self.events, events, rest_ns < poll_ns ? rest_ns : poll_ns);
	}
	set_and_wake(&self.done, PROGRESS_DONE);
	return NULL;
}

int helper_thread_start(const struct helper_thread_parts *parts)
{
	int error;

	self.parts = *parts;
	self.cost.allowed = parts->max_cost;
	self.start_ns = monotonic_ns();
	activity_flush_init(parts->library, parts->definitions);
	window_watch_init(parts->ring, parts->definitions, parts->library);
	kernel_sampler_init(parts->library, parts->definitions);
	kernel_sampler_use_windows(parts->sample_rate);
	/* A launch calls it when its walk met a file whose unwind table is not built yet. */
	unwind_tables_on_want(parts->tables, helper_thread_wake);
	unwind_tables_ask(parts->tables, tables_go_on);
	error = guest_thread_start(run);
	self.started = error == 0;
	return error;
}

/* Counts the launches whose records the helper has not reached, because it is still at the last flush. A launch of many
 * records is not counted once its first record is there. So more launches may be incomplete than are counted. */
static void count_undelivered(uint64_t until_ns)
{
	uint64_t taken, launches;

	if (!activity_buffers_close(until_ns, &taken))
		return;
	launches = record_ring_own_launches(self.parts.ring);
	if (launches > taken)
		record_ring_count(self.parts.ring, LEDGER_DEVICE_NONE, LEDGER_LAUNCH_UNDELIVERED,
				  launches - taken, 0);
}

bool helper_thread_stop(void)
{
	uint64_t stop_ns = monotonic_ns() + STOP_NS, deadline_ns = stop_ns - CLOSE_NS;
	unsigned int done = 0;

	if (!self.started)
		return false;
	atomic_store(&self.stop_ns, stop_ns);
	set_and_wake(&self.events, EVENT_STOP);
	for (uint64_t now_ns = monotonic_ns(); now_ns < deadline_ns; now_ns = monotonic_ns()) {
		done = atomic_load(&self.done);
		if (done & PROGRESS_DONE)
			return true;
		wait_on(&self.done, done, deadline_ns - now_ns);
	}
	if (atomic_load(&self.done) & PROGRESS_SAID)
		return true;
	lifecycle_off();
	count_undelivered(stop_ns);
	if (capture_window_may_change_agents())
		agent_watch_offer(monotonic_ns());
	return false;
}
