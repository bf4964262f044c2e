#include "metrics_sums.h"

#include <string.h>

#include "aggregator/core/correlator.h"
#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/store_waits.h"
#include "proto/batch/gpu_uuid.h"

void metrics_sums_fini(struct metrics_sums *sums)
{
	device_totals_fini(&sums->devices);
}

int metrics_sums_add(struct metrics_sums *sums, const struct metrics_sums *more)
{
	sums->launches = ledger_add_saturating(sums->launches, more->launches);
	for (uint32_t i = 0; i < LEDGER_REASONS; i++)
		sums->lost[i] = ledger_add_saturating(sums->lost[i], more->lost[i]);
	return device_totals_add_all(&sums->devices, &more->devices);
}

/* ---- GPUs */

static void copy_text(const struct collection *collection, uint32_t id,
		      char text[static DEVICE_TOTALS_TEXT_MAX])
{
	uint32_t size;
	const char *data = catalog_string(collection->catalog, id, &size);

	if (size >= DEVICE_TOTALS_TEXT_MAX)
		size = DEVICE_TOTALS_TEXT_MAX - 1;
	memcpy(text, data, size);
}

static void name_host(const struct collection *collection, uint32_t id,
		      struct device_identity *identity)
{
	const struct roster_host *host = roster_host(collection->roster, id);

	if (host)
		copy_text(collection, host->node, identity->host);
}

static bool is_part(const struct collection *collection, uint32_t name_id)
{
	uint32_t size;
	const char *name = catalog_string(collection->catalog, name_id, &size);

	return gpu_uuid_is_part(name, size);
}

/* device: the store's id; 0: the process has not described it. */
static struct device_identity identify(const struct collection *collection, uint32_t device_id,
				       uint32_t process_id)
{
	const struct roster_device *device = roster_device(collection->roster, device_id);
	struct device_identity identity = {.index = MESSAGE_INDEX_NONE};

	if (device) {
		memcpy(identity.uuid, device->uuid, sizeof(identity.uuid));
		identity.index = device->index;
		identity.is_part = is_part(collection, device->name);
		name_host(collection, device->host, &identity);
		return identity;
	}
	const struct roster_process *process = roster_process(collection->roster, process_id);

	if (process)
		name_host(collection, process->identity.host, &identity);
	return identity;
}

static void take_union(const struct timeline_entry *entry, struct device_sums *sums)
{
	struct timeline_sums line;

	stream_timeline_sums(entry->timeline, &line);
	sums->activities = line.records;
	sums->work_ns = line.sum_ns;
	sums->busy_ns = stream_timeline_busy_ns(entry->timeline);
	sums->observed_ns = line.last_ns - line.first_ns;
	sums->late_ns = line.late_ns;
}

/* Where a process has no entry for all kernels, none is NCCL's. */
static void take_kernels(struct timeline_table *timelines, const struct timeline_entry *entry,
			 struct device_sums *sums)
{
	struct timeline_key all = entry->key;
	const uint64_t busy_ns = stream_timeline_busy_ns(entry->timeline);

	all.level = TIMELINE_KERNELS;
	if (entry->key.level == TIMELINE_KERNELS)
		sums->kernels_ns = busy_ns;
	else if (entry->key.level == TIMELINE_COMMUNICATION)
		sums->communication_ns = busy_ns;
	else
		sums->computation_ns = busy_ns;
	if (entry->key.level == TIMELINE_COMPUTATION && !timeline_table_find(timelines, &all))
		sums->kernels_ns = busy_ns;
}

/* Kernels on a device that the process has not described yet are told once it has: sums must not go from one GPU to
 * another. */
static int add_entry(const struct collection *collection, const struct timeline_entry *entry,
		     struct device_totals *devices)
{
	const struct timeline_key *key = &entry->key;
	struct device_sums sums = {0};
	uint32_t device = 0;

	switch (key->level) {
	case TIMELINE_DEVICE:
		device = key->device_id;
		take_union(entry, &sums);
		break;
	case TIMELINE_ORDINAL:
		take_union(entry, &sums);
		if (sums.activities == 0) /* the device is known now */
			return 0;
		break;
	case TIMELINE_COMPUTATION:
	case TIMELINE_COMMUNICATION:
	case TIMELINE_KERNELS:
		device = roster_process_device(roster_process(collection->roster, key->process_id),
					       key->device_id);
		if (!device)
			return 0;
		take_kernels(collection->timelines, entry, &sums);
		break;
	default:
		return 0;
	}
	const struct device_identity identity = identify(collection, device, key->process_id);

	return device_totals_add(devices, &identity, &sums);
}

static int add_devices(const struct collection *collection, struct device_totals *devices)
{
	uint32_t nr_entries;
	const struct timeline_entry *entries =
		timeline_table_entries(collection->timelines, &nr_entries);
	int error = 0;

	for (uint32_t i = 0; i < nr_entries && !error; i++)
		error = add_entry(collection, &entries[i], devices);
	return error;
}

static int add_waits(const struct collection *collection, const struct store_waits *waits,
		     struct device_totals *devices)
{
	int error = 0;

	for (uint32_t i = 0; i < waits->count && !error; i++) {
		const struct store_wait *wait = &waits->waits[i];
		const struct roster_process *process =
			roster_process(collection->roster, wait->process);
		const uint32_t device =
			process ? roster_process_device(process, wait->device_id) : 0;
		const struct device_sums sums = {.waiting_ns = wait->ns};

		if (!device)
			continue;
		const struct device_identity identity = identify(collection, device, wait->process);

		error = device_totals_add(devices, &identity, &sums);
	}
	return error;
}

static int add_idle(const struct collection *collection, const struct idle_reasons *idle,
		    struct device_totals *devices)
{
	const uint32_t nr_devices = idle ? roster_size(collection->roster).devices : 0;
	int error = 0;

	for (uint32_t id = 1; id <= nr_devices && !error; id++) {
		const struct device_sums sums = {.idle = *idle_reasons_of(idle, id)};

		if (!sums.idle.are_known)
			continue;
		const struct device_identity identity = identify(collection, id, 0);

		error = device_totals_add(devices, &identity, &sums);
	}
	return error;
}

/* ---- launches and losses */

void metrics_sums_lose(struct metrics_sums *sums, uint32_t reason, uint64_t count)
{
	if (reason < LEDGER_REASONS && ledger_reason_class(reason) == LEDGER_LOST)
		sums->lost[reason] = ledger_add_saturating(sums->lost[reason], count);
}

static void count_ledger(struct metrics_sums *sums, const struct ledger_entry *entries,
			 uint32_t nr_entries)
{
	for (uint32_t i = 0; i < nr_entries; i++)
		metrics_sums_lose(sums, entries[i].reason, entries[i].count);
}

/* If the recording was cut off, launches without a record are its last ones. */
static bool is_cut_off(const struct roster_process *process)
{
	for (uint32_t i = 0; i < process->nr_ledger; i++)
		if (process->ledger[i].reason == LEDGER_CUT_OFF)
			return true;
	return false;
}

static void count_process(struct metrics_sums *sums, const struct roster_process *process)
{
	const struct correlator_counts *counts =
		process->correlator ? correlator_counts(process->correlator) : &process->counts;

	sums->launches = ledger_add_saturating(sums->launches, counts->launches);
	count_ledger(sums, process->ledger, process->nr_ledger);
	metrics_sums_lose(sums, LEDGER_INVALID_TIME, counts->invalid);
	if (is_cut_off(process))
		metrics_sums_lose(sums, LEDGER_LAUNCH_UNDELIVERED, counts->expired);
}

static void count_all(const struct collection *collection, struct metrics_sums *sums)
{
	const uint32_t nr_processes = roster_size(collection->roster).processes;

	for (uint32_t id = 1; id <= nr_processes; id++)
		count_process(sums, roster_process(collection->roster, id));
	for (uint32_t i = 0; i < collection->nr_sessions; i++)
		count_ledger(sums, collection->sessions[i]->ledger,
			     collection->sessions[i]->nr_ledger);
}

static void raise_to(uint64_t *count, uint64_t least)
{
	if (*count < least)
		*count = least;
}

void metrics_sums_raise(struct metrics_sums *sums, const struct metrics_sums *former)
{
	raise_to(&sums->launches, former->launches);
	for (uint32_t i = 0; i < LEDGER_REASONS; i++)
		raise_to(&sums->lost[i], former->lost[i]);
}

int metrics_sums_take(struct metrics_sums *sums, const struct collection *collection,
		      const struct store_waits *waits, const struct idle_reasons *idle)
{
	*sums = (struct metrics_sums){0};
	int error = add_devices(collection, &sums->devices);

	if (!error)
		error = add_waits(collection, waits, &sums->devices);
	if (!error)
		error = add_idle(collection, idle, &sums->devices);
	if (error) {
		metrics_sums_fini(sums);
		return error;
	}
	count_all(collection, sums);
	return 0;
}
