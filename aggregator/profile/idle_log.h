/* What idle time of devices is explained from, for as long as there is room: the work of each device and the samples of
 * each process, with their times. It is only written here and put into the store block by block; reports read it there
 * (profile_idle.h). Nothing is logged of processes that have no samples. One log is used by one thread. */
#ifndef IDLE_LOG_H
#define IDLE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "idle_work.h"

#include "proto/host_sample.h"

#define IDLE_LOG_BLOCK       4096u      /* records of a block of work; it holds no more pieces */
#define IDLE_LOG_WORK_MAX    (1u << 22) /* pieces of a device */
#define IDLE_LOG_SAMPLES_MAX (1u << 22) /* samples of a process */

struct idle_block {
	uint32_t index;         /* counts from 0 */
	uint32_t records;       /* that it was made of */
	uint32_t count;         /* pieces */
	struct idle_work *work; /* owns */
};

/* Of a device: zeroed, nothing was logged. */
struct idle_device {
	uint64_t from_ns, to_ns; /* CUPTI's clock: all work in between is logged */
	uint64_t nr_pieces;      /* in whole blocks */
	struct idle_block block; /* that grows; IDLE_LOG_BLOCK pieces have room */
	struct idle_block *full; /* owns; those that are not in the store yet */
	uint32_t nr_full, room_full;
	bool begun, changed; /* changed: since idle_log_saved() */
};

struct idle_samples {               /* of a process */
	struct host_sample *recent; /* owns; since idle_log_saved() */
	uint32_t nr_recent, room_recent;
	uint32_t nr_blocks; /* in the store */
	uint64_t nr_samples;
};

struct idle_log;

/* NULL: out of memory. idle_log_destroy() accepts NULL. */
struct idle_log *idle_log_create(void);
void idle_log_destroy(struct idle_log *log);

/* A sample of a process (ids are the store's, from 1 and dense); calls, and what finds no room, are left out. 0 or
 * -ENOMEM. */
int idle_log_sample(struct idle_log *log, uint32_t process, const struct host_sample *sample);

/* Whether work of the process on the device is to be logged. */
bool idle_log_wants(const struct idle_log *log, uint32_t process, uint32_t device);

/* Work that is wanted; beyond the room the log ends where it begins. last_ns: when the device's work before it ended,
 * 0: there was none; asked for until has_begun(). 0 or -ENOMEM. */
int idle_log_work(struct idle_log *log, uint32_t device, const struct idle_work *work,
		  uint64_t last_ns);
bool idle_log_has_begun(const struct idle_log *log, uint32_t device);

/* For the store, by id less one; borrowed until the next call that adds. Blocks are merged when they are looked at. */
struct idle_device *idle_log_devices(struct idle_log *log, uint32_t *count);
const struct idle_samples *idle_log_processes(const struct idle_log *log, uint32_t *count);
void idle_log_saved(struct idle_log *log);

/* For loading, into a fresh log: 0; -EINVAL: not what was saved; -ENOMEM. A block is only the last one, which grows;
 * its work is copied. */
int idle_log_load_device(struct idle_log *log, uint32_t device, uint64_t from_ns, uint64_t to_ns,
			 uint32_t nr_blocks, uint64_t nr_pieces);
int idle_log_load_block(struct idle_log *log, uint32_t device, const struct idle_block *block);
int idle_log_load_samples(struct idle_log *log, uint32_t process, uint32_t nr_blocks,
			  uint64_t nr_samples);

#endif
