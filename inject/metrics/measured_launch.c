#include "measured_launch.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device_counters.h"
#include "device_launches.h"
#include "idle_context.h"
#include "launch_choice.h"
#include "measured_calls.h"
#include "waiting_work.h"

#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_abi.h"
#include "proto/ledger.h"
#include "proto/ring/record_ring.h"

#define WAIT_TURNS    3u
#define WAIT_PARTS    128u    /* pauses of a wait are such parts of it, */
#define WAIT_LEAST_NS 50000   /* but none below this, */
#define WAIT_MOST_NS  1000000 /* and none above */

static struct {
	pthread_mutex_t *lock;
	struct launch_choice *choice;
	struct record_ring *ring;
	_Atomic uint32_t correlation_id; /* 0: none; changes under the lock */
	struct device_counters *counters;
	struct device_launches_mark beside;
	uint64_t key;
	bool is_open; /* its range */
} self;

void measured_launch_init(pthread_mutex_t *lock, struct launch_choice *choice,
			  struct record_ring *ring)
{
	self.lock = lock;
	self.choice = choice;
	self.ring = ring;
	atomic_store(&self.correlation_id, 0);
}

bool measured_launch_is(void)
{
	return atomic_load(&self.correlation_id) != 0;
}

bool measured_launch_has(uint32_t correlation_id)
{
	return correlation_id &&
	       atomic_load_explicit(&self.correlation_id, memory_order_relaxed) == correlation_id;
}

bool measured_launch_uses(const struct device_counters *counters)
{
	return measured_launch_is() && self.counters == counters;
}

static void count(enum ledger_reason reason)
{
	record_ring_count(self.ring, device_counters_number(self.counters), reason, 1, 0);
}

void measured_launch_cut(void)
{
	if (!measured_launch_is())
		return;
	atomic_store(&self.correlation_id, 0);
	count(LEDGER_METRIC_REFUSED);
	if (self.is_open)
		device_counters_leave_open(self.counters);
}

/* What goes by until the end is seen is counted, too, so a wait has pauses only once it is long. */
static void pause_since(uint64_t start_ns)
{
	const uint64_t pause_ns = (monotonic_ns() - start_ns) / WAIT_PARTS;
	const struct timespec pause = {.tv_nsec = pause_ns < WAIT_MOST_NS ? (long)pause_ns
									  : WAIT_MOST_NS};

	/* No cancellation point, as nanosleep() is. */
	if (pause.tv_nsec >= WAIT_LEAST_NS)
		syscall(SYS_nanosleep, &pause, NULL);
	else
		sched_yield();
}

/* Waits for the work that the context has until now. Meanwhile others may take the lock. Returns whether the launch is
 * measured still. */
static bool wait_for_work(uint32_t correlation_id)
{
	const uint32_t device_id = device_counters_number(self.counters);
	const uint64_t start_ns = monotonic_ns();

	if (!idle_context_mark(device_id, self.counters->context))
		return true;
	while (idle_context_state(device_id) == IDLE_CONTEXT_WORKS) {
		pthread_mutex_unlock(self.lock);
		pause_since(start_ns);
		pthread_mutex_lock(self.lock);
		if (!measured_launch_has(correlation_id))
			return false;
		if (!waiting_work_is_none()) {
			measured_launch_cut();
			return false;
		}
	}
	return true;
}

bool measured_launch_begin(uint32_t cbid, const struct cupti_callback_data *call, uint32_t stack_id,
			   uint64_t key, bool is_first)
{
	const uint32_t device_id = measured_calls_device(call);
	const uint64_t pass_key = measured_calls_key(cbid, call, stack_id, true);
	struct device_counters *counters = &device_counters[device_id];
	const struct metric_subject subject = {.stack_id = stack_id, .cbid = cbid};

	if (!device_counters_claim(counters, call->context) ||
	    !device_counters_take_pass(counters, pass_key, is_first))
		return false;
	self.counters = counters;
	self.key = key;
	self.is_open = false;
	self.beside = device_launches_mark(device_id);
	atomic_store(&self.correlation_id, call->correlation_id);
	if (!wait_for_work(call->correlation_id))
		return false;
	if (device_launches_were_shared(&self.beside, 0)) {
		/* CUPTI would wait for the others' work. */
		count(LEDGER_METRIC_LAUNCHES);
		count(LEDGER_METRIC_SHARED);
		launch_choice_measured(self.choice, key);
	} else {
		self.is_open =
			device_counters_open(counters, &subject, pass_key, call->correlation_id);
	}
	if (!self.is_open)
		atomic_store(&self.correlation_id, 0);
	return self.is_open;
}

/* Waits for its end, and for what other threads launched meanwhile, since CUPTI would wait for that. Threads that
 * launch all the time are not waited for. Returns whether it is measured still. */
static bool wait_for_end(uint32_t correlation_id)
{
	const uint32_t device_id = device_counters_number(self.counters);
	uint64_t nr_launches;
	uint32_t turn = 0;

	do {
		nr_launches = device_launches_count(device_id);
		if (!wait_for_work(correlation_id))
			return false;
	} while (nr_launches != device_launches_count(device_id) && ++turn < WAIT_TURNS);
	return true;
}

void measured_launch_end(const struct cupti_callback_data *call, bool failed)
{
	if (!failed && !wait_for_end(call->correlation_id))
		return;
	if (device_counters_close(self.counters, &self.beside, 0,
				  failed ? DEVICE_COUNTERS_FAILED : DEVICE_COUNTERS_DONE))
		launch_choice_measured(self.choice, self.key);
	atomic_store(&self.correlation_id, 0);
}
