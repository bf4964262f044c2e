#include "resource_stretches.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/kept_window.h"
#include "aggregator/profile/kept_log.h"
#include "base/array.h"
#include "proto/ledger.h"
#include "report/statistics/exact_share.h"
#include "report/telemetry/gpu_telemetry.h"

/* A row whose readings took another time than itself had a pause. */
#define ROW_PART 10u

/* Windows tell of a stretch if they are an eighth of it. */
#define KEPT_PART 8u

/* More is nonsense, and would not fit. */
#define STRETCH_NS_MAX 1e19

#define NS_PER_S 1e9

struct maker {
	struct resource_stretches *stretches;
	uint64_t ns; /* of all stretches */
	uint64_t delay_ns;
	int error;
};

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Resources are read together, but the first reading of one may come later than that of another. */
static void take_resources(struct resource_stretch *stretch, const struct device_telemetry *row)
{
	for (uint32_t i = 0; i < RESOURCES; i++) {
		uint64_t known_ns, amount;

		resource_of_row((enum resource)i, row, &known_ns, &amount);
		if (known_ns == 0 || apart(known_ns, stretch->ns) > stretch->ns / ROW_PART)
			continue;
		stretch->known |= 1u << i;
		stretch->amounts[i] = exact_share(amount, stretch->ns, known_ns);
	}
}

static uint64_t longest_known(const struct device_telemetry *row)
{
	uint64_t longest_ns = 0, known_ns, amount;

	for (uint32_t i = 0; i < RESOURCES; i++) {
		resource_of_row((enum resource)i, row, &known_ns, &amount);
		longest_ns = known_ns > longest_ns ? known_ns : longest_ns;
	}
	return longest_ns;
}

static void take_row(void *context, const struct device_telemetry *row)
{
	struct maker *maker = context;
	struct resource_stretches *stretches = maker->stretches;
	const uint64_t row_ns = row->last_ns > row->begin_ns ? row->last_ns - row->begin_ns : 0;
	const uint64_t ns = longest_known(row);

	if (ns == 0 || apart(row_ns, ns) > row_ns / ROW_PART || maker->error ||
	    stretches->count == RESOURCE_STRETCHES_MAX || ns > RESOURCE_STRETCHES_NS - maker->ns ||
	    ns + maker->delay_ns > row->last_ns)
		return;
	maker->ns += ns;
	maker->error = array_reserve(&stretches->list, &stretches->room, stretches->count + 1ull,
				     sizeof(*stretches->list));
	if (maker->error)
		return;
	struct resource_stretch *stretch = &stretches->list[stretches->count++];
	*stretch = (struct resource_stretch){.begin_ns = row->last_ns - maker->delay_ns - ns,
					     .end_ns = row->last_ns - maker->delay_ns,
					     .ns = ns};
	take_resources(stretch, row);
}

int resource_stretches_init(struct resource_stretches *stretches, const struct placement_log *log,
			    uint32_t device, uint64_t delay_ns)
{
	struct maker maker = {.stretches = stretches, .delay_ns = delay_ns};

	*stretches = (struct resource_stretches){0};
	gpu_telemetry_each(log, device, 0, UINT64_MAX, take_row, &maker);
	return maker.error;
}

void resource_stretches_fini(struct resource_stretches *stretches)
{
	free(stretches->list);
	*stretches = (struct resource_stretches){0};
}

/* Finds the first stretch that ends after a time. */
static uint32_t first_after(const struct resource_stretches *stretches, uint64_t ns)
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

static void add_ns(struct resource_stretches *stretches, uint32_t i, uint32_t class, double ns,
		   const double *scales)
{
	uint64_t *sum = &stretches->list[i].class_ns[class];

	ns *= scales ? scales[i] : 1;
	*sum = ledger_add_saturating(*sum, ns < STRETCH_NS_MAX ? (uint64_t)ns : UINT64_MAX);
}

/* Adds the part of a piece that lies in a stretch. */
static void add_part(struct resource_stretches *stretches, uint32_t i, uint32_t class,
		     uint64_t start_ns, uint64_t end_ns, const double *scales)
{
	const struct resource_stretch *stretch = &stretches->list[i];
	const uint64_t from_ns = start_ns > stretch->begin_ns ? start_ns : stretch->begin_ns;
	const uint64_t to_ns = end_ns < stretch->end_ns ? end_ns : stretch->end_ns;

	if (to_ns > from_ns)
		add_ns(stretches, i, class, (double)(to_ns - from_ns), scales);
}

void resource_stretches_add(struct resource_stretches *stretches, uint32_t class, uint64_t start_ns,
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

void resource_stretches_settle(struct resource_stretches *stretches, const double *scales)
{
	int64_t whole[RESOURCE_CLASSES] = {0};

	for (uint32_t i = 0; i < stretches->count; i++) {
		struct resource_stretch *stretch = &stretches->list[i];

		for (uint32_t class = 0; class < RESOURCE_CLASSES; class ++) {
			whole[class] += stretch->whole[class];
			if (whole[class])
				add_ns(stretches, i, class,
				       (double)whole[class] * (double)stretch->ns, scales);
		}
		memset(stretch->whole, 0, sizeof(stretch->whole));
	}
}

void resource_stretches_clear(struct resource_stretches *stretches)
{
	for (uint32_t i = 0; i < stretches->count; i++) {
		memset(stretches->list[i].class_ns, 0, sizeof(stretches->list[i].class_ns));
		stretches->list[i].is_thin = false;
	}
}

void resource_stretches_begin(struct resource_stretches *stretches, uint64_t ns)
{
	for (uint32_t i = 0; i < stretches->count && stretches->list[i].begin_ns < ns; i++)
		stretches->list[i].is_thin = true;
}

void resource_stretches_end(struct resource_stretches *stretches, uint64_t ns)
{
	for (uint32_t i = stretches->count; i-- && stretches->list[i].end_ns > ns;)
		stretches->list[i].is_thin = true;
}

/* Returns the time of a stretch in windows that are kept at a level. */
static uint64_t kept_ns(const struct resource_stretch *stretch, uint32_t level)
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

void resource_stretches_scale(struct resource_stretches *stretches, uint32_t level, double *scales)
{
	for (uint32_t i = 0; i < stretches->count; i++) {
		struct resource_stretch *stretch = &stretches->list[i];
		const uint64_t ns = stretch->ns;
		const uint64_t known_ns = level ? kept_ns(stretch, level) : ns;

		scales[i] = known_ns ? (double)ns / (double)known_ns : 0;
		stretch->is_thin |= known_ns < ns / KEPT_PART;
	}
}

int resource_stretches_fit(const struct resource_stretches *stretches, enum resource resource,
			   struct resource_fit *fit)
{
	const struct resource_scale scale = {.has_base = resource_has_base(resource),
					     .little = resource_little(resource)};
	struct resource_interval *intervals = malloc((stretches->count + 1ul) * sizeof(*intervals));
	uint32_t nr = 0;

	if (!intervals)
		return -ENOMEM;
	for (uint32_t i = 0; i < stretches->count; i++) {
		const struct resource_stretch *stretch = &stretches->list[i];

		if (stretch->is_thin || !(stretch->known & 1u << resource))
			continue;
		intervals[nr] = (struct resource_interval){.ns = stretch->ns,
							   .amount = stretch->amounts[resource]};
		memcpy(intervals[nr++].class_ns, stretch->class_ns, sizeof(stretch->class_ns));
	}
	resource_fit_make(intervals, nr, &scale, fit);
	free(intervals);
	return 0;
}

double resource_stretches_missed(const struct resource_stretches *stretches, enum resource resource,
				 const struct resource_fit *fit)
{
	double missed = 0, all = 0;

	for (uint32_t i = 0; i < stretches->count; i++) {
		const struct resource_stretch *stretch = &stretches->list[i];
		const double amount = (double)stretch->amounts[resource];
		double miss = amount * NS_PER_S - (double)fit->idle_rate * (double)stretch->ns;

		if (stretch->is_thin || !(stretch->known & 1u << resource))
			continue;
		for (uint32_t k = 0; k < RESOURCE_CLASSES; k++)
			miss -= (double)stretch->class_ns[k] * (double)fit->class_rate[k];
		missed += fabs(miss);
		all += amount * NS_PER_S;
	}
	return all > 0 ? missed / all : 0;
}
