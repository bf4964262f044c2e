/* Decides whether the process is captured now: by the clock, by an open range and by command. Pure; time is an
 * argument. One thread at a time. */
#ifndef WINDOW_SCHEDULE_H
#define WINDOW_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/options/window_options.h"
#include "proto/ring/record_ring.h"

struct window_schedule { /* zeroed but for options: nothing was commanded, no range is open */
	struct window_options options;
	struct record_ring_command command; /* the last one */
	uint32_t nr_open;                   /* of the range */
};

/* Takes a command, which replaces the one before it. RECORD_RING_COMMAND_NONE: the options alone decide again. */
void window_schedule_command(struct window_schedule *schedule,
			     const struct record_ring_command *command);

/* Tells that a range of the wanted sort or name opens or closes. */
void window_schedule_range(struct window_schedule *schedule, bool open);

/* Returns whether to capture at now_ns (CLOCK_REALTIME). *next_ns: when time may change that; UINT64_MAX: never. */
bool window_schedule_wanted(const struct window_schedule *schedule, uint64_t now_ns,
			    uint64_t *next_ns);

#endif
