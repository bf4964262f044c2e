/* Gives the work of a process within windows of time: its samples, the idle time of its GPUs, and their busy time. They
 * are those that the profile keeps with their times (aggregator/profile/idle_log.h). Part of straggler_work; one
 * thread. */
#ifndef STRAGGLER_TIMED_H
#define STRAGGLER_TIMED_H

#include <stdint.h>

struct database;
struct fold_row;
struct profile;
struct straggler_windows;

typedef int straggler_timed_take(void *context, const struct fold_row *row);

struct straggler_timed {
	const struct profile *profile;
	struct database *database; /* of the profile */
	const struct straggler_windows *windows;
	straggler_timed_take *take;
	void *context;
};

/* The time in the windows of GPUs in which they worked for a process. */
struct straggler_busy {
	uint64_t ns;
	uint32_t devices; /* GPUs that worked */
	uint32_t cut;     /* of these, GPUs of which some work in the windows is not kept */
};

/* Gives to take, until it returns nonzero, rows as report_samples_each() has them. A sample on the CPU counts whole if
 * it was taken in a window of the host. A wait counts by its time in these windows, and idle time by its time in those
 * of GPUs. Also adds to *busy. 0; the value of take; -EPROTO; other errors of database.h; -ENOMEM. */
int straggler_timed_each(const struct straggler_timed *timed, uint32_t process,
			 struct straggler_busy *busy);

#endif
