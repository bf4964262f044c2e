#include "flush_thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "activity_buffers.h"
#include "activity_watch.h"
#include "clock_sample.h"
#include "cupti_library.h"
#include "definition_writer.h"
#include "device_query.h"
#include "graph_callback.h"
#include "lifecycle.h"
#include "module_watch.h"
#include "monotonic.h"
#include "proto/record_ring.h"
#include "python_frames.h"
#include "stack_table.h"
#include "subscription.h"
#include "unwind_notices.h"
#include "unwind_table.h"

#define POLL_NS      100000000u  /* modules */
#define FLUSH_NS     500000000u  /* activity, drop counts, clocks */
#define STOP_NS      2000000000u /* the most that an exiting process waits */
#define LAST_ROOM_NS 1000000000u /* of which for room in the activity lane */
#define STACK_BYTES  (512u << 10)

enum event {
	EVENT_STOP = 1u << 0,
	EVENT_INIT_FINISHED = 1u << 1,
	EVENT_CONTEXT_CREATED = 1u << 2,
	EVENT_CUPTI_FAILED = 1u << 3,
	EVENT_TABLE_WANTED = 1u << 8, /* the count of them, in this bit and those above */
};

static struct {
	struct flush_thread_parts parts;
	struct activity_watch watch;
	bool started;
	atomic_uint events; /* a futex: only ever gains bits, but for the count of wanted tables */
	atomic_uint done;   /* likewise */
	bool devices_known, failure_said;
	enum python_state python_said;
	uint64_t next_flush_ns;
} self;

/* Until *word differs from `value`, or timeout_ns are over, or for no reason. */
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

void flush_thread_init_finished(void)
{
	set_and_wake(&self.events, EVENT_INIT_FINISHED);
}

void flush_thread_context_created(void)
{
	set_and_wake(&self.events, EVENT_CONTEXT_CREATED);
}

void flush_thread_cupti_failed(void)
{
	set_and_wake(&self.events, EVENT_CUPTI_FAILED);
}

/* From a launch: a walk met a file whose unwind table is not there yet. */
static void table_wanted(void)
{
	int saved_errno = errno;

	atomic_fetch_add(&self.events, EVENT_TABLE_WANTED);
	syscall(SYS_futex, &self.events, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = saved_errno;
}

static void watch_modules(bool last)
{
	if (module_watch_poll(self.parts.modules, last))
		stack_table_new_epoch(self.parts.stacks);
	unwind_tables_build(self.parts.tables, UNWIND_BUILD_WANTED);
}

/* An interpreter may come at any time, as a library or with its first frames. */
static void watch_python(void)
{
	enum python_state state =
		self.parts.python_stacks ? python_frames_find(self.parts.python) : PYTHON_NONE;

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

static void count_dropped(void)
{
	size_t dropped = 0;

	/* CUPTI's count starts again at zero with each answer. */
	if (self.parts.library->activity_get_dropped &&
	    self.parts.library->activity_get_dropped(NULL, 0, &dropped) == CUPTI_ABI_SUCCESS &&
	    dropped)
		record_ring_count(self.parts.ring, LEDGER_DEVICE_NONE, LEDGER_CUPTI_DROPPED,
				  dropped, 0);
}

static void calibrate(void)
{
	struct definition_clock clock;

	if (clock_sample_take(self.parts.library, &clock) == 0)
		definition_writer_put(self.parts.definitions, DEFINITION_CLOCK, &clock,
				      sizeof(clock), NULL, 0);
}

/* The clock on both sides of a flush: whatever it delivers lies between two calibrations. */
static void flush(uint32_t flag)
{
	calibrate();
	self.parts.library->activity_flush_all(flag);
	count_dropped();
}

static struct activity_watch_counts seen(void)
{
	struct activity_watch_counts counts;

	activity_buffers_seen(&counts.records, &counts.resources, &counts.earliest_ns);
	counts.launches = record_ring_own_launches(self.parts.ring) - graph_callback_captured();
	return counts;
}

/* What there is to do now. A running kernel must not be flushed by force: it would come without its
 * end, and only once. */
static void work(unsigned int events)
{
	uint64_t now_ns = monotonic_ns();
	struct activity_watch_counts counts;

	watch_modules(false);
	watch_python();
	if ((events & EVENT_CUPTI_FAILED) && !self.failure_said) {
		definition_writer_notice(self.parts.definitions, NOTICE_CUPTI_FAILED, 0,
					 "CUPTI met a fatal error and switched itself off");
		self.failure_said = true;
		lifecycle_off();
	}
	if (events & EVENT_CUPTI_FAILED)
		return;
	if ((events & EVENT_INIT_FINISHED) && !self.devices_known)
		self.devices_known = device_query_define(self.parts.definitions) >= 0;
	if (!(events & EVENT_CONTEXT_CREATED) || now_ns < self.next_flush_ns)
		return;
	flush(0);
	counts = seen();
	activity_watch_step(&self.watch, &counts);
	self.next_flush_ns = monotonic_ns() + FLUSH_NS;
}

/* The forced flush has brought all that there is. */
static void finish_watch(void)
{
	struct activity_watch_counts counts = seen();

	activity_watch_ask(&self.watch, &counts);
	if (self.watch.state == ACTIVITY_WATCH_ASKED) {
		flush(1);
		counts = seen();
	}
	activity_watch_finish(&self.watch, &counts);
}

static void finish(unsigned int events)
{
	bool gpu_used = (events & EVENT_CONTEXT_CREATED) && !(events & EVENT_CUPTI_FAILED);

	watch_modules(true);
	watch_python();
	if (self.parts.native_stacks)
		unwind_notices_write(self.parts.tables, self.parts.definitions);
	if ((events & EVENT_INIT_FINISHED) && !self.devices_known && !(events & EVENT_CUPTI_FAILED))
		device_query_define(self.parts.definitions);
	activity_buffers_hurry(monotonic_ns() + LAST_ROOM_NS);
	if (gpu_used) {
		flush(1);
		finish_watch();
		calibrate();
	}
	lifecycle_off();
	record_ring_finish(self.parts.ring);
}

static void *run(void *argument)
{
	(void)argument;
	prctl(PR_SET_NAME, "flamegrid");
	/* While CUDA still starts, so that the first launches find all that they need. */
	if (self.parts.native_stacks)
		unwind_tables_build(self.parts.tables, UNWIND_BUILD_ALL);
	for (;;) {
		unsigned int events = atomic_load(&self.events);

		if (events & EVENT_STOP) {
			finish(events);
			break;
		}
		work(events);
		wait_on(&self.events, events, POLL_NS);
	}
	set_and_wake(&self.done, 1);
	return NULL;
}

int flush_thread_start(const struct flush_thread_parts *parts)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	int error;

	self.parts = *parts;
	activity_watch_init(&self.watch, parts->ring, parts->definitions, parts->library,
			    subscription_take_up);
	unwind_tables_on_want(parts->tables, table_wanted);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attributes, run, NULL);
	if (error == EINVAL) {
		/* The application's thread-local data does not fit into so small a stack. */
		pthread_attr_init(&attributes);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		error = pthread_create(&thread, &attributes, run, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	self.started = error == 0;
	return -error;
}

bool flush_thread_stop(void)
{
	uint64_t deadline_ns = monotonic_ns() + STOP_NS;

	if (!self.started)
		return false;
	set_and_wake(&self.events, EVENT_STOP);
	for (uint64_t now_ns = monotonic_ns(); !atomic_load(&self.done) && now_ns < deadline_ns;
	     now_ns = monotonic_ns())
		wait_on(&self.done, 0, deadline_ns - now_ns);
	return atomic_load(&self.done) != 0;
}
