#include "watch_pace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "watch_steps.h"

#include "base/array.h"
#include "report/statistics/robust.h"

#define STEP_MAX_NS 1e18
/* A step that takes so many times as long as each other one happened once. Such steps are an eighth at most. */
#define ONCE_TIMES 3
#define ONCE_PART  8

struct watch_pace_entry {
	uint64_t time_ns;
	struct watch_pace pace;
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the mean time of `period` collectives, of those called at these times, as watch_replay.h has the mean since
 * the onset. What a job does once, as at its start, does not count. steps: room for as many. */
static double usual_step(const uint64_t *called_ns, uint32_t count, uint32_t period, double *steps)
{
	uint32_t nr_steps = 0;
	double sum_ns = 0;

	for (uint32_t i = period; i < count; i += period)
		steps[nr_steps++] = (double)called_ns[i] - (double)called_ns[i - period];
	qsort(steps, nr_steps, sizeof(*steps), by_value);
	for (uint32_t most = nr_steps / ONCE_PART;
	     most > 0 && steps[nr_steps - 1] > ONCE_TIMES * steps[nr_steps - 2]; most--)
		nr_steps--;
	for (uint32_t i = 0; i < nr_steps; i++)
		sum_ns += steps[i];
	return nr_steps ? sum_ns / nr_steps : 0;
}

int watch_pace_since(const struct watch_recent *recent, uint32_t first, uint32_t end,
		     uint64_t since_ns, struct watch_pace *pace)
{
	double *steps = calloc(end - first, sizeof(*steps)), step_ns = 0;

	*pace = (struct watch_pace){.key = recent->keys[recent->meetings[first].communicator]};
	int error = steps ? watch_steps_find(recent, first, end, &pace->collectives) : -ENOMEM;
	if (!error) {
		uint32_t from = first;

		while (from < end && recent->called_ns[from] < since_ns)
			from++;
		step_ns = usual_step(recent->called_ns + from, end - from,
				     pace->collectives ? pace->collectives : 1, steps);
	}
	pace->step_ns = step_ns > 0 && step_ns < STEP_MAX_NS ? (uint64_t)llround(step_ns) : 0;
	free(steps);
	return error;
}

uint32_t watch_pace_end(const struct watch_recent *recent, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < recent->nr_meetings &&
	       recent->meetings[end].communicator == recent->meetings[first].communicator)
		end++;
	return end;
}

int watch_pace_measure(const struct watch_recent *recent, struct watch_pace **paces,
		       uint32_t *count)
{
	*paces = NULL;
	*count = 0;
	for (uint32_t first = 0, end; first < recent->nr_meetings; first = end) {
		struct watch_pace pace;

		end = watch_pace_end(recent, first);
		int error = watch_pace_since(recent, first, end, 0, &pace);
		if (!error && pace.step_ns)
			error = array_append(paces, count, &pace, sizeof(pace));
		if (error)
			return error;
	}
	return 0;
}

void watch_pace_log_fini(struct watch_pace_log *log)
{
	free(log->entries);
	*log = (struct watch_pace_log){.entries = NULL};
}

int watch_pace_log_add(struct watch_pace_log *log, uint64_t time_ns, const struct watch_pace *paces,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct watch_pace_entry entry = {time_ns, paces[i]};
		uint32_t oldest = 0, same = 0;

		for (uint32_t j = log->nr_entries; j > 0; j--)
			if (log->entries[j - 1].pace.key == paces[i].key) {
				oldest = j - 1;
				same++;
			}
		if (same < WATCH_PACE_LOOKS)
			oldest = 0;
		if (same >= WATCH_PACE_LOOKS || log->nr_entries >= WATCH_PACE_MAX) {
			log->nr_entries--;
			memmove(&log->entries[oldest], &log->entries[oldest + 1],
				(log->nr_entries - oldest) * sizeof(entry));
		}
		if (array_append(&log->entries, &log->nr_entries, &entry, sizeof(entry)))
			return -ENOMEM;
	}
	return 0;
}

uint64_t watch_pace_log_before(const struct watch_pace_log *log, uint64_t before_ns, uint64_t key,
			       uint32_t collectives)
{
	double steps[WATCH_PACE_LOOKS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < log->nr_entries && count < WATCH_PACE_LOOKS; i++) {
		const struct watch_pace *pace = &log->entries[i].pace;

		if (log->entries[i].time_ns <= before_ns && pace->key == key &&
		    pace->collectives == collectives)
			steps[count++] = (double)pace->step_ns;
	}
	return (uint64_t)llround(robust_median(steps, count));
}
