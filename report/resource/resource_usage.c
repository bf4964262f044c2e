#include "resource_usage.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/roster.h"
#include "proto/record.h"
#include "report/telemetry/gpu_telemetry.h"

bool resource_usage_is_work(uint32_t kind)
{
	return kind <= RECORD_GPU_GRAPH;
}

bool resource_usage_has(const struct roster_process *process, uint32_t device)
{
	for (uint32_t i = 0; i < process->nr_devices; i++)
		if (process->devices[i].device == device)
			return true;
	return false;
}

static uint32_t first_process(const struct roster *roster, uint32_t device)
{
	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		if (resource_usage_has(roster_process(roster, id), device))
			return id;
	return 0;
}

static void add_resource(struct resource_usage_device *device, enum resource resource,
			 const struct device_telemetry *sums, uint32_t *known)
{
	struct resource_usage_sum *of = &device->resources[resource];

	resource_of_row(resource, sums, &of->ns, &of->amount);
	if (of->ns == 0)
		return;
	*known |= 1u << resource;
	if (sums->observed_ns > of->ns)
		of->lost_ns = sums->observed_ns - of->ns;
}

static int add_devices(struct resource_usage *usage, const struct profile *profile)
{
	const uint32_t nr = roster_size(profile->collection->roster).devices;

	usage->devices = calloc(nr + 1ul, sizeof(*usage->devices));
	if (!usage->devices)
		return -ENOMEM;
	for (uint32_t id = 1; id <= nr; id++) {
		struct resource_usage_device *device = &usage->devices[usage->nr_devices];
		struct device_telemetry sums;
		uint32_t known = 0;

		*device = (struct resource_usage_device){.device = id, .nr_classes = 1};
		gpu_telemetry_of(profile->collection->placements, id, &sums);
		device->process = first_process(profile->collection->roster, id);
		for (uint32_t i = 0; i < RESOURCES; i++)
			if (usage->resources & 1u << i)
				add_resource(device, (enum resource)i, &sums, &known);
		if (known && device->process)
			usage->nr_devices++;
	}
	return 0;
}

struct resource_usage_device *resource_usage_by_id(const struct resource_usage *usage,
						   uint32_t device)
{
	uint32_t low = 0, high = usage->nr_devices;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (usage->devices[middle].device < device)
			low = middle + 1;
		else
			high = middle;
	}
	return low < usage->nr_devices && usage->devices[low].device == device
		       ? &usage->devices[low]
		       : NULL;
}

struct resource_usage_device *resource_usage_find(const struct resource_usage *usage,
						  const struct profile *profile,
						  const struct fold_key *key)
{
	const struct roster_process *process =
		roster_process(profile->collection->roster, key->process_id);

	return resource_usage_is_work(key->kind) && process
		       ? resource_usage_by_id(usage, roster_process_device(process, key->device_id))
		       : NULL;
}

int resource_usage_init(struct resource_usage *usage, uint32_t resources,
			const struct profile *profile)
{
	*usage = (struct resource_usage){.resources = resources};
	return add_devices(usage, profile);
}

void resource_usage_fini(struct resource_usage *usage)
{
	free(usage->devices);
	*usage = (struct resource_usage){0};
}
