#include "strip_devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "report/profile/profile.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct entry {
	struct strip_device device;
	const char *host; /* borrowed of the catalog */
	uint32_t place;   /* index of places */
};

static int by_rank(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	/* Those without a rank come last. */
	int order = COMPARE((uint32_t)left->device.first_rank, (uint32_t)right->device.first_rank);

	order = order ? order : strcmp(left->host, right->host);
	order = order ? order : COMPARE((uint32_t)left->device.gpu, (uint32_t)right->device.gpu);
	return order ? order : COMPARE(left->place, right->place);
}

static void add_rank(struct strip_device *device, int32_t rank)
{
	if (rank < 0)
		return;
	if (device->first_rank == STRIP_DEVICES_NO_RANK)
		device->rank = rank;
	else if (device->first_rank != rank)
		device->rank = STRIP_DEVICES_NO_RANK;
	if (device->first_rank == STRIP_DEVICES_NO_RANK || rank < device->first_rank)
		device->first_rank = rank;
}

/* The first rank of a device is known only after all, and so is whether there are several. */
static void add_ranks(const struct strip_devices *devices, struct entry *entries)
{
	const uint32_t nr_processes = roster_size(devices->roster).processes;

	for (uint32_t id = 1; id <= nr_processes; id++) {
		const struct roster_process *process = roster_process(devices->roster, id);

		for (uint32_t i = 0; i < process->nr_devices; i++) {
			const uint32_t device = process->devices[i].device;

			if (device && device <= devices->nr_known)
				add_rank(&entries[device - 1].device, process->rank);
		}
	}
}

static const char *name_of(const struct catalog *catalog, const struct roster_host *host)
{
	uint32_t size;
	const char *name = catalog_string(catalog, host ? host->node : 0, &size);

	return name ? name : "";
}

static void describe(const struct strip_devices *devices, const struct catalog *catalog,
		     struct entry *entries)
{
	for (uint32_t i = 0; i < devices->nr_devices; i++) {
		const struct roster_device *device =
			i < devices->nr_known ? roster_device(devices->roster, i + 1) : NULL;
		const struct roster_host *host = roster_host(
			devices->roster, device ? device->host : i - devices->nr_known + 1);

		entries[i] = (struct entry){
			.device = {.node = host ? host->node : 0,
				   .gpu = device && device->index >= 0 ? device->index
								       : STRIP_DEVICES_NO_GPU,
				   .rank = STRIP_DEVICES_NO_RANK,
				   .first_rank = STRIP_DEVICES_NO_RANK},
			.host = name_of(catalog, host),
			.place = i,
		};
	}
}

int strip_devices_init(struct strip_devices *devices, const struct profile *profile)
{
	const struct roster_size size = roster_size(profile->collection->roster);
	const uint32_t nr = size.devices + size.hosts;
	struct entry *entries = calloc(nr + 1ull, sizeof(*entries));

	*devices = (struct strip_devices){
		.roster = profile->collection->roster,
		.devices = calloc(nr + 1ull, sizeof(*devices->devices)),
		.places = calloc(nr + 1ull, sizeof(*devices->places)),
		.nr_devices = nr,
		.nr_known = size.devices,
	};
	if (!entries || !devices->devices || !devices->places) {
		free(entries);
		return -ENOMEM;
	}
	describe(devices, profile->collection->catalog, entries);
	add_ranks(devices, entries);
	qsort(entries, nr, sizeof(*entries), by_rank);
	for (uint32_t i = 0; i < nr; i++) {
		devices->devices[i] = entries[i].device;
		devices->places[entries[i].place] = i;
	}
	free(entries);
	return 0;
}

void strip_devices_fini(struct strip_devices *devices)
{
	free(devices->devices);
	free(devices->places);
	*devices = (struct strip_devices){0};
}

uint32_t strip_devices_find(const struct strip_devices *devices, uint32_t process_id,
			    uint32_t device_id)
{
	const struct roster_process *process = roster_process(devices->roster, process_id);
	const uint32_t device = roster_process_device(process, device_id);

	return devices->places[device && device <= devices->nr_known
				       ? device - 1
				       : devices->nr_known + process->identity.host - 1];
}
