#include "resource_rates.h"

#include <errno.h>
#include <stdlib.h>

#include "resource_classes.h"
#include "resource_samples.h"
#include "resource_work.h"

#include "aggregator/store/database.h"

/* Work in a thin stretch is not known, so without an interval nothing tells whether work ran there. */
static enum resource_unfitted no_interval(const struct resource_stretches *stretches)
{
	for (uint32_t i = 0; i < stretches->count; i++)
		if (stretches->list[i].is_thin)
			return RESOURCE_NO_PIECES;
	return RESOURCE_NO_INTERVAL;
}

static int fit_resource(struct resource_usage_device *device, enum resource resource,
			const struct resource_stretches *stretches, enum resource_unfitted unfitted)
{
	struct resource_usage_sum *of = &device->resources[resource];
	int error = 0;

	of->unfitted = unfitted;
	if (of->ns == 0 || unfitted)
		return 0;
	error = resource_stretches_fit(stretches, resource, &of->fit);
	if (!error && of->fit.nr_intervals == 0)
		of->unfitted = no_interval(stretches);
	return error;
}

/* Samples tell more than rows of telemetry if there are more of them. */
static int fit_samples(struct resource_usage_device *device, enum resource resource,
		       const struct resource_work *work, const struct resource_stretches *rows)
{
	const struct resource_stretches *samples = &work->samples;
	struct resource_usage_sum *of = &device->resources[resource];
	struct resource_fit fit;
	uint64_t ns = 0;

	if (of->ns == 0 || samples->count == 0 || resource == RESOURCE_ENERGY)
		return 0;
	const int error = resource_stretches_fit(samples, resource, &fit);
	if (error || fit.nr_intervals <= of->fit.nr_intervals)
		return error;
	for (uint32_t i = 0; i < samples->count; i++)
		ns += samples->list[i].ns;
	of->fit = fit;
	of->unfitted = RESOURCE_FITTED;
	of->sample_ns = ns / samples->count;
	of->sample_mismatch = resource_samples_mismatch(samples, rows, resource);
	return 0;
}

static int fit_device(struct resource_usage_device *device, struct resource_work *work,
		      const struct resource_work_source *source, bool has_all)
{
	enum resource_unfitted unfitted;
	const struct resource_stretches *delayed;
	int error = resource_work_finish(work, device, source, has_all, &unfitted);

	if (!error)
		error = resource_delay_choose(&work->rows, device, &delayed);
	for (uint32_t i = 0; i < RESOURCES && !error; i++) {
		const struct resource_stretches *rows =
			i == RESOURCE_ENERGY ? &work->rows.list[0] : delayed;

		error = fit_resource(device, (enum resource)i, rows, unfitted);
		if (!error && !unfitted)
			error = fit_samples(device, (enum resource)i, work, rows);
	}
	return error;
}

static int fit_all(struct resource_usage *usage, const struct profile *profile,
		   const uint32_t *device_of, const char *store_path)
{
	struct resource_work_source source = {
		.usage = usage, .profile = profile, .device_of = device_of};
	struct resource_work *works = calloc(usage->nr_devices, sizeof(*works));
	bool has_all = false;
	int error = database_open(store_path, true, &source.database, NULL);

	if (!error && !works)
		error = -ENOMEM;
	for (uint32_t i = 0; i < usage->nr_devices && !error; i++)
		error = resource_work_open(&works[i], &usage->devices[i],
					   profile->collection->placements, source.database);
	if (!error)
		error = resource_work_read(works, &source, store_path, &has_all);
	for (uint32_t i = 0; i < usage->nr_devices && !error; i++)
		error = fit_device(&usage->devices[i], &works[i], &source, has_all);
	for (uint32_t i = 0; works && i < usage->nr_devices; i++)
		resource_work_close(&works[i]);
	free(works);
	database_close(source.database);
	return error;
}

int resource_rates_make(struct resource_usage *usage, uint32_t resources,
			const struct profile *profile, const char *store_path)
{
	uint32_t *device_of = NULL;
	int error = resource_usage_init(usage, resources, profile);

	if (!error && usage->nr_devices) {
		error = resource_classes_choose(usage, profile, &device_of);
		if (!error)
			error = fit_all(usage, profile, device_of, store_path);
	}
	free(device_of);
	if (error)
		resource_usage_fini(usage);
	return error;
}
