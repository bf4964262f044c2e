/* Records where the launching threads of one process run, where its GPUs are, how fast their links are, and their
 * telemetry and counters. It looks in /proc at a low rate, for threads that have launched since the last look, because
 * a launch itself does not tell.
 * Single-threaded: only the agent loop calls it. */
#ifndef PROCESS_PLACEMENT_H
#define PROCESS_PLACEMENT_H

#include <stdint.h>
#include <sys/types.h>

#include "node-agent/base/device_list.h"
#include "node-agent/base/link_reader.h"
#include "node-agent/base/numa_map.h"
#include "node-agent/base/telemetry_reader.h"
#include "node-agent/counters/counter_reader.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "proto/batch/message.h"

#define PROCESS_PLACEMENT_THREADS 256u /* threads; further ones are not looked at */
#define PROCESS_PLACEMENT_NODES   64u  /* NUMA nodes; further ones are not counted */
#define PROCESS_PLACEMENT_LOOK_NS 1000000000ull

struct process_placement;

/* Where the record comes from. All are borrowed until destroy. */
struct process_placement_sources {
	const struct numa_map *map; /* NULL: neither threads nor places of GPUs are recorded */
	struct link_reader *links;  /* NULL: links are not */
	struct telemetry_reader *telemetry; /* NULL: telemetry is not */
	struct counter_reader *counters;    /* NULL: samples of counters are not */
	/* This node's GPUs. Others are not read: a guest may invent addresses. With no GPU in the list, as without
	 * /sys, all are read. */
	const struct device_list *devices;
};

/* pid: in our pid namespace, as the threads' numbers are; unused without a map. NULL: out of memory. All functions
 * accept NULL as placement, and then do nothing. */
struct process_placement *process_placement_create(const struct process_placement_sources *sources,
						   pid_t pid);
void process_placement_destroy(struct process_placement *placement);

/* Notes that the process may use the device with this CUDA ordinal, and has its link read. */
void process_placement_device(struct process_placement *placement, uint32_t device_id,
			      uint32_t pci_domain, uint32_t pci_bus, uint32_t pci_device);

/* Notes that the device with this CUDA ordinal, below RECORD_DEVICES_MAX, does work of the process, and has its
 * telemetry read from now on. It may be described later. */
void process_placement_used(struct process_placement *placement, uint32_t device_id);

/* Notes that a thread has launched. */
void process_placement_launch(struct process_placement *placement, uint32_t tid);

/* Looks up, at most once a second, where those threads run. It takes some 10 us a thread. */
void process_placement_look(struct process_placement *placement, uint64_t now_ns);

/* Fills in a message with all that is known, but without process_id. It is borrowed until the next call of any function
 * here. now_ns: CLOCK_MONOTONIC. 1; 0: nothing has changed since the last message; -ENOSPC, -ENOMEM of the dictionary.
 */
int process_placement_message(struct process_placement *placement,
			      struct string_dictionary *strings, uint64_t now_ns,
			      struct message *message);

/* Reads the CPU from the text of a /proc/PID/task/TID/stat: field 39, behind a name that may hold any byte. -1: the
 * text lacks it. */
int process_placement_parse(const char *stat);

#endif
