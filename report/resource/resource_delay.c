#include "resource_delay.h"

#include <math.h>

#include "report/telemetry/gpu_telemetry.h"

/* A 25th of a row is within the errors of its values. */
#define LONG_ROW_NS 4000000000ull
/* Rows of a second become longer with the run, so that it has hundreds of short ones; a merged profile has more. */
#define ROWS_MAX 4096u

#define CLEARLY   0.8 /* of what is unexplained without a delay */
#define EXPLAINED 0.2 /* of a resource: if no delay leaves less unexplained, it tells nothing */
#define AS_MANY   0.9 /* of the intervals without a delay */

/* No delay, and those between 90 and 190 ms at most 17 ms apart from one. */
static const uint64_t delays_ns[RESOURCE_DELAYS] = {0, 107000000, 140000000, 173000000};

/* What each resource leaves unexplained at each delay, as a share; INFINITY: so few intervals have work that chance
 * decides. */
struct unexplained {
	double of[RESOURCE_DELAYS][RESOURCES];
};

/* GPM alone tells whether anything computes, and late. Samples of counters, which stand in its place, are of their
 * time. */
static bool is_late(const struct resource_usage_device *device, const struct placement_log *log)
{
	struct device_telemetry sums;

	gpu_telemetry_of(log, device->device, &sums);
	for (uint32_t i = 0; i < RESOURCES; i++)
		if (i != RESOURCE_ENERGY && device->resources[i].ns)
			return sums.use_known_ns[TELEMETRY_COMPUTING] > 0;
	return false;
}

static bool are_short(const struct resource_stretches *rows)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < rows->count; i++)
		ns += rows->list[i].ns;
	return rows->count && rows->count <= ROWS_MAX && ns / rows->count < LONG_ROW_NS;
}

int resource_delay_init(struct resource_delay_rows *rows,
			const struct resource_usage_device *device, const struct placement_log *log)
{
	*rows = (struct resource_delay_rows){.count = 1};
	int error = resource_stretches_init(&rows->list[0], log, device->device, 0);

	if (error || !are_short(&rows->list[0]) || !is_late(device, log))
		return error;
	for (; rows->count < RESOURCE_DELAYS && !error; rows->count++)
		error = resource_stretches_init(&rows->list[rows->count], log, device->device,
						delays_ns[rows->count]);
	return error;
}

void resource_delay_fini(struct resource_delay_rows *rows)
{
	for (uint32_t i = 0; i < RESOURCE_DELAYS; i++)
		resource_stretches_fini(&rows->list[i]);
}

/* Fits a resource over all lists. */
static int fit(const struct resource_delay_rows *rows, enum resource resource,
	       struct unexplained *unexplained)
{
	struct resource_fit fits[RESOURCE_DELAYS];
	int error = 0;

	for (uint32_t i = 0; i < rows->count && !error; i++) {
		error = resource_stretches_fit(&rows->list[i], resource, &fits[i]);
		if (error)
			break;
		unexplained->of[i][resource] =
			fits[i].nr_intervals > fits[i].nr_classes + 1 &&
					fits[i].nr_intervals >= AS_MANY * fits[0].nr_intervals
				? resource_stretches_missed(&rows->list[i], resource, &fits[i])
				: INFINITY;
	}
	return error;
}

/* Adds up a list's, but for resources that no list explains. */
static double add_up(const struct unexplained *unexplained, uint32_t list)
{
	double sum = 0;

	for (uint32_t i = 0; i < RESOURCES; i++) {
		double least = INFINITY;

		for (uint32_t k = 0; k < RESOURCE_DELAYS; k++)
			least = fmin(least, unexplained->of[k][i]);
		sum += least < EXPLAINED ? unexplained->of[list][i] : 0;
	}
	return sum;
}

int resource_delay_choose(const struct resource_delay_rows *rows,
			  const struct resource_usage_device *device,
			  const struct resource_stretches **chosen)
{
	struct unexplained unexplained = {0};
	int error = 0;

	*chosen = &rows->list[0];
	if (rows->count < RESOURCE_DELAYS)
		return 0;
	for (uint32_t i = 0; i < RESOURCES && !error; i++)
		if (i != RESOURCE_ENERGY && device->resources[i].ns)
			error = fit(rows, (enum resource)i, &unexplained);
	if (error)
		return error;
	double least = CLEARLY * add_up(&unexplained, 0);
	for (uint32_t i = 1; i < RESOURCE_DELAYS; i++) {
		const double sum = add_up(&unexplained, i);

		if (sum >= least)
			continue;
		*chosen = &rows->list[i];
		least = sum;
	}
	return 0;
}
