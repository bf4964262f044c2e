#include "process_placement.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/record.h"

#define STAT_MAX      1024u
#define FIELD_CPU     39 /* number of the field in proc(5) */
#define FIELD_AT_NAME 2

struct thread {
	uint32_t tid;
	bool launched, changed;
	uint64_t counts[PROCESS_PLACEMENT_NODES];
};

struct process_placement {
	const struct numa_map *map;
	pid_t pid;
	uint64_t look_ns;
	uint32_t nr_threads, nr_devices, newest;
	bool changed;
	struct thread threads[PROCESS_PLACEMENT_THREADS];
	struct message_placed_device devices[RECORD_DEVICES_MAX];
	const char *cpus[RECORD_DEVICES_MAX]; /* borrowed from the map */
	struct message_placed_thread rows[PROCESS_PLACEMENT_THREADS * PROCESS_PLACEMENT_NODES];
};

struct process_placement *process_placement_create(const struct numa_map *map, pid_t pid)
{
	struct process_placement *placement = calloc(1, sizeof(*placement));

	if (placement) {
		placement->map = map;
		placement->pid = pid;
	}
	return placement;
}

void process_placement_destroy(struct process_placement *placement)
{
	free(placement);
}

void process_placement_device(struct process_placement *placement, uint32_t device_id,
			      uint32_t pci_domain, uint32_t pci_bus, uint32_t pci_device)
{
	struct message_placed_device device = {device_id, NUMA_NODE_NONE, 0};
	const char *cpus = "";
	uint32_t i = 0;

	if (!placement)
		return;
	for (uint32_t at = 0; at < placement->map->nr_devices; at++) {
		const struct numa_map_device *known = &placement->map->devices[at];

		if (known->pci_domain != pci_domain || known->pci_bus != pci_bus ||
		    known->pci_device != pci_device)
			continue;
		device.numa_node = known->node;
		cpus = known->cpus;
	}
	while (i < placement->nr_devices && placement->devices[i].device_id != device_id)
		i++;
	if (i == RECORD_DEVICES_MAX)
		return;
	placement->nr_devices += i == placement->nr_devices;
	placement->devices[i] = device;
	placement->cpus[i] = cpus;
	placement->changed = true;
}

void process_placement_launch(struct process_placement *placement, uint32_t tid)
{
	if (!placement || tid == 0)
		return;
	/* Launches of one thread come in runs, so the newest thread is tried first. */
	if (placement->newest >= placement->nr_threads ||
	    placement->threads[placement->newest].tid != tid) {
		uint32_t i = 0;

		while (i < placement->nr_threads && placement->threads[i].tid != tid)
			i++;
		if (i == PROCESS_PLACEMENT_THREADS)
			return;
		placement->nr_threads += i == placement->nr_threads;
		placement->newest = i;
		placement->threads[i].tid = tid;
	}
	placement->threads[placement->newest].launched = true;
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
	if (!placement || now_ns < placement->look_ns)
		return;
	placement->look_ns = now_ns + PROCESS_PLACEMENT_LOOK_NS;
	for (uint32_t i = 0; i < placement->nr_threads; i++) {
		struct thread *thread = &placement->threads[i];

		if (!thread->launched)
			continue;
		thread->launched = false;
		int cpu = cpu_of(placement->pid, thread->tid);
		uint32_t node = cpu < 0 ? NUMA_NODE_NONE : placement->map->node_of_cpu[cpu];
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
		struct thread *thread = &placement->threads[i];

		for (uint32_t node = 0; thread->changed && node < PROCESS_PLACEMENT_NODES; node++)
			if (thread->counts[node])
				placement->rows[count++] = (struct message_placed_thread){
					thread->tid, node, thread->counts[node]};
		thread->changed = false;
	}
	return count;
}

int process_placement_message(struct process_placement *placement,
			      struct string_dictionary *strings, struct message *message)
{
	if (!placement || !placement->changed)
		return 0;
	for (uint32_t i = 0; i < placement->nr_devices; i++) {
		int r = string_dictionary_intern(strings, placement->cpus[i],
						 strlen(placement->cpus[i]),
						 &placement->devices[i].cpus);

		if (r)
			return r;
	}
	placement->changed = false;
	*message = (struct message){
		.type = MESSAGE_PLACEMENT,
		.placement = {.nr_devices = placement->nr_devices,
			      .devices = placement->devices,
			      .nr_threads = list_threads(placement),
			      .threads = placement->rows},
	};
	return 1;
}
