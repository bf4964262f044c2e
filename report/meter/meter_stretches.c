#include "meter_stretches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/kept_window.h"
#include "aggregator/profile/kept_log.h"
#include "base/array.h"
#include "proto/ledger.h"
#include "report/telemetry/gpu_telemetry.h"

/* A row whose readings took another time than itself had a pause. */
#define ROW_PART 10u

/* Windows tell of a stretch if they are an eighth of it. */
#define KEPT_PART 8u

/* More is nonsense, and would not fit. */
#define STRETCH_NS_MAX 1e19

struct maker {
	struct meter_stretches *stretches;
	uint64_t ns; /* of all stretches */
	int error;
};

static void take_row(void *context, const struct device_telemetry *row)
{
	struct maker *maker = context;
	struct meter_stretches *stretches = maker->stretches;
	const uint64_t ns = row->last_ns > row->begin_ns ? row->last_ns - row->begin_ns : 0;
	const uint64_t apart = ns > row->energy_ns ? ns - row->energy_ns : row->energy_ns - ns;

	if (row->energy_ns == 0 || apart > ns / ROW_PART || maker->error ||
	    stretches->count == METER_STRETCHES_MAX ||
	    row->energy_ns > METER_STRETCHES_NS - maker->ns || row->energy_ns > row->last_ns)
		return;
	maker->ns += row->energy_ns;
	maker->error = array_reserve(&stretches->list, &stretches->room, stretches->count + 1ull,
				     sizeof(*stretches->list));
	if (!maker->error)
		stretches->list[stretches->count++] = (struct meter_stretch){
			.begin_ns = row->last_ns - row->energy_ns,
			.end_ns = row->last_ns,
			.interval = {.ns = row->energy_ns, .mj = row->energy_mj},
		};
}

int meter_stretches_init(struct meter_stretches *stretches, const struct placement_log *log,
			  uint32_t device)
{
	struct maker maker = {.stretches = stretches};

	*stretches = (struct meter_stretches){0};
	gpu_telemetry_each(log, device, 0, UINT64_MAX, take_row, &maker);
	return maker.error;
}

void meter_stretches_fini(struct meter_stretches *stretches)
{
	free(stretches->list);
	*stretches = (struct meter_stretches){0};
}

/* Finds the first stretch that ends after a time. */
static uint32_t first_after(const struct meter_stretches *stretches, uint64_t ns)
{
	uint32_t low = 0, high = stretches->count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (stretches->list[middle].end_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_ns(struct meter_stretches *stretches, uint32_t i, uint32_t class, double ns,
		   const double *scales)
{
	uint64_t *sum = &stretches->list[i].interval.class_ns[class];

	ns *= scales ? scales[i] : 1;
	*sum = ledger_add_saturating(*sum, ns < STRETCH_NS_MAX ? (uint64_t)ns : UINT64_MAX);
}

/* Adds the part of a piece that lies in a stretch. */
static void add_part(struct meter_stretches *stretches, uint32_t i, uint32_t class,
		     uint64_t start_ns, uint64_t end_ns, const double *scales)
{
	const struct meter_stretch *stretch = &stretches->list[i];
	const uint64_t from_ns = start_ns > stretch->begin_ns ? start_ns : stretch->begin_ns;
	const uint64_t to_ns = end_ns < stretch->end_ns ? end_ns : stretch->end_ns;

	if (to_ns > from_ns)
		add_ns(stretches, i, class, (double)(to_ns - from_ns), scales);
}

void meter_stretches_add(struct meter_stretches *stretches, uint32_t class, uint64_t start_ns,
			  uint64_t end_ns, const double *scales)
{
	const uint32_t first = first_after(stretches, start_ns),
		       last = first_after(stretches, end_ns);

	if (first < stretches->count)
		add_part(stretches, first, class, start_ns, end_ns, scales);
	if (first == last)
		return;
	/* The last one that it reaches is in part, and those between are whole. */
	if (last < stretches->count)
		add_part(stretches, last, class, start_ns, end_ns, scales);
	if (first + 1 < last) {
		stretches->list[first + 1].whole[class]++;
		if (last < stretches->count)
			stretches->list[last].whole[class]--;
	}
}

void meter_stretches_settle(struct meter_stretches *stretches, const double *scales)
{
	int64_t whole[METER_CLASSES] = {0};

	for (uint32_t i = 0; i < stretches->count; i++) {
		struct meter_stretch *stretch = &stretches->list[i];

		for (uint32_t class = 0; class < METER_CLASSES; class ++) {
			whole[class] += stretch->whole[class];
			if (whole[class])
				add_ns(stretches, i, class,
				       (double)whole[class] * (double)stretch->interval.ns, scales);
		}
		memset(stretch->whole, 0, sizeof(stretch->whole));
	}
}

void meter_stretches_clear(struct meter_stretches *stretches)
{
	for (uint32_t i = 0; i < stretches->count; i++) {
		memset(stretches->list[i].interval.class_ns, 0,
		       sizeof(stretches->list[i].interval.class_ns));
		stretches->list[i].is_thin = false;
	}
}

void meter_stretches_begin(struct meter_stretches *stretches, uint64_t ns)
{
	for (uint32_t i = 0; i < stretches->count && stretches->list[i].begin_ns < ns; i++)
		stretches->list[i].is_thin = true;
}

/* Returns the time of a stretch in windows that are kept at a level. */
static uint64_t kept_ns(const struct meter_stretch *stretch, uint32_t level)
{
	uint64_t ns = 0;

	for (uint64_t at_ns = stretch->begin_ns; at_ns < stretch->end_ns;) {
		const uint64_t window = at_ns / KEPT_LOG_GPU_NS;
		uint64_t end_ns = (window + 1) * KEPT_LOG_GPU_NS;

		end_ns = end_ns < stretch->end_ns ? end_ns : stretch->end_ns;
		ns += kept_window_level(window) >= level ? end_ns - at_ns : 0;
		at_ns = end_ns;
	}
	return ns;
}

void meter_stretches_scale(struct meter_stretches *stretches, uint32_t level, double *scales)
{
	for (uint32_t i = 0; i < stretches->count; i++) {
		struct meter_stretch *stretch = &stretches->list[i];
		const uint64_t ns = stretch->interval.ns;
		const uint64_t known_ns = level ? kept_ns(stretch, level) : ns;

		scales[i] = known_ns ? (double)ns / (double)known_ns : 0;
		stretch->is_thin |= known_ns < ns / KEPT_PART;
	}
}

int meter_stretches_fit(const struct meter_stretches *stretches, struct meter_fit *fit)
{
	struct meter_interval *intervals = malloc((stretches->count + 1ul) * sizeof(*intervals));
	uint32_t nr = 0;

	if (!intervals)
		return -ENOMEM;
	for (uint32_t i = 0; i < stretches->count; i++)
		if (!stretches->list[i].is_thin)
			intervals[nr++] = stretches->list[i].interval;
	meter_fit_make(intervals, nr, fit);
	free(intervals);
	return 0;
}
