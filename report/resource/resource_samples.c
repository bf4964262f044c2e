#include "resource_samples.h"

#include <math.h>

#include "aggregator/core/kept_window.h"
#include "aggregator/store/store_placement.h"
#include "base/array.h"

/* Work that is longer than this may be missing in all of a window. */
#define BEGIN_NS (KEPT_WINDOW_GPU_NS / 10)

#define NS_PER_S 1e9

struct maker {
	struct resource_stretches *stretches;
	uint32_t level; /* of windows whose samples are taken */
};

static uint64_t window_of(const struct resource_stretch *stretch)
{
	return stretch->begin_ns / KEPT_WINDOW_GPU_NS;
}

/* Half of the windows are enough. At the last level one window of half a million is left. */
static void thin_out(struct maker *maker)
{
	struct resource_stretches *stretches = maker->stretches;
	uint32_t count = 0;

	maker->level++;
	for (uint32_t i = 0; i < stretches->count; i++)
		if (kept_window_level(window_of(&stretches->list[i])) >= maker->level)
			stretches->list[count++] = stretches->list[i];
	stretches->count = count;
}

static void take_use(struct resource_stretch *stretch, enum resource resource,
		     const struct counter_sample *sample, enum counter_use use)
{
	if (!(sample->known & COUNTER_KNOWS_USE(use)))
		return;
	stretch->known |= 1u << resource;
	stretch->amounts[resource] =
		(uint64_t)((unsigned __int128)stretch->ns * sample->use[use] / COUNTER_WHOLE);
}

static void take_traffic(struct resource_stretch *stretch, enum resource resource,
			 const struct counter_sample *sample, enum counter_traffic traffic)
{
	if (!(sample->known & COUNTER_KNOWS_TRAFFIC(traffic)))
		return;
	stretch->known |= 1u << resource;
	stretch->amounts[resource] = sample->bytes[traffic];
}

/* Samples of two agents, which may overlap, are not both right. */
static bool overlaps(const struct resource_stretches *stretches,
		     const struct counter_sample *sample)
{
	return stretches->count && stretches->list[stretches->count - 1].end_ns > sample->begin_ns;
}

static int take_sample(void *context, const struct counter_sample *sample)
{
	struct maker *maker = context;
	struct resource_stretches *stretches = maker->stretches;
	struct resource_stretch stretch = {.begin_ns = sample->begin_ns,
					   .end_ns = sample->end_ns,
					   .ns = sample->end_ns - sample->begin_ns};

	if (stretch.ns > KEPT_WINDOW_GPU_NS || overlaps(stretches, sample))
		return 0;
	while (stretches->count == RESOURCE_SAMPLES_MAX && maker->level + 1 < KEPT_WINDOW_LEVELS)
		thin_out(maker);
	if (kept_window_level(window_of(&stretch)) < maker->level ||
	    stretches->count == RESOURCE_SAMPLES_MAX)
		return 0;
	take_use(&stretch, RESOURCE_SM, sample, COUNTER_SM);
	take_use(&stretch, RESOURCE_OCCUPANCY, sample, COUNTER_OCCUPANCY);
	take_use(&stretch, RESOURCE_TENSOR, sample, COUNTER_TENSOR);
	take_traffic(&stretch, RESOURCE_DRAM, sample, COUNTER_DRAM_BYTES);
	take_traffic(&stretch, RESOURCE_NVLINK, sample, COUNTER_NVLINK_BYTES);
	take_traffic(&stretch, RESOURCE_PCIE, sample, COUNTER_PCIE_BYTES);
	const int error = array_reserve(&stretches->list, &stretches->room, stretches->count + 1ull,
					sizeof(*stretches->list));
	if (!error)
		stretches->list[stretches->count++] = stretch;
	return error;
}

int resource_samples_init(struct resource_stretches *stretches, struct database *database,
			  uint32_t device)
{
	struct maker maker = {.stretches = stretches};

	*stretches = (struct resource_stretches){0};
	return store_placement_counters(database, device, take_sample, &maker);
}

void resource_samples_mark(struct resource_stretches *stretches, uint32_t level)
{
	for (uint32_t i = 0; i < stretches->count; i++) {
		struct resource_stretch *stretch = &stretches->list[i];
		const uint64_t window = window_of(stretch);
		const bool is_begin = stretch->begin_ns - window * KEPT_WINDOW_GPU_NS < BEGIN_NS;

		stretch->is_thin |=
			level && is_begin && window && kept_window_level(window - 1) < level;
	}
}

double resource_samples_mismatch(const struct resource_stretches *samples,
				 const struct resource_stretches *rows, enum resource resource)
{
	double counted = 0, sampled = 0, ns = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < rows->count && samples->count; i++) {
		const struct resource_stretch *row = &rows->list[i];
		double amount = 0, sample_ns = 0;

		for (; at < samples->count && samples->list[at].end_ns <= row->end_ns; at++) {
			const struct resource_stretch *sample = &samples->list[at];

			if (sample->begin_ns < row->begin_ns || !(sample->known & 1u << resource))
				continue;
			amount += (double)sample->amounts[resource];
			sample_ns += (double)sample->ns;
		}
		if (sample_ns <= 0 || !(row->known & 1u << resource) ||
		    row->begin_ns < samples->list[0].begin_ns ||
		    row->end_ns > samples->list[samples->count - 1].end_ns)
			continue;
		counted += (double)row->amounts[resource];
		sampled += amount / sample_ns * (double)row->ns;
		ns += (double)row->ns;
	}
	const double all = fmax(counted, (double)resource_little(resource) * ns / NS_PER_S);

	return all > 0 ? fabs(sampled - counted) / all : 0;
}
