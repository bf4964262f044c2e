/* A rank of a made job, in the store of straggler_fixture.h: its clocks, and what it does at which time of the job.
 * Times of the job are in ms; they are the same for all ranks. */
#ifndef STRAGGLER_TRAINEE_H
#define STRAGGLER_TRAINEE_H

#include <stdbool.h>
#include <stdint.h>

#define TRAINEE_GPU_OFFSET_NS                                                                      \
	(-50 * 3600000000000ll) /* about what CLOCK_MONOTONIC is ahead of CUPTI's clock */

struct trainee {
	uint32_t process, correlation_id;    /* correlation_id: of the newest kernel */
	int64_t host_skew_ns, gpu_offset_ns; /* of CLOCK_MONOTONIC; CLOCK_MONOTONIC - CUPTI's */
	double drift;                        /* of CLOCK_MONOTONIC, as a part: 1e-6 is 1 ppm */
	double period_ms, phase_ms;          /* of the sampling clock */
	double delay_ms;                     /* of kernels after their launch */
	bool gpu_alone;                      /* no samples are recorded */
};

/* Returns CLOCK_MONOTONIC of the rank's node. */
uint64_t trainee_clock(const struct trainee *trainee, double job_ms);

/* The main thread runs on a CPU, which gives samples, or waits. stack: as job_stack(). */
void trainee_runs(struct trainee *trainee, const char *stack, double from_ms, double to_ms);
void trainee_waits(struct trainee *trainee, const char *stack, const char *reason, double from_ms,
		   double to_ms);

void trainee_kernel(struct trainee *trainee, const char *name, const char *stack, double from_ms,
		    double ms);

#endif
