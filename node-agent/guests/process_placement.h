/* Where the threads of one process run that launch GPU work, and where its GPUs are: looked up in /proc at a low rate,
 * for threads that have launched since the last look; a launch itself says nothing of it. Single-threaded: only the
 * agent loop calls it. */
#ifndef PROCESS_PLACEMENT_H
#define PROCESS_PLACEMENT_H

#include <stdint.h>
#include <sys/types.h>

#include "node-agent/base/numa_map.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "proto/batch/message.h"

#define PROCESS_PLACEMENT_THREADS 256u /* further ones are not looked at */
#define PROCESS_PLACEMENT_NODES   64u  /* further ones are not counted */
#define PROCESS_PLACEMENT_LOOK_NS 1000000000ull

struct process_placement;

/* map is borrowed until destroy, which accepts NULL, as all functions here do: then they do nothing. pid: in our pid
 * namespace, as the threads' numbers are. NULL: out of memory. */
struct process_placement *process_placement_create(const struct numa_map *map, pid_t pid);
void process_placement_destroy(struct process_placement *placement);

/* It uses the device with this CUDA ordinal. */
void process_placement_device(struct process_placement *placement, uint32_t device_id,
			      uint32_t pci_domain, uint32_t pci_bus, uint32_t pci_device);

/* A thread has launched. */
void process_placement_launch(struct process_placement *placement, uint32_t tid);

/* Once a second: where those threads are. Some 10 us a thread. */
void process_placement_look(struct process_placement *placement, uint64_t now_ns);

/* All that is known, in a message without process_id, borrowed until the next call of anything here. 1; 0: nothing has
 * changed since the last one; -ENOSPC, -ENOMEM of the dictionary. */
int process_placement_message(struct process_placement *placement,
			      struct string_dictionary *strings, struct message *message);

/* The CPU in the text of a /proc/PID/task/TID/stat: field 39, behind a name that may hold anything. -1: it is not
 * there. */
int process_placement_parse(const char *stat);

#endif
