#include "capture_window.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "attach_obstacle.h"
#include "leave_obstacle.h"
#include "leaving_thread.h"
#include "window_absence.h"
#include "window_schedule.h"
#include "window_span.h"

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/beside/shared_session.h"
#include "inject/capture/activity_buffers.h"
#include "inject/capture/subscription.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/graph_nodes.h"
#include "inject/cupti/stream_names.h"
#include "inject/launch/outstanding_launches.h"
#include "inject/launch/window_word.h"
#include "inject/metrics/kernel_metrics.h"
#include "inject/sampling/kernel_sampler.h"
#include "proto/ring/record_ring.h"

#define ENDING_NS      1000000000u /* time to find a moment for cuptiFinalize() */
#define STAYING_NS     20000000u   /* time for records to come, if CUPTI stays */
#define RETRY_NS       5000000000u /* after a failure to get CUPTI */
#define ATTEMPT_NS     20000000u   /* between two attempts to leave CUPTI */
#define RANGE_GRACE_NS 100000000u
#define LOST_GRACE_NS  100000000u  /* after another user of CUPTI has ended it */
#define YIELD_NS       200000000u  /* the most that a user who ends CUPTI waits for the guest */
#define RESTLESS_NS    2000000000u /* after a window, whose sums are still to be published */

static struct {
	struct capture_window_parts parts;
	/* guards the use of CUPTI, and all members below except the atomics */
	pthread_mutex_t lock;
	struct window_schedule schedule;
	_Atomic uint32_t state; /* enum record_ring_capture_state */
	_Atomic uint32_t nr_windows;
	_Atomic bool failed, leaving;
	_Atomic bool lost; /* another user has ended CUPTI, and the helper does not know yet */
	_Atomic bool taken_down_late; /* and the guest has not acted on it */
	/* ranges opened less closed that the schedule does not know yet */
	_Atomic int range_changes;
	bool started;
	bool subscribed; /* with no callbacks enabled, or cuProfilerStart alone */
	bool come_back;  /* CUPTI was left, and the guest is to subscribe again */
	bool left;       /* the window ended with CUPTI out of the process */
	bool goes_on; /* CUPTI stays, and has records still: the next window has the same number */
	uint32_t nr_numbers;
	struct window_span span;
	uint64_t deadline_ns, retry_ns;
	_Atomic uint64_t attempt_ns; /* no attempt before this time */
	uint32_t command_seq;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void take_command(void)
{
	struct record_ring_command command;

	if (record_ring_commanded(self.parts.ring, &self.command_seq, &command))
		window_schedule_command(&self.schedule, &command);
}

static uint32_t state(void)
{
	return atomic_load_explicit(&self.state, memory_order_relaxed);
}

static void set_state(enum record_ring_capture_state new_state)
{
	atomic_store(&self.state, new_state);
	record_ring_set_capture(self.parts.ring, new_state, atomic_load(&self.nr_windows));
}

/* Returns whether this process may end windows on its own. If so, launches are tracked from the start. */
static bool may_end(void)
{
	const struct window_options *options = &self.parts.options;

	return options->until_ns || options->period_ns || options->dormant ||
	       options->range != WINDOW_RANGE_NONE ||
	       self.schedule.command.action != RECORD_RING_COMMAND_NONE;
}

void capture_window_init(const struct capture_window_parts *parts)
{
	self.parts = *parts;
	self.schedule.options = parts->options;
	window_span_init(&self.span, parts->ring, parts->definitions);
	/* Takes a command that was given to all processes before this one came. */
	take_command();
}

static void note_ranges(void)
{
	int changes = atomic_exchange(&self.range_changes, 0);

	for (; changes > 0; changes--)
		window_schedule_range(&self.schedule, true);
	for (; changes < 0; changes++)
		window_schedule_range(&self.schedule, false);
}

bool capture_window_is_due(void)
{
	uint64_t next_ns;
	bool due;

	pthread_mutex_lock(&self.lock);
	note_ranges();
	due = window_schedule_wanted(&self.schedule, realtime_ns(), &next_ns);
	pthread_mutex_unlock(&self.lock);
	return due;
}

uint32_t capture_window_count(void)
{
	return atomic_load(&self.nr_windows);
}

/* ---- windows open */

/* Opens a window. The guest is subscribed, and the lock is held. */
static int open_subscribed(void)
{
	uint32_t nr = atomic_fetch_add(&self.nr_windows, 1) + 1;
	uint64_t now_ns = monotonic_ns();
	unsigned int word;
	int result;

	/* CUPTI lost its numbers of nodes with its state, or nobody told how they changed. */
	if (nr > 1 && self.parts.nodes)
		graph_nodes_clear(self.parts.nodes);
	if (self.goes_on)
		outstanding_launches_forget_done();
	else
		outstanding_launches_reset();
	self.nr_numbers += !self.goes_on;
	self.goes_on = false;
	/* Wraps past 0, which no record has. */
	uint16_t window = (uint16_t)((self.nr_numbers - 1) % UINT16_MAX + 1);
	/* Earlier launches may run for ever, and wait for the host. Also, a program that never waits for all of the GPU
	 * may be about to launch such a kernel when CUPTI is left and not yet taken up again. */
	outstanding_launches_begin_unknown(now_ns);
	/* A later window opens amid launches, whose records may come without them. If the callbacks are on already, the
	 * launches that they report count from the moment when records do. */
	word = may_end() || nr > 1 ? WINDOW_WORD_TRACK : 0;
	if (!(atomic_load(&window_word) & WINDOW_WORD_LISTEN))
		atomic_store(&window_word, word);
	self.subscribed = false;
	window_span_begin(&self.span, window, now_ns);
	activity_buffers_set_window(window);
	self.parts.set_window(window);
	result = subscription_start(self.parts.graphs, self.parts.nodes != NULL, self.parts.record,
				    self.parts.definitions);
	if (result == CUPTI_ABI_SUCCESS) {
		atomic_store(&window_word, word);
		set_state(RECORD_RING_CAPTURE_ON);
		return result;
	}
	atomic_store(&window_word, 0);
	definition_writer_notice(self.parts.definitions, NOTICE_CUPTI_FAILED, result,
				 "CUPTI reports no launches (error %d)", result);
	set_state(RECORD_RING_CAPTURE_BLOCKED);
	return result;
}

int capture_window_open_first(void)
{
	int result;

	pthread_mutex_lock(&self.lock);
	result = open_subscribed();
	self.started = true;
	pthread_mutex_unlock(&self.lock);
	return result;
}

static bool subscribe(void)
{
	if (self.subscribed)
		return true;
	if (!self.parts.library->get_version)
		return self.parts.find_cupti();

	int result = subscription_open(self.parts.library, self.parts.receive);
	if (result == CUPTI_ABI_SUCCESS)
		return true;
	if (state() != RECORD_RING_CAPTURE_BLOCKED)
		definition_writer_notice(self.parts.definitions, NOTICE_SUBSCRIBER_TAKEN, result,
					 result == CUPTI_ABI_SUBSCRIBER_TAKEN
						 ? "another profiler took CUPTI between two windows"
						 : "CUPTI cannot be taken up again (error %d)",
					 result);
	return false;
}

static bool is_late_safe(void)
{
	return self.subscribed || !self.parts.options.dormant ||
	       !attach_obstacle_is_there(self.parts.definitions,
					 state() == RECORD_RING_CAPTURE_BLOCKED);
}

static bool get_ready(uint64_t now_ns)
{
	if (atomic_load(&self.failed) || atomic_load(&self.lost) || now_ns < self.retry_ns)
		return false;
	if (is_late_safe() && subscribe())
		return true;
	self.retry_ns = now_ns + RETRY_NS;
	set_state(RECORD_RING_CAPTURE_BLOCKED);
	return false;
}

static void open_window(uint64_t now_ns, bool helper)
{
	if (!get_ready(now_ns))
		return;
	if (helper)
		self.parts.prepare();
	else
		lifecycle_came_late(); /* the process may end before the helper looks */
	if (open_subscribed() != CUPTI_ABI_SUCCESS)
		self.retry_ns = now_ns + RETRY_NS;
}

/* Stays subscribed with nothing enabled, which costs launches nothing. Subscribing waits for all GPU work, as measured
 * (docs/figures.md), so it must not happen when the window opens. paused: the callbacks are on. */
static void set_idle(bool paused)
{
	bool listen = self.parts.options.range == WINDOW_RANGE_PROFILER;

	self.subscribed = true;
	atomic_store(&window_word, listen || paused ? WINDOW_WORD_LISTEN : 0);
	if (listen && !paused && subscription_listen() != CUPTI_ABI_SUCCESS)
		definition_writer_notice(self.parts.definitions, NOTICE_CUPTI_FAILED, 0,
					 "CUPTI does not tell of cudaProfilerStart");
	subscription_hear_of_code(self.parts.record);
	window_word_wake();
}

void capture_window_start(void)
{
	pthread_mutex_lock(&self.lock);
	self.started = true;
	if (!self.parts.options.dormant && get_ready(monotonic_ns()))
		set_idle(false);
	pthread_mutex_unlock(&self.lock);
}

/* ---- windows end */

static enum leave_obstacle obstacle(void)
{
	return leave_obstacle_now(self.parts.library,
				  self.parts.options.range == WINDOW_RANGE_PROFILER &&
					  !self.parts.options.dormant);
}

/* A range of the profiler often comes again soon, and the window then goes on. The next chosen step is far off. */
static uint64_t ending_ns(void)
{
	enum leave_obstacle found = obstacle();

	if (found == LEAVE_OBSTACLE_PROFILER && self.parts.options.every <= 1)
		return ENDING_NS;
	return found == LEAVE_OBSTACLE_NONE ? ENDING_NS : STAYING_NS;
}

static void begin_end(uint64_t now_ns)
{
	if (!(atomic_load(&window_word) & WINDOW_WORD_TRACK)) {
		/* The end was not expected, so earlier launches are done when the context's work is. */
		outstanding_launches_begin_unknown(now_ns);
		outstanding_launches_begin_late();
		atomic_fetch_or(&window_word, WINDOW_WORD_TRACK);
		subscription_watch();
	}
	atomic_fetch_or(&window_word, WINDOW_WORD_OUTSIDE);
	self.span.end_ns = now_ns;
	self.deadline_ns = now_ns + ending_ns();
	/* A range often opens again soon, and leaving and coming back takes milliseconds. */
	if (self.parts.options.range != WINDOW_RANGE_NONE)
		atomic_store(&self.attempt_ns, now_ns + RANGE_GRACE_NS);
	set_state(RECORD_RING_CAPTURE_ENDING);
}

/* Resumes the window in another span under the same numbers, if the next window is due before CUPTI is left. */
static void resume(uint64_t now_ns)
{
	window_span_resume(&self.span, now_ns);
	atomic_fetch_and(&window_word, ~(unsigned int)WINDOW_WORD_OUTSIDE);
	set_state(RECORD_RING_CAPTURE_ON);
}

/* Fetches all records that CUPTI still has, also of work that has not ended. */
static void fetch_rest(void)
{
	shared_session_flush(self.parts.library, 1);
	activity_buffers_count_dropped();
}

/* CUPTI stays. The next window of a dormant guest may be another agent's, which knows no earlier launch. */
static void set_loaded(bool paused)
{
	self.left = false;
	self.goes_on = paused && !self.parts.options.dormant;
	set_state(RECORD_RING_CAPTURE_LOADED);
	set_idle(paused);
}

/* Leaves CUPTI. Call it within the lock, at the exit of a call of the application, with nothing outstanding. */
static void leave_cupti(void)
{
	subscription_stop();
	window_word_let_out();
	fetch_rest();
	if (subscription_finalize() != CUPTI_ABI_SUCCESS) {
		set_loaded(false);
		return;
	}
	activity_buffers_reclaim();
	self.left = true;
	self.come_back = !self.parts.options.dormant;
	set_state(RECORD_RING_CAPTURE_OFF);
	atomic_store(&window_word, 0);
	window_word_wake();
	leaving_thread_note();
}

/* Helper: no moment came. */
static void give_up_leaving(void)
{
	uint32_t outstanding;

	shared_session_flush(self.parts.library, 0);
	outstanding = outstanding_launches_count();
	subscription_pause();
	/* By force, work that has not ended loses its record, and a thread that launches crashes, as measured. */
	shared_session_flush(self.parts.library, 0);
	activity_buffers_count_dropped();
	set_loaded(true);
	definition_writer_notice(
		self.parts.definitions, NOTICE_WINDOW_LOADED, (int32_t)outstanding,
		"CUPTI stays in the process after a capture window, and launches still cost more: "
		"%s",
		leave_obstacle_text(obstacle(), outstanding != 0));
}

void capture_window_try_to_leave(void)
{
	uint64_t now_ns = monotonic_ns();

	if (state() != RECORD_RING_CAPTURE_ENDING || now_ns < atomic_load(&self.attempt_ns) ||
	    obstacle() != LEAVE_OBSTACLE_NONE || pthread_mutex_trylock(&self.lock) != 0)
		return;
	if (state() == RECORD_RING_CAPTURE_ENDING) {
		atomic_store(&self.leaving, true);
		window_word_close_gate();
		shared_session_flush(self.parts.library, 0);
		if (outstanding_launches_count() == 0) {
			leave_cupti();
		} else {
			leave_obstacle_outstanding();
			window_word_open_gate();
		}
		record_ring_count(self.parts.ring, LEDGER_DEVICE_NONE, LEDGER_METER_WINDOWS, 1,
				  monotonic_ns() - now_ns);
		atomic_store(&self.attempt_ns, monotonic_ns() + ATTEMPT_NS);
		atomic_store(&self.leaving, false);
	}
	pthread_mutex_unlock(&self.lock);
	self.parts.wake();
}

void capture_window_context_waited(uint64_t since_ns)
{
	if (pthread_mutex_trylock(&self.lock) != 0)
		return;
	outstanding_launches_context_waited(since_ns, monotonic_ns());
	pthread_mutex_unlock(&self.lock);
}

/* ---- helper */

/* Subscribes again as soon as the callback in which CUPTI was left is over (leaving_thread.h). It waits for the GPU,
 * which can only have launches from after the quiet moment just now. */
static void come_back(uint64_t now_ns)
{
	self.come_back = false;
	if (get_ready(now_ns))
		set_idle(false);
}

/* Ends the window after CUPTI was ended. All that was enabled is gone, and CUPTI's numbers begin again, so the next
 * window is another one. The lock is held. */
static void take_down(uint64_t now_ns)
{
	if (state() == RECORD_RING_CAPTURE_ON)
		self.span.end_ns = now_ns;
	atomic_store(&window_word, 0);
	window_word_wake();
	activity_buffers_reclaim();
	stream_names_forget();
	kernel_sampler_leave(true);
	kernel_metrics_leave(true);
	self.subscribed = self.goes_on = false;
	self.left = true;
	self.come_back = !self.parts.options.dormant;
	self.retry_ns = now_ns + LOST_GRACE_NS;
	set_state(RECORD_RING_CAPTURE_OFF);
	window_span_end(&self.span, self.left);
}

/* Looks at the schedule and acts. Returns the nanoseconds until the schedule needs another look. The lock is held. */
static uint64_t look(bool helper)
{
	note_ranges();
	if (atomic_exchange(&self.taken_down_late, false))
		take_down(monotonic_ns());

	uint64_t now_ns = monotonic_ns(), wall_ns = realtime_ns(), next_ns, rest_ns;
	bool wanted = window_schedule_wanted(&self.schedule, wall_ns, &next_ns);

	rest_ns = next_ns == UINT64_MAX ? UINT64_MAX : next_ns - wall_ns;
	switch (state()) {
	case RECORD_RING_CAPTURE_ON:
		if (!wanted)
			begin_end(now_ns);
		break;
	case RECORD_RING_CAPTURE_ENDING:
		if (wanted)
			resume(now_ns);
		else if (now_ns >= self.deadline_ns)
			give_up_leaving();
		break;
	default:
		window_span_end(&self.span, self.left);
		if (!leaving_thread_is_out())
			return rest_ns < LEAVING_THREAD_NS ? rest_ns : LEAVING_THREAD_NS;
		if (self.come_back && helper && !atomic_load(&self.lost) && now_ns >= self.retry_ns)
			come_back(now_ns);
		if (wanted)
			open_window(now_ns, helper);
		break;
	}
	if (state() != RECORD_RING_CAPTURE_ENDING)
		return rest_ns;
	return now_ns < self.deadline_ns ? self.deadline_ns - now_ns : 0;
}

uint64_t capture_window_step(void)
{
	uint64_t rest_ns;

	if (atomic_load(&self.failed))
		return UINT64_MAX;
	pthread_mutex_lock(&self.lock);
	if (!self.started) {
		pthread_mutex_unlock(&self.lock);
		return UINT64_MAX;
	}
	take_command();
	rest_ns = look(true);
	pthread_mutex_unlock(&self.lock);
	return rest_ns;
}

static bool is_in_use(void)
{
	return state() == RECORD_RING_CAPTURE_ON || state() == RECORD_RING_CAPTURE_ENDING;
}

bool capture_window_lock(void)
{
	pthread_mutex_lock(&self.lock);
	if (!atomic_load(&self.failed) && (is_in_use() || self.goes_on))
		return true;
	pthread_mutex_unlock(&self.lock);
	return false;
}

void capture_window_unlock(void)
{
	pthread_mutex_unlock(&self.lock);
}

bool capture_window_may_change_agents(void)
{
	return !self.parts.options.dormant || !is_in_use();
}

bool capture_window_is_resting(void)
{
	return capture_window_may_change_agents() && self.parts.options.dormant &&
	       monotonic_ns() - self.span.end_ns >= RESTLESS_NS;
}

bool capture_window_is_open(void)
{
	return state() == RECORD_RING_CAPTURE_ON;
}

void capture_window_finish(void)
{
	if (state() == RECORD_RING_CAPTURE_ON)
		self.span.end_ns = monotonic_ns();
	self.left = true; /* with the process */
	if (atomic_load(&self.nr_windows) > 1 || may_end())
		window_span_end(&self.span, true);
	else
		window_span_whole(&self.span);
}

void capture_window_say_absence(uint64_t nr_starts)
{
	if (atomic_load(&self.nr_windows) == 0 && !self.parts.options.dormant)
		window_absence_say(&self.parts.options, nr_starts, self.parts.definitions);
}

void capture_window_failed(void)
{
	atomic_store(&self.failed, true);
	atomic_store(&window_word, 0);
	window_word_wake();
}

void capture_window_range(bool open)
{
	int saved_errno = errno;

	atomic_fetch_add(&self.range_changes, open ? 1 : -1);
	/* It never waits for a thread that leaves CUPTI, because it may run inside a callback. The window is over then
	 * in any case. */
	while (pthread_mutex_trylock(&self.lock) != 0) {
		if (atomic_load(&self.leaving))
			goto later;
		sched_yield();
	}
	if (self.started && !atomic_load(&self.failed))
		look(false);
	pthread_mutex_unlock(&self.lock);
later:
	if (self.parts.wake)
		self.parts.wake();
	errno = saved_errno;
}

/* ---- another user ends CUPTI */

bool capture_window_yield(void)
{
	uint64_t until_ns = monotonic_ns() + YIELD_NS;

	while (pthread_mutex_trylock(&self.lock) != 0) {
		if (atomic_load(&self.leaving) || monotonic_ns() >= until_ns)
			return false;
		sched_yield();
	}
	return true;
}

/* Fetches nothing while another user's session has the records. A flush would call that user's callbacks, which may
 * wait for a lock that the user holds now. */
void capture_window_fetch(void)
{
	if (!shared_session_has_callbacks() && is_in_use())
		fetch_rest();
}

void capture_window_yielded(bool locked, bool ended)
{
	if (ended) {
		atomic_store(&self.lost, true);
		if (locked)
			take_down(monotonic_ns());
		else
			atomic_store(&self.taken_down_late, true);
	}
	if (locked)
		pthread_mutex_unlock(&self.lock);
	self.parts.wake();
}

bool capture_window_was_lost(void)
{
	return atomic_exchange(&self.lost, false);
}
