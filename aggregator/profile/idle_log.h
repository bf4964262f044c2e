/* Holds the work of each device for the explanation of its idle time, as long as there is room. The log is written here
 * and stored block by block; reports read it from the store (profile_idle.h). Devices of processes without samples
 * (kept_log.h) are not logged. One log is used by one thread. */
#ifndef IDLE_LOG_H
#define IDLE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/idle_work.h"

#define IDLE_LOG_BLOCK    4096u      /* records in a block of work, and the most pieces of it */
#define IDLE_LOG_WORK_MAX (1u << 22) /* pieces of a device */

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

struct idle_log;

/* NULL: out of memory. idle_log_destroy() accepts NULL. */
struct idle_log *idle_log_create(void);
void idle_log_destroy(struct idle_log *log);

/* Logs work of a device. Without room the device's log ends before this work. last_ns: the end of the
 * device's work before it, 0: none; it is needed only until idle_log_has_begun(). 0 or -ENOMEM. */
int idle_log_work(struct idle_log *log, uint32_t device, const struct idle_work *work,
		  uint64_t last_ns);
bool idle_log_has_begun(const struct idle_log *log, uint32_t device);

/* For the store, by id less one (zeroes: nothing); borrowed until the next call that adds. This merges the blocks. */
struct idle_device *idle_log_devices(struct idle_log *log, uint32_t *count);
void idle_log_saved(struct idle_log *log);

/* Load into a fresh log. The only block to load is the device's last one, which grows; its work is copied. 0; -EINVAL:
 * no log saved this; -ENOMEM. */
int idle_log_load_device(struct idle_log *log, uint32_t device, uint64_t from_ns, uint64_t to_ns,
			 uint32_t nr_blocks, uint64_t nr_pieces);
int idle_log_load_block(struct idle_log *log, uint32_t device, const struct idle_block *block);

#endif
