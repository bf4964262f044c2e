/* Reads what a stored profile has summed of GPU work, with names but without stacks: a part of the profile that a live
 * view can read again and again. Used by one thread. */
#ifndef PROFILE_SUMS_H
#define PROFILE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/store/store_schema.h"
#include "report/profile/profile.h"

/* The time in which a stream, or a process on a device, was busy. */
struct profile_sums_time {
	uint32_t level; /* TIMELINE_STREAM or TIMELINE_WORK */
	uint32_t process, device_id, context_id, stream_id;
	uint64_t records, busy_ns;
	uint64_t first_ns, last_ns; /* by CUPTI's clock of the host */
	uint64_t uncaptured_ns;     /* of that, nothing is known (stream_timeline.h) */
};

struct profile_sums {
	/* owns; of its members only catalog, roster, totals, splits and read_ns have contents. Records that wait for
	 * their launch are in no total yet */
	struct profile *profile;
	struct profile_sums_time *times; /* owns; by level, process, device, context, stream */
	uint32_t nr_times, room_times;
	uint64_t *
		heard_ns; /* owns; by process id - 1: up to then its sums are there; CLOCK_REALTIME */
	uint8_t writer
		[STORE_WRITER_SIZE]; /* the store's first writer: another profile has another one */
};

/* 0, or an error of profile_load() with *error. Call profile_sums_fini() in either case. */
int profile_sums_load(const char *path, struct profile_sums *sums, char **error);
void profile_sums_fini(struct profile_sums *sums);

/* Gives each total to take(), as profile_each_total(). */
int profile_sums_each(const struct profile_sums *sums,
		      int (*take)(void *context, const struct fold_row *row), void *context);

#endif
