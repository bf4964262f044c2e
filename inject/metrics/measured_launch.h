/* The launch that is measured: one of the process at a time, from its callback's beginning to its end.
 *
 * CUPTI would wait for the GPU inside its calls, and during these no capture may begin. So the launching thread itself
 * waits first, without a call under way and without the lock (metrics_lock.h): before CUPTI opens the launch's range,
 * and before it closes it. A thread that begins a capture meanwhile goes on at once, and the launch is given up
 * (LEDGER_METRIC_REFUSED). A range that is open then stays open, because closing it would wait
 * (device_counters_leave_open()). So a capture waits for calls of CUPTI's that have begun on an idle context, and for
 * the call of the launch. It waits for the GPU
 * - with a driver that has no cuCtxRecordEvent;
 * - where a third thread launches all the time while a launch is measured: CUPTI waits for the last of that.
 *
 * The lock is held in each call. */
#ifndef MEASURED_LAUNCH_H
#define MEASURED_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct cupti_callback_data;
struct device_counters;
struct launch_choice;
struct record_ring;

/* Forgets all. The pointers are borrowed for good. */
void measured_launch_init(struct launch_choice *choice, struct record_ring *ring);

/* Returns whether a launch is measured, or waits to be; whether it is that one (any thread, without the lock); and
 * whether one is with these counters. */
bool measured_launch_is(void);
bool measured_launch_has(uint32_t correlation_id);
bool measured_launch_uses(const struct device_counters *counters);

/* Begins to measure a launch, at its callback's beginning. None is measured. key: the choice's. is_first: the key was
 * not known. Returns whether it is measured: then the lock stays held until the callback's end, but for waits. */
bool measured_launch_begin(uint32_t cbid, const struct cupti_callback_data *call, uint32_t stack_id,
			   uint64_t key, bool is_first);

/* Ends it, at its callback's end. The lock was held since. */
void measured_launch_end(const struct cupti_callback_data *call, bool failed);

/* Gives it up without a call of CUPTI, if there is one. Any thread. */
void measured_launch_cut(void);

#endif
