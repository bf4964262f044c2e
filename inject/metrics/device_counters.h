/* The GPU's counters of each device, with the session that uses them for one context (metrics_session.h), and the
 * measurements whose values they hold. One thread at a time, which the caller sees to by its lock; while a session is
 * begun, opened, closed or looked at, no thread may capture a stream. */
#ifndef DEVICE_COUNTERS_H
#define DEVICE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "device_launches.h"
#include "measurements.h"
#include "metrics_session.h"

#include "proto/record.h"

struct cupti_library;
struct definition_writer;

/* Of one device. Others read `context`, which is NULL while none is measured, and `is_left_open`, and no more. */
struct device_counters {
	struct metrics_session session;
	void *context;
	uint64_t first_ns; /* when the first of the ranges began */
	uint64_t used_ns, retry_ns;
	uint32_t tries;
	int refusal; /* CUptiResult of the last try, that no notice has told */
	bool is_refused, other_context, other_said, is_unknown_said;
	bool is_left_open;                       /* a range that was given up is not closed yet */
	uint64_t key;                            /* of the work that the passes are of */
	uint32_t numbers[METRIC_OPTIONS_MAX];    /* of the session's metrics in the options */
	uint32_t ranges[METRICS_SESSION_RANGES]; /* their measurements */
	uint32_t nr_ranges;
};

/* Forgets all. The pointers are borrowed for good. */
void device_counters_init(const struct cupti_library *library,
			  struct definition_writer *definitions,
			  const struct metric_options *options);

extern struct device_counters device_counters[RECORD_DEVICES_MAX]
	__attribute__((visibility("hidden"))); /* by CUDA ordinal */

static inline uint32_t device_counters_number(const struct device_counters *counters)
{
	return (uint32_t)(counters - device_counters);
}

/* Returns whether a session ever began. Any thread. */
bool device_counters_have_begun(void);

/* Returns whether the context, the thread's current one or NULL, is measured, from now on if it can be. */
bool device_counters_claim(struct device_counters *counters, void *context);

/* Returns whether work of this key can be measured, as the next pass where there are several. Much work comes once, so
 * the first of a key begins no passes. May look at what was counted before. */
bool device_counters_take_pass(struct device_counters *counters, uint64_t key, bool is_first);

/* Opens a measurement, or its next pass, at a call. The counters are claimed and took the pass. subject: without
 * device_id and nr_passes. Returns whether it is open; else there is no room, or CUPTI refused, and the session may
 * have ended. */
bool device_counters_open(struct device_counters *counters, const struct metric_subject *subject,
			  uint64_t key, uint32_t correlation_id);

/* Returns the number of the measurement that is open. */
static inline uint32_t device_counters_measurement(const struct device_counters *counters)
{
	return counters->ranges[counters->nr_ranges - 1];
}

/* What becomes of the measurement that was closed. */
enum device_counters_fate {
	DEVICE_COUNTERS_DONE,
	DEVICE_COUNTERS_SHARED, /* other work was counted with it */
	DEVICE_COUNTERS_FAILED, /* nothing was launched */
	DEVICE_COUNTERS_CUT,    /* it is to be forgotten */
};

/* Closes it, when the work has ended. One that is done is shared if other work began beside it until then; nr_own: as
 * device_launches_were_shared(). Returns whether it is kept and has all of its passes. */
bool device_counters_close(struct device_counters *counters,
			   const struct device_launches_mark *beside, uint64_t nr_own,
			   enum device_counters_fate fate);

/* Gives up the measurement that is open, without a call of CUPTI: a thread begins a capture. Its range is closed before
 * the next look, and the next one that opens. */
void device_counters_leave_open(struct device_counters *counters);

/* Gives measurements their values. None is open. */
void device_counters_look(struct device_counters *counters);

/* Ends the session. is_gone: CUPTI has ended it. */
void device_counters_end(struct device_counters *counters, bool is_gone);

/* Ends what has rested, after a look; nobody captures, and none is open. last: all. */
void device_counters_rest(struct device_counters *counters, uint64_t now_ns, bool last);

/* Says by notices what is not measured and why. last: also of tries that would go on. */
void device_counters_say(struct device_counters *counters, bool last);

#endif
