/* Converts CUPTI's times to CLOCK_REALTIME in ns. CUPTI's clock belongs to the process, like the activity API: any user
 * may replace it with a function of its own (cuptiActivityRegisterTimestampCallback). PyTorch's profiler sets the
 * processor's cycle counter in each of its sessions, and leaves it there (Kineto's CuptiActivityProfiler::configure()).
 * From then on CUPTI records in cycles for all users. The guest does not put the clock back, because the other user may
 * still need its own. It converts the times instead.
 *
 * Seen on CUPTI 13.0 (tests/gpu/programs/clock_probe.cu): cuptiGetTimestamp() reads the clock that records have. Work
 * that runs while the clock is changed has a start of 0. NULL is refused. cuptiFinalize() brings CLOCK_REALTIME
 * back. */
#ifndef ACTIVITY_CLOCK_H
#define ACTIVITY_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct cupti_library;

/* Plain data. If zeroed, times are taken as they are. */
struct activity_clock {
	uint64_t cupti, realtime_ns; /* the same moment on both clocks */
	double scale; /* ns for each unit of CUPTI's; 0: CUPTI's times are the system's */
	uint64_t earliest_ns, latest_ns; /* times of records lie in between; both 0: not known */
};

/* Compares CUPTI's clock with the system's. Measures a clock that counts at another rate, which takes 2 ms. CUPTI must
 * be up. One thread at a time may call. */
void activity_clock_look(const struct cupti_library *library);

/* Copies the result of the last look. Any thread may call. */
void activity_clock_get(struct activity_clock *clock);

/* Converts one of CUPTI's times to CLOCK_REALTIME. */
uint64_t activity_clock_realtime(const struct activity_clock *clock, uint64_t time);

/* Converts the times of a record, neither of which is 0. A record from before a change of the clock may come after it,
 * so times that are already the system's stay as they are. Returns false, and leaves the times alone, if they belong to
 * no known clock. */
bool activity_clock_convert(const struct activity_clock *clock, uint64_t *start, uint64_t *end);

/* Forgets all looks. */
void activity_clock_reset(void);

#endif
