#include "roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/launch_delay.h"
#include "aggregator/core/memory_account.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "proto/batch/statistics_table.h"

struct roster {
	struct roster_host *hosts;
	struct roster_device *devices;
	struct roster_process *processes;
	struct roster_size size, room, saved;
	struct hash_index process_index, device_index, host_index;
};

struct roster *roster_create(void)
{
	return calloc(1, sizeof(struct roster));
}

void roster_destroy(struct roster *roster)
{
	if (!roster)
		return;
	for (uint32_t i = 0; i < roster->size.processes; i++) {
		struct roster_process *process = &roster->processes[i];

		correlator_destroy(process->correlator);
		memory_account_destroy(process->memory);
		if (process->delays)
			launch_delays_fini(process->delays);
		free(process->delays);
		free(process->devices);
		free(process->notices);
		free(process->ledger);
		statistics_table_destroy(process->statistics);
		stream_list_fini(&process->streams);
		fold_limit_fini(&process->places);
		fold_limit_fini(&process->kernels);
		context_list_fini(&process->contexts);
	}
	hash_index_fini(&roster->process_index);
	hash_index_fini(&roster->device_index);
	hash_index_fini(&roster->host_index);
	free(roster->hosts);
	free(roster->devices);
	free(roster->processes);
	free(roster);
}

static bool host_equals(const void *context, uint32_t id, const void *key)
{
	const struct roster *roster = context;

	return memcmp(&roster->hosts[id - 1], key, sizeof(struct roster_host)) == 0;
}

int roster_add_host(struct roster *roster, const struct roster_host *host, uint32_t *id)
{
	uint32_t hash = hash_index_hash(host, sizeof(*host));

	*id = hash_index_find(&roster->host_index, hash, host_equals, roster, host);
	if (*id)
		return 0;

	if (array_reserve(&roster->hosts, &roster->room.hosts, roster->size.hosts + 1,
			  sizeof(*roster->hosts)) ||
	    hash_index_insert(&roster->host_index, hash, roster->size.hosts + 1))
		return -ENOMEM;
	roster->hosts[roster->size.hosts++] = *host;
	*id = roster->size.hosts;
	return 0;
}

/* Devices are equal if their UUIDs are, or without UUIDs their places in the host. */
static bool same_device(const struct roster_device *a, const struct roster_device *b)
{
	static const uint8_t unknown[WIRE_UUID_SIZE];

	if (a->host != b->host || memcmp(a->uuid, b->uuid, sizeof(a->uuid)) != 0)
		return false;
	return memcmp(a->uuid, unknown, sizeof(unknown)) != 0 ||
	       (a->index == b->index && a->pci == b->pci);
}

static bool device_equals(const void *context, uint32_t id, const void *key)
{
	return same_device(&((const struct roster *)context)->devices[id - 1], key);
}

static uint32_t device_hash(const struct roster_device *device)
{
	uint64_t digest = hash_index_digest(0, &device->host, sizeof(device->host));

	digest = hash_index_digest(digest, device->uuid, sizeof(device->uuid));
	return (uint32_t)(digest ^ digest >> 32);
}

/* An agent that does not know them does not change them. */
static bool has_other_limits(const struct roster_device *known, const struct roster_device *device)
{
	return device->limits.warp_size &&
	       memcmp(&known->limits, &device->limits, sizeof(known->limits)) != 0;
}

static void update_device(struct roster_device *known, const struct roster_device *device)
{
	struct device_limits limits = device->limits.warp_size ? device->limits : known->limits;

	*known = *device;
	known->limits = limits;
	known->changed = true;
}

int roster_add_device(struct roster *roster, const struct roster_device *device, uint32_t *id)
{
	uint32_t hash = device_hash(device);

	*id = hash_index_find(&roster->device_index, hash, device_equals, roster, device);
	if (*id) {
		struct roster_device *known = &roster->devices[*id - 1];

		if (known->index != device->index || known->name != device->name ||
		    known->pci != device->pci || has_other_limits(known, device))
			update_device(known, device);
		return 0;
	}

	if (array_reserve(&roster->devices, &roster->room.devices, roster->size.devices + 1,
			  sizeof(*roster->devices)) ||
	    hash_index_insert(&roster->device_index, hash, roster->size.devices + 1))
		return -ENOMEM;
	roster->devices[roster->size.devices] = *device;
	roster->devices[roster->size.devices++].changed = true;
	*id = roster->size.devices;
	return 0;
}

static bool process_equals(const void *context, uint32_t id, const void *key)
{
	const struct roster *roster = context;

	return memcmp(&roster->processes[id - 1].identity, key, sizeof(struct roster_identity)) ==
	       0;
}

int roster_add_process(struct roster *roster, const struct roster_identity *identity, uint32_t *id)
{
	uint32_t hash = hash_index_hash(identity, sizeof(*identity));

	*id = hash_index_find(&roster->process_index, hash, process_equals, roster, identity);
	if (*id)
		return 0;

	if (array_reserve(&roster->processes, &roster->room.processes, roster->size.processes + 1,
			  sizeof(*roster->processes)) ||
	    hash_index_insert(&roster->process_index, hash, roster->size.processes + 1))
		return -ENOMEM;
	roster->processes[roster->size.processes++] = (struct roster_process){
		.identity = *identity, .rank = MESSAGE_RANK_NONE, .changed = true};
	*id = roster->size.processes;
	return 0;
}

const struct roster_host *roster_host(const struct roster *roster, uint32_t id)
{
	return id > 0 && id <= roster->size.hosts ? &roster->hosts[id - 1] : NULL;
}

const struct roster_device *roster_device(const struct roster *roster, uint32_t id)
{
	return id > 0 && id <= roster->size.devices ? &roster->devices[id - 1] : NULL;
}

struct roster_process *roster_process(const struct roster *roster, uint32_t id)
{
	return id > 0 && id <= roster->size.processes ? &roster->processes[id - 1] : NULL;
}

/* The copy of no bytes is not NULL either. NULL: out of memory. */
static void *copy_of(const void *data, size_t size)
{
	void *copy = malloc(size ? size : 1);

	if (copy && size)
		memcpy(copy, data, size);
	return copy;
}

int roster_process_set_devices(struct roster_process *process, const struct roster_ordinal *devices,
			       uint32_t nr_devices)
{
	struct roster_ordinal *copy = copy_of(devices, nr_devices * sizeof(*devices));

	if (!copy)
		return -ENOMEM;
	free(process->devices);
	process->devices = copy;
	process->nr_devices = nr_devices;
	process->lists_changed = true;
	return 0;
}

int roster_process_set_notices(struct roster_process *process, const uint32_t *notices,
			       uint32_t nr_notices)
{
	uint32_t *copy = copy_of(notices, nr_notices * sizeof(*notices));

	if (!copy)
		return -ENOMEM;
	free(process->notices);
	process->notices = copy;
	process->nr_notices = nr_notices;
	process->lists_changed = true;
	return 0;
}

/* These counters of a process come from the aggregator itself. */
static bool is_own(const struct ledger_entry *entry)
{
	return entry->reason == LEDGER_ROWS_MERGED || entry->reason == LEDGER_NAME_LIMIT ||
	       entry->reason == LEDGER_KERNEL_UNJOINED || entry->reason == LEDGER_LAUNCH_GIVEN_UP;
}

static void take_ledger(struct roster_process *process, struct ledger_entry *ledger, uint32_t nr)
{
	free(process->ledger);
	process->ledger = ledger;
	process->nr_ledger = nr;
	process->ledger_changed = true;
}

int roster_process_set_ledger(struct roster_process *process, const struct ledger_entry *entries,
			      uint32_t nr_entries)
{
	struct ledger_entry *ledger = calloc(nr_entries + process->nr_ledger + 1, sizeof(*ledger));
	uint32_t nr = 0;

	if (!ledger)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_entries; i++)
		if (!is_own(&entries[i]))
			ledger[nr++] = entries[i];
	for (uint32_t i = 0; i < process->nr_ledger; i++)
		if (is_own(&process->ledger[i]))
			ledger[nr++] = process->ledger[i];
	take_ledger(process, ledger, nr);
	return 0;
}

int roster_process_count(struct roster_process *process, enum ledger_reason reason, uint64_t count)
{
	const uint32_t nr = process->nr_ledger;
	uint32_t i = 0;

	if (count == 0)
		return 0;
	while (i < nr && process->ledger[i].reason != (uint32_t)reason)
		i++;
	struct ledger_entry *ledger = calloc(nr + 1, sizeof(*ledger));
	if (!ledger)
		return -ENOMEM;
	if (nr)
		memcpy(ledger, process->ledger, nr * sizeof(*ledger));
	if (i == nr)
		ledger[i] =
			(struct ledger_entry){.device_id = LEDGER_DEVICE_NONE, .reason = reason};
	ledger[i].count = ledger_add_saturating(ledger[i].count, count);
	take_ledger(process, ledger, i == nr ? nr + 1 : nr);
	return 0;
}

int roster_process_count_correlated(struct roster_process *process)
{
	int error = roster_process_count(process, LEDGER_ROWS_MERGED,
					 correlator_take_merged(process->correlator));

	return error ? error
		     : roster_process_count(process, LEDGER_LAUNCH_GIVEN_UP,
					    correlator_take_late(process->correlator));
}

int roster_process_correlate(struct roster_process *process, uint32_t id, struct fold_table *totals)
{
	const struct memory_account_options memory = {.track_changes = true};
	struct correlator_options options = {.track_changes = true};

	if (!process->memory)
		process->memory = memory_account_create(&memory);
	if (!process->delays)
		process->delays = calloc(1, sizeof(*process->delays));
	options.memory = process->memory;
	options.delays = process->delays;
	if (process->memory && process->delays && !process->correlator)
		process->correlator = correlator_create(id, &options, totals);
	return process->correlator ? 0 : -ENOMEM;
}

uint32_t roster_process_device(const struct roster_process *process, uint32_t device_id)
{
	for (uint32_t i = 0; i < process->nr_devices; i++)
		if (process->devices[i].device_id == device_id)
			return process->devices[i].device;
	return 0;
}

struct roster_size roster_size(const struct roster *roster)
{
	return roster->size;
}

const struct roster_size *roster_saved_size(const struct roster *roster)
{
	return &roster->saved;
}

void roster_saved(struct roster *roster)
{
	roster->saved = roster->size;
	for (uint32_t i = 0; i < roster->size.devices; i++)
		roster->devices[i].changed = false;
	for (uint32_t i = 0; i < roster->size.processes; i++) {
		struct roster_process *process = &roster->processes[i];

		process->changed = process->lists_changed = false;
		process->ledger_changed = process->finished = false;
		statistics_table_saved(process->statistics);
		process->streams.changed = process->contexts.changed = false;
		if (process->correlator)
			correlator_saved(process->correlator);
		if (process->memory)
			memory_account_saved(process->memory);
		if (process->delays)
			launch_delays_saved(process->delays);
	}
}

bool roster_process_stream(const struct roster_process *process, uint32_t context_id,
			   uint32_t stream_id, struct message_stream *stream)
{
	const struct message_context *context = context_list_find(&process->contexts, context_id);
	const struct message_stream *own =
		stream_list_find(&process->streams, context_id, stream_id);
	const struct message_stream *parents =
		context ? stream_list_find(&process->streams, context->parent_id, stream_id) : NULL;

	if (!own && !parents)
		return false;
	*stream = own ? *own : *parents;
	if (own && parents) {
		if (!(own->flags & DEFINITION_STREAM_PRIORITY))
			stream->priority = parents->priority;
		if (!own->name)
			stream->name = parents->name;
		stream->flags |= parents->flags;
	}
	return true;
}
