/* A bounded log of single launches and GPU records in files beside a store (event_format.h). The oldest files go first,
 * and their events are counted. What was written survives the writer's end of any kind. One thread; one writer. */
#ifndef EVENT_LOG_H
#define EVENT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "event_format.h"

struct event_log;
struct event_packer;

#define EVENT_LOG_BYTES_MAX (1ull << 30) /* the default */

struct event_log_options {
	bool keeps;       /* false: no log is wanted */
	uint64_t keep_ns; /* at least the events of so long a time stay; 0: all */
	uint64_t
		bytes_max; /* of all files, within a sixteenth and a block; 0: EVENT_LOG_BYTES_MAX */
	uint8_t profile[EVENT_FORMAT_ID]; /* the store's id; event_log_open() alone needs it */
};

/* Opens the log of the store at this path, and makes its folder (mode 0700). The profile's files that are there stay
 * and count. Others stay, too, and do not count. 0 or -errno, with *log NULL. */
int event_log_open(const char *store_path, const struct event_log_options *options,
		   struct event_log **log);

/* Drops what was not written. Accepts NULL. */
void event_log_close(struct event_log *log);

/* Gets the events; borrowed until close. */
struct event_packer *event_log_packer(struct event_log *log);

/* Counts what was dropped of logs whose events come next, beside this log's own. */
void event_log_dropped_before(struct event_log *log, uint64_t files, uint64_t events);

/* Writes what the packer has. Call it when the store has the same events, so that no event is written twice after a
 * restart. now_ns: CLOCK_MONOTONIC. What cannot be written is lost and counted, with a warning at the first time.
 * 0, or the last -errno. */
int event_log_write(struct event_log *log, uint64_t now_ns);

#endif
