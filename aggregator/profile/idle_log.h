/* Holds the work of each device and the samples of each process with their times, as long as there is room. They
 * explain idle time (profile_idle.h) and the lateness of ranks (report/straggler). The log is written here and stored
 * block by block; reports read it from the store. Processes without samples are not logged.
 *   - Work ends when its room is used up.
 *   - Samples go by windows of time (kept_window.h). When a process has too many samples, its level rises, and only
 *     samples that have a part in a window of this level stay. In such windows all samples are there.
 * One log is used by one thread. */
#ifndef IDLE_LOG_H
#define IDLE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "idle_work.h"

#include "aggregator/core/kept_window.h"
#include "proto/host_sample.h"

#define IDLE_LOG_BLOCK       4096u      /* records in a block of work, and the most pieces of it */
#define IDLE_LOG_WORK_MAX    (1u << 22) /* pieces of a device */
#define IDLE_LOG_SAMPLES_MAX (1u << 22) /* samples of a process */

struct idle_block {
	uint32_t index;         /* counts from 0 */
	uint32_t records;       /* merged into its pieces */
	uint32_t count;         /* pieces */
	struct idle_work *work; /* owns */
};

/* A device's log. Zeroed: it is empty. */
struct idle_device {
	uint64_t from_ns, to_ns; /* CUPTI's clock: the log has all work in between */
	uint64_t nr_pieces;      /* in whole blocks */
	struct idle_block block; /* the last one, which grows; room for IDLE_LOG_BLOCK pieces */
	struct idle_block *full; /* owns; full blocks that are not in the store yet */
	uint32_t nr_full, room_full;
	bool begun, changed; /* changed: since idle_log_saved() */
};

struct idle_sample {
	struct host_sample sample;
	uint8_t level; /* the highest one at which it stays */
};

struct idle_samples {               /* of a process */
	struct idle_sample *recent; /* owns; since idle_log_saved() */
	uint32_t nr_recent, room_recent;
	uint32_t nr_blocks; /* in the store, also those that were removed */
	uint32_t level;
	bool raised; /* the level rose since idle_log_saved(): samples below it must go from the store */
	uint64_t nr_samples;
	uint64_t counts[KEPT_WINDOW_LEVELS]; /* of these, by idle_sample.level */
};

struct idle_log;

/* NULL: out of memory. idle_log_destroy() accepts NULL. */
struct idle_log *idle_log_create(void);
void idle_log_destroy(struct idle_log *log);

/* Logs a sample of a process (ids are the store's, from 1 without gaps). It leaves out calls, and samples that do not
 * stay. realtime_offset_ns: CLOCK_REALTIME - CLOCK_MONOTONIC, always the same for a process. 0 or -ENOMEM. */
int idle_log_sample(struct idle_log *log, uint32_t process, const struct host_sample *sample,
		    int64_t realtime_offset_ns);

/* Returns the level of a process's samples. */
uint32_t idle_log_level(const struct idle_log *log, uint32_t process);

/* Returns whether work of the process on the device must be logged. */
bool idle_log_wants(const struct idle_log *log, uint32_t process, uint32_t device);

/* Logs work that idle_log_wants(). Without room the device's log ends before this work. last_ns: the end of the
 * device's work before it, 0: none; it is needed only until idle_log_has_begun(). 0 or -ENOMEM. */
int idle_log_work(struct idle_log *log, uint32_t device, const struct idle_work *work,
		  uint64_t last_ns);
bool idle_log_has_begun(const struct idle_log *log, uint32_t device);

/* For the store, by id less one (zeroes: nothing); borrowed until the next call that adds. This merges the blocks. */
struct idle_device *idle_log_devices(struct idle_log *log, uint32_t *count);
const struct idle_samples *idle_log_processes(const struct idle_log *log, uint32_t *count);

/* The store has written one block for each level of recent samples. */
void idle_log_saved(struct idle_log *log);

/* Load into a fresh log. The only block to load is the device's last one, which grows; its work is copied. 0; -EINVAL:
 * no log saved this; -ENOMEM. */
int idle_log_load_device(struct idle_log *log, uint32_t device, uint64_t from_ns, uint64_t to_ns,
			 uint32_t nr_blocks, uint64_t nr_pieces);
int idle_log_load_block(struct idle_log *log, uint32_t device, const struct idle_block *block);
/* All samples of a process at one of their levels, with the number of all its blocks; after the process's level. */
int idle_log_load_samples(struct idle_log *log, uint32_t process, uint32_t level,
			  uint32_t nr_blocks, uint64_t nr_samples);
int idle_log_load_level(struct idle_log *log, uint32_t process, uint32_t level);

#endif
