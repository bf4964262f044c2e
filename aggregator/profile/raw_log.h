/* Keeps the offsets of hosts' clocks, and samples of host threads one by one, if the user wants them: those since the
 * last commit. The log is written here; reports read it from the store (sample_writer.h). One log is used by one
 * thread. */
#ifndef RAW_LOG_H
#define RAW_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/host_sample.h"

struct raw_log;

struct raw_sample {
	uint32_t process_id;
	struct host_sample sample; /* ids are the store's */
};

/* The clock of a host, at the host's id less one. */
struct raw_clock {
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, the first value; 0: not known */
	bool saved;
};

/* NULL: out of memory. raw_log_destroy() accepts NULL. */
struct raw_log *raw_log_create(void);
void raw_log_destroy(struct raw_log *log);

/* Keeps samples from now on; before this call raw_log_add() does nothing. */
void raw_log_start(struct raw_log *log);
bool raw_log_is_kept(const struct raw_log *log); /* it was started */

/* 0 or -ENOMEM. host 0: none. Only the first offset of a host counts. */
int raw_log_add(struct raw_log *log, uint32_t process, const struct host_sample *sample);
int raw_log_clock(struct raw_log *log, uint32_t host, int64_t realtime_offset_ns);

/* Returns a host's offset; 0: not known. */
int64_t raw_log_offset(const struct raw_log *log, uint32_t host);

/* For the store; borrowed until the next call that adds. Clocks are by host less one; zeroes: none. */
const struct raw_sample *raw_log_samples(const struct raw_log *log, uint32_t *count);
const struct raw_clock *raw_log_clocks(const struct raw_log *log, uint32_t *count);
void raw_log_saved(struct raw_log *log);

/* Loads an offset from the store. 0 or -ENOMEM. */
int raw_log_load_clock(struct raw_log *log, uint32_t host, int64_t realtime_offset_ns);

#endif
