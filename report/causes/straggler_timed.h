/* Gives the work of a process within windows of time: its samples, its GPU work, and the idle time of its GPUs. They
 * are those that the profile keeps with their times (aggregator/profile/kept_log.h, idle_log.h). Part of
 * straggler_work; one thread. */
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

/* Each gives to take, until it returns nonzero, rows as report_samples_each() or, of GPU work, profile_each_total()
 * has them. 0; the value of take; -EPROTO; other errors of database.h; -ENOMEM.
 * Of the host: a sample on the CPU counts whole if it was taken in a window, a wait by its time in the windows. Idle
 * time counts by its time in the windows. GPU work counts whole if it began in a window, or by its time in those of a
 * stall. */
int straggler_timed_host(const struct straggler_timed *timed, uint32_t process);
int straggler_timed_gpu(const struct straggler_timed *timed, uint32_t process);

#endif
