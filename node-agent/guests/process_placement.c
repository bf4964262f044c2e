#include "process_placement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/counters/counter_users.h"
#include "proto/record.h"

#define STAT_MAX      1024u
#define FIELD_CPU     39 /* number of the field in proc(5) */
#define FIELD_AT_NAME 2

/* Of a message: a few rows that waited of each device, or all of some. Others go with the next message. */
#define TELEMETRY_ROWS (4 * RECORD_DEVICES_MAX)

struct thread {
	uint32_t tid;
	bool launched, changed;
	uint64_t counts[PROCESS_PLACEMENT_NODES];
};

struct threads {
	struct thread list[PROCESS_PLACEMENT_THREADS];
	struct message_placed_thread rows[PROCESS_PLACEMENT_THREADS * PROCESS_PLACEMENT_NODES];
};

struct address {
	uint32_t pci_domain, pci_bus, pci_device;
};

struct process_placement {
	struct process_placement_sources sources;
	pid_t pid;
	uint64_t look_ns;
	uint32_t nr_threads, nr_devices, newest;
	bool changed;
	struct threads *threads; /* owns; NULL: no map */
	struct message_placed_device devices[RECORD_DEVICES_MAX];
	const char *cpus[RECORD_DEVICES_MAX]; /* borrowed from the map */
	struct address addresses[RECORD_DEVICES_MAX];
	bool is_asked[RECORD_DEVICES_MAX]; /* the reader has not answered yet */
	struct nvml_link known_links[RECORD_DEVICES_MAX];
	struct message_link links[RECORD_DEVICES_MAX];
	uint64_t used;                   /* 1 << CUDA ordinal of each device that does work */
	int numbers[RECORD_DEVICES_MAX]; /* the telemetry reader's; -1: not read */
	struct device_telemetry telemetry[TELEMETRY_ROWS];
	struct device_telemetry told[RECORD_DEVICES_MAX]; /* the telemetry that was sent */
	struct counter_users *counters;                   /* owns; NULL: they are not sampled */
};

struct process_placement *process_placement_create(const struct process_placement_sources *sources,
						   pid_t pid)
{
	struct process_placement *placement = calloc(1, sizeof(*placement));

	if (!placement)
		return NULL;
	placement->sources = *sources;
	placement->pid = pid;
	if (sources->map)
		placement->threads = calloc(1, sizeof(*placement->threads));
	if (sources->counters)
		placement->counters = counter_users_create(sources->counters);
	if ((!sources->map || placement->threads) && (!sources->counters || placement->counters))
		return placement;
	process_placement_destroy(placement);
	return NULL;
}

static void leave_telemetry(struct process_placement *placement, uint32_t i)
{
	const uint32_t device_id = placement->devices[i].device_id;

	if (placement->numbers[i] >= 0)
		telemetry_reader_leave(placement->sources.telemetry, placement->numbers[i]);
	if (device_id < RECORD_DEVICES_MAX)
		counter_users_leave(placement->counters, device_id);
}

void process_placement_destroy(struct process_placement *placement)
{
	if (!placement)
		return;
	for (uint32_t i = 0; i < placement->nr_devices; i++)
		leave_telemetry(placement, i);
	counter_users_destroy(placement->counters);
	free(placement->threads);
	free(placement);
}

/* ---- devices */

static void place(struct process_placement *placement, uint32_t i)
{
	const struct address *address = &placement->addresses[i];

	placement->devices[i].numa_node = NUMA_NODE_NONE;
	placement->cpus[i] = "";
	if (!placement->sources.map)
		return;
	for (uint32_t at = 0; at < placement->sources.map->nr_devices; at++) {
		const struct numa_map_device *known = &placement->sources.map->devices[at];

		if (known->pci_domain != address->pci_domain ||
		    known->pci_bus != address->pci_bus || known->pci_device != address->pci_device)
			continue;
		placement->devices[i].numa_node = known->node;
		placement->cpus[i] = known->cpus;
	}
	placement->changed = true;
}

/* Returns whether the readers are to read the GPU at this address. */
static bool is_read(const struct process_placement *placement, const struct address *address)
{
	const struct device_list *list = placement->sources.devices;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct device_list_entry *entry = &list->entries[i];

		if (entry->pci_domain == address->pci_domain &&
		    entry->pci_bus == address->pci_bus && entry->pci_device == address->pci_device)
			return true;
	}
	return list->count == 0;
}

/* Takes the answers of the reader that have come. */
static void take_links(struct process_placement *placement)
{
	for (uint32_t i = 0; i < placement->nr_devices; i++) {
		const struct address *address = &placement->addresses[i];
		struct nvml_link link;

		if (!placement->is_asked[i])
			continue;
		int r = link_reader_find(placement->sources.links, address->pci_domain,
					 address->pci_bus, address->pci_device, &link);
		if (r == -EAGAIN)
			continue;
		placement->is_asked[i] = false;
		placement->known_links[i] = link;
		placement->changed |= r == 0;
	}
}

/* Begins to read the device's telemetry, if it does work. */
static void use_telemetry(struct process_placement *placement, uint32_t i)
{
	const struct address *address = &placement->addresses[i];
	uint32_t device_id = placement->devices[i].device_id;

	if (device_id >= RECORD_DEVICES_MAX || !(placement->used >> device_id & 1) ||
	    !is_read(placement, address))
		return;
	if (placement->sources.telemetry)
		placement->numbers[i] =
			telemetry_reader_use(placement->sources.telemetry, address->pci_domain,
					     address->pci_bus, address->pci_device);
	counter_users_use(placement->counters, device_id, address->pci_domain, address->pci_bus,
			  address->pci_device);
}

void process_placement_used(struct process_placement *placement, uint32_t device_id)
{
	if (!placement || placement->used >> device_id & 1)
		return;
	placement->used |= 1ull << device_id;
	for (uint32_t i = 0; i < placement->nr_devices; i++)
		if (placement->devices[i].device_id == device_id)
			use_telemetry(placement, i);
}

void process_placement_device(struct process_placement *placement, uint32_t device_id,
			      uint32_t pci_domain, uint32_t pci_bus, uint32_t pci_device)
{
	uint32_t i = 0;

	if (!placement)
		return;
	while (i < placement->nr_devices && placement->devices[i].device_id != device_id)
		i++;
	if (i == RECORD_DEVICES_MAX)
		return;
	if (i == placement->nr_devices)
		placement->nr_devices++;
	else
		leave_telemetry(placement, i);
	placement->devices[i] = (struct message_placed_device){.device_id = device_id};
	placement->addresses[i] = (struct address){pci_domain, pci_bus, pci_device};
	placement->known_links[i] = (struct nvml_link){0};
	placement->is_asked[i] =
		placement->sources.links && is_read(placement, &placement->addresses[i]);
	placement->numbers[i] = -1;
	placement->told[i] = (struct device_telemetry){0};
	use_telemetry(placement, i);
	place(placement, i);
	take_links(placement);
}

/* ---- threads */

void process_placement_launch(struct process_placement *placement, uint32_t tid)
{
	if (!placement || !placement->threads || tid == 0)
		return;
	/* Launches of one thread come in runs, so the newest thread is tried first. */
	if (placement->newest >= placement->nr_threads ||
	    placement->threads->list[placement->newest].tid != tid) {
		uint32_t i = 0;

		while (i < placement->nr_threads && placement->threads->list[i].tid != tid)
			i++;
		if (i == PROCESS_PLACEMENT_THREADS)
			return;
		placement->nr_threads += i == placement->nr_threads;
		placement->newest = i;
		placement->threads->list[i].tid = tid;
	}
	placement->threads->list[placement->newest].launched = true;
}

int process_placement_parse(const char *stat)
{
	const char *at = strrchr(stat, ')'); /* the command may hold blanks and parentheses */
	char *end;

	for (int field = FIELD_AT_NAME; at && field < FIELD_CPU; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at || *at < '0' || *at > '9')
		return -1;
	long cpu = strtol(at, &end, 10);
	return cpu >= 0 && cpu < (long)NUMA_MAP_CPUS ? (int)cpu : -1;
}

static int cpu_of(pid_t pid, uint32_t tid)
{
	char path[64], text[STAT_MAX];

	snprintf(path, sizeof(path), "/proc/%d/task/%u/stat", (int)pid, tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return -1;
	text[size] = '\0';
	return process_placement_parse(text);
}

void process_placement_look(struct process_placement *placement, uint64_t now_ns)
{
	if (!placement || !placement->threads || now_ns < placement->look_ns)
		return;
	placement->look_ns = now_ns + PROCESS_PLACEMENT_LOOK_NS;
	for (uint32_t i = 0; i < placement->nr_threads; i++) {
		struct thread *thread = &placement->threads->list[i];

		if (!thread->launched)
			continue;
		thread->launched = false;
		int cpu = cpu_of(placement->pid, thread->tid);
		uint32_t node = cpu < 0 ? NUMA_NODE_NONE : placement->sources.map->node_of_cpu[cpu];
		if (node >= PROCESS_PLACEMENT_NODES)
			continue;
		thread->counts[node]++;
		thread->changed = placement->changed = true;
	}
}

static uint32_t list_threads(struct process_placement *placement)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < placement->nr_threads; i++) {
		struct thread *thread = &placement->threads->list[i];

		for (uint32_t node = 0; thread->changed && node < PROCESS_PLACEMENT_NODES; node++)
			if (thread->counts[node])
				placement->threads->rows[count++] = (struct message_placed_thread){
					thread->tid, node, thread->counts[node]};
		thread->changed = false;
	}
	return count;
}

static uint32_t list_links(struct process_placement *placement)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < placement->nr_devices; i++)
		if (placement->known_links[i].kind != DEVICE_LINK_NONE)
			placement->links[count++] = (struct message_link){
				placement->devices[i].device_id, placement->known_links[i].kind,
				placement->known_links[i].bytes_per_second};
	return count;
}

/* Returns whether the device's telemetry has changed since the last message, and takes it. */
static bool take_telemetry(struct process_placement *placement, uint32_t i, uint64_t now_ns,
			   struct device_telemetry *telemetry)
{
	struct device_telemetry *told = &placement->told[i];

	telemetry_reader_find(placement->sources.telemetry, placement->numbers[i], now_ns, told,
			      telemetry);
	if ((telemetry->readings == 0 && telemetry->refusal == TELEMETRY_ANSWERS) ||
	    (telemetry->last_ns == told->last_ns && telemetry->refusal == told->refusal))
		return false;
	*told = *telemetry;
	telemetry->device_id = placement->devices[i].device_id;
	return true;
}

/* Lists the telemetry that has changed since the last message. Of a device that can be several rows. */
static uint32_t list_telemetry(struct process_placement *placement, uint64_t now_ns)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < placement->nr_devices; i++)
		while (placement->numbers[i] >= 0 && count < TELEMETRY_ROWS &&
		       take_telemetry(placement, i, now_ns, &placement->telemetry[count]))
			count++;
	return count;
}

static int name_cpus(struct process_placement *placement, struct string_dictionary *strings)
{
	int r = 0;

	for (uint32_t i = 0; i < placement->nr_devices && r == 0; i++)
		r = string_dictionary_intern(strings, placement->cpus[i],
					     strlen(placement->cpus[i]),
					     &placement->devices[i].cpus);
	return r;
}

int process_placement_message(struct process_placement *placement,
			      struct string_dictionary *strings, uint64_t now_ns,
			      struct message *message)
{
	if (!placement)
		return 0;
	take_links(placement);
	int r = name_cpus(placement, strings);
	if (r)
		return r;
	uint32_t nr_telemetry = list_telemetry(placement, now_ns);
	struct message_placement counters = {0};
	if (!counter_users_list(placement->counters, &counters) && !placement->changed &&
	    nr_telemetry == 0)
		return 0;
	bool changed = placement->changed;
	placement->changed = false;
	*message = (struct message){
		.type = MESSAGE_PLACEMENT,
		.placement = counters,
	};
	message->placement.nr_telemetry = nr_telemetry;
	message->placement.telemetry = placement->telemetry;
	if (changed) {
		message->placement.nr_links = list_links(placement);
		message->placement.links = placement->links;
	}
	if (changed && placement->sources.map) {
		message->placement.nr_devices = placement->nr_devices;
		message->placement.devices = placement->devices;
		message->placement.nr_threads = list_threads(placement);
		message->placement.threads = placement->threads->rows;
	}
	return 1;
}
