/* Keeps the times that the application spent in the driver functions that load GPU code. They are measured at entry and
 * exit, and put into a small queue, because a launching thread must not wait for the activity lock. The guest's own
 * thread takes them from there. There is one queue per process. */
#ifndef MODULE_LOAD_H
#define MODULE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#define MODULE_LOAD_QUEUE 4096u /* loads that were not taken yet */

struct module_load {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	const char *function;      /* CUPTI's name of the function, valid for good; may be NULL */
	uint32_t correlation_id, context_id;
};

/* Puts a load into the queue. Any thread may call; lock-free, allocates nothing. Returns false if the queue is full. */
bool module_load_put(const struct module_load *load);

/* Takes a load out of the queue. One thread at a time may call. Returns false if the queue is empty. */
bool module_load_take(struct module_load *load);

#endif
