#include "measured_launch.h"

#include <stdatomic.h>

#include "device_counters.h"
#include "device_launches.h"
#include "launch_choice.h"
#include "measured_calls.h"
#include "metrics_lock.h"
#include "waiting_work.h"

#include "inject/cupti/cupti_abi.h"
#include "proto/ledger.h"
#include "proto/ring/record_ring.h"

static struct {
	struct launch_choice *choice;
	struct record_ring *ring;
	_Atomic uint32_t correlation_id; /* 0: none; changes under the lock */
	struct device_counters *counters;
	struct device_launches_mark beside;
	uint64_t key;
	bool is_open; /* its range */
} self;

void measured_launch_init(struct launch_choice *choice, struct record_ring *ring)
{
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

/* Returns whether the launch is measured still. */
static bool goes_on(uint32_t correlation_id)
{
	if (!measured_launch_has(correlation_id))
		return false;
	if (waiting_work_is_none())
		return true;
	measured_launch_cut();
	return false;
}

bool measured_launch_begin(uint32_t cbid, const struct cupti_callback_data *call, uint32_t stack_id,
			   uint64_t key, bool is_first)
{
	const uint32_t device_id = measured_calls_device(call);
	const uint64_t pass_key = measured_calls_key(cbid, call, stack_id, true);
	struct device_counters *counters = &device_counters[device_id];
	const struct metric_subject subject = {.stack_id = stack_id, .cbid = cbid};
	const struct metrics_lock_wait wait = {counters, goes_on, call->correlation_id};

	if (!device_counters_claim(counters, call->context) ||
	    !device_counters_take_pass(counters, pass_key, is_first))
		return false;
	self.counters = counters;
	self.key = key;
	self.is_open = false;
	self.beside = device_launches_mark(device_id);
	atomic_store(&self.correlation_id, call->correlation_id);
	if (!metrics_lock_wait(&wait))
		return false;
	if (device_launches_were_shared(&self.beside, 0)) {
		/* CUPTI would wait for the others' work. */
		count(LEDGER_METRIC_LAUNCHES);
		count(LEDGER_METRIC_SHARED);
		launch_choice_measured(self.choice, key);
	} else if (device_counters_open(counters, &subject, pass_key, call->correlation_id)) {
		self.is_open = true;
	} else {
		count(LEDGER_METRIC_REFUSED);
	}
	if (!self.is_open)
		atomic_store(&self.correlation_id, 0);
	return self.is_open;
}

void measured_launch_end(const struct cupti_callback_data *call, bool failed)
{
	const struct metrics_lock_wait wait = {self.counters, goes_on, call->correlation_id};

	if (!failed && !metrics_lock_wait_for_all(&wait))
		return;
	if (device_counters_close(self.counters, &self.beside, 0,
				  failed ? DEVICE_COUNTERS_FAILED : DEVICE_COUNTERS_DONE))
		launch_choice_measured(self.choice, self.key);
	atomic_store(&self.correlation_id, 0);
}
