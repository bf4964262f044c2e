/* How long the application was in the driver functions that load GPU code: measured at their entry and exit, kept in a
 * small queue, because a launching thread must not wait for the activity lock, and taken from there by the guest's own
 * thread. One per process. */
#ifndef MODULE_LOAD_H
#define MODULE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#define MODULE_LOAD_QUEUE 4096u /* loads that nobody has taken yet */

struct module_load {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	const char *function;      /* CUPTI's name of it, valid for good; may be NULL */
	uint32_t correlation_id, context_id;
};

/* Any thread; lock-free, allocates nothing. false: the queue is full. */
bool module_load_put(const struct module_load *load);

/* One thread at a time. false: there is none. */
bool module_load_take(struct module_load *load);

#endif
