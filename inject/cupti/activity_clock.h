/* CUPTI's clock as records need it: CLOCK_REALTIME, ns. It belongs to the process, like the activity API: any user may
 * put a function of its own in its place (cuptiActivityRegisterTimestampCallback), and PyTorch's profiler puts the
 * processor's cycle counter there in each of its sessions and leaves it (Kineto's CuptiActivityProfiler::configure()).
 * Whatever CUPTI records from then on, for whomever, is in cycles. Nothing is put back, since what the other user wants
 * of its clock is its own business: its times are converted.
 *
 * Seen on CUPTI 13.0 (tests/gpu/programs/clock_probe.cu): cuptiGetTimestamp() tells the clock that records have;
 * work that runs while the clock is changed has a start of 0; NULL is refused; cuptiFinalize() brings CLOCK_REALTIME
 * back. */
#ifndef ACTIVITY_CLOCK_H
#define ACTIVITY_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct cupti_library;

/* Plain data; zeroed: times are taken as they are. */
struct activity_clock {
	uint64_t cupti, realtime_ns; /* the same moment */
	double scale; /* ns for each unit of CUPTI's; 0: CUPTI's times are the system's */
	uint64_t earliest_ns, latest_ns; /* times of records lie in between; both 0: not known */
};

/* Compares CUPTI's clock with the system's, and measures one that counts otherwise (2 ms). CUPTI must be up; one thread
 * at a time. */
void activity_clock_look(const struct cupti_library *library);

/* As of the last look. Any thread. */
void activity_clock_get(struct activity_clock *clock);

/* CLOCK_REALTIME of one of CUPTI's times. */
uint64_t activity_clock_realtime(const struct activity_clock *clock, uint64_t time);

/* The times of a record, neither of them 0. What was recorded before the clock changed may come after it: what is a
 * time of the system's already stays. false: they are of no clock that is known, and left alone. */
bool activity_clock_convert(const struct activity_clock *clock, uint64_t *start, uint64_t *end);

/* As if nothing had been looked at yet. */
void activity_clock_reset(void);

#endif
