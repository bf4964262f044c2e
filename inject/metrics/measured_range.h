/* The range of the program that is measured (nvtx_ranges.h): one of the process at a time. It counts from its first
 * call that asks the GPU for work to its end. What other threads launch in its context until then is the range's as
 * well.
 *
 * CUPTI would wait for the GPU inside its calls. So the range's thread itself waits first, without the lock
 * (metrics_lock.h): before CUPTI opens the range, and before it closes it. If another thread begins a capture or
 * launches a kernel of NCCL's meanwhile, or in between, the range is given up at once (LEDGER_METRIC_REFUSED). It stays
 * open in CUPTI, because closing it would wait (device_counters_leave_open()). Where the driver cannot tell when the
 * work of a context has ended (idle_context.h), it is closed, and that waits for the range's work without a limit. */
#ifndef MEASURED_RANGE_H
#define MEASURED_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct cupti_callback_data;
struct definition_writer;
struct device_counters;
struct launch_callback;
struct launch_choice;
struct launch_thread;
struct metric_options;

/* Forgets all. The pointers are borrowed for good. */
void measured_range_init(struct launch_choice *choice, struct definition_writer *definitions,
			 const struct metric_options *options);

/* A call of a real thread, from its callback's beginning. */
struct measured_range_call {
	const struct launch_callback *launch;
	struct launch_thread *thread;
	uint32_t cbid, device_id;
	const struct cupti_callback_data *data;
};

/* At a call's beginning: begins a range that the thread has open, if it is wanted, and adds the call to the range that
 * is measured. Takes the lock. */
void measured_range_enter(const struct measured_range_call *call);

/* A call failed. Takes the lock. */
void measured_range_failed(uint32_t cbid, const struct cupti_callback_data *data);

#define MEASURED_RANGE_NEVER_ENDED "it never ended"

/* With the lock held: gives up the range; the same, with a reason for the notice, borrowed for good; and returns
 * whether a range is measured, or waits to be, with these counters. */
void measured_range_cut(void);
void measured_range_cut_unended(const char *why);
bool measured_range_uses(const struct device_counters *counters);

/* CUPTI has ended, and the range with it. The lock is held. */
void measured_range_forget(void);

/* Defines a notice about the first range that was cut with a reason. The lock is held. */
void measured_range_say(void);

#endif
