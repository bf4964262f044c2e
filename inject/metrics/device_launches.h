/* Counts each device's launches, and the threads that are at one: that tells whether other threads' work was counted
 * beside a measurement's. Any thread; no lock. */
#ifndef DEVICE_LAUNCHES_H
#define DEVICE_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

struct launch_thread;

/* Forgets all, but for the numbers of launches. */
void device_launches_init(void);

/* The thread begins and ends a launch on a device. A launch that threw ends with the next one. */
void device_launches_enter(struct launch_thread *thread, uint32_t device_id);
void device_launches_exit(struct launch_thread *thread);

/* Return a device's launches until now, and the threads at one. */
uint64_t device_launches_count(uint32_t device_id);
uint32_t device_launches_inside(uint32_t device_id);

/* What was so when a measurement began. */
struct device_launches_mark {
	uint64_t nr_launches;
	uint32_t device_id;
	bool is_shared; /* other threads were at a launch: they may submit it when the counters count */
};

/* Marks the beginning, by a thread that is at a launch itself. */
struct device_launches_mark device_launches_mark(uint32_t device_id);

/* Returns whether other work may have been counted since. nr_own: the launches since then that belong to it. */
bool device_launches_were_shared(const struct device_launches_mark *mark, uint64_t nr_own);

#endif
