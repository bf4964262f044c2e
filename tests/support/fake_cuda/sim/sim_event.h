/* Events: the time when the work before them has ended. Any thread. */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct sim_context;

struct sim_event {
	uint64_t magic;
	_Atomic uint64_t complete_ns; /* 0: not recorded */
	_Atomic uint64_t capture_id;  /* recorded during this capture; 0: none */
	/* Behind all work of this context, whose end was not known yet; NULL: complete_ns tells. */
	struct sim_context *_Atomic context;
	uint64_t open_number; /* the last operation that had to wait then (sim_open_last()) */
};

/* NULL: out of memory. */
struct sim_event *sim_event_create(void);
void sim_event_destroy(struct sim_event *event);
struct sim_event *sim_event_check(void *handle);

/* Records it, to end at a time. */
void sim_event_set(struct sim_event *event, uint64_t complete_ns);

/* Records it behind all work that the context and its parts have, and does not wait for that. */
void sim_event_set_behind(struct sim_event *event, struct sim_context *context);

/* Returns whether its time is known by now. Work that was submitted later counts, too, if it ran before the asking and
 * some of the earlier had to wait. */
bool sim_event_is_known(struct sim_event *event);

/* Waits until the time is known, and returns it; 0: not recorded. */
uint64_t sim_event_complete_ns(struct sim_event *event);

#endif
