/* The NUMA nodes of devices and of threads that launch, the devices' links, their telemetry and samples of their
 * counters: rows since the last commit, or all that a store has, but no samples. A later row replaces the row with its
 * key. Ids are the store's. Part of the collection; single-threaded. */
#ifndef PLACEMENT_LOG_H
#define PLACEMENT_LOG_H

#include <stdint.h>

#include "proto/counter_sampling.h"
#include "proto/device_telemetry.h"

struct placement_log;

struct placement_device {
	uint32_t device;    /* key */
	uint32_t numa_node; /* PLACEMENT_NODE_NONE */
	uint32_t cpus;      /* string id; 0: not known */
};

struct placement_thread {
	uint32_t process, tid, numa_node; /* key */
	uint64_t count;
};

struct placement_link {
	uint32_t device;           /* key */
	uint32_t link;             /* enum device_link, or one that a newer agent knows */
	uint64_t bytes_per_second; /* peak in one direction; never 0 */
};

/* NULL: out of memory. destroy() accepts NULL. */
struct placement_log *placement_log_create(void);
void placement_log_destroy(struct placement_log *log);

/* 0 or -ENOMEM: unchanged. */
int placement_log_add_device(struct placement_log *log, const struct placement_device *device);
int placement_log_add_thread(struct placement_log *log, const struct placement_thread *thread);
int placement_log_add_link(struct placement_log *log, const struct placement_link *link);
int placement_log_add_telemetry(struct placement_log *log,
				const struct device_telemetry *telemetry);
int placement_log_add_counter_state(struct placement_log *log, const struct counter_state *state);
int placement_log_add_counters(struct placement_log *log, const struct counter_sample *sample);

/* Counts a sample of the device that cannot be, and is not added. States of it that are added later have it in dropped,
 * and neither in samples nor in kept. 0 or -ENOMEM: unchanged. */
int placement_log_drop_counters(struct placement_log *log, uint32_t device);

/* In the order in which they came. Borrowed until the next change. */
const struct placement_device *placement_log_devices(const struct placement_log *log,
						     uint32_t *count);
const struct placement_thread *placement_log_threads(const struct placement_log *log,
						     uint32_t *count);
const struct placement_link *placement_log_links(const struct placement_log *log, uint32_t *count);
const struct device_telemetry *placement_log_telemetry(const struct placement_log *log,
						       uint32_t *count);
const struct counter_state *placement_log_counter_states(const struct placement_log *log,
							 uint32_t *count);
const struct counter_sample *placement_log_counters(const struct placement_log *log,
						    uint32_t *count);
void placement_log_saved(
	struct placement_log *log); /* empties it, but keeps counts of dropped samples */

#endif
