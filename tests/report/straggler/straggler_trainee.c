#include "straggler_trainee.h"

#include "proto/host_sample.h"
#include "straggler_fixture.h"

#define MS      1000000.0
#define HOUR_NS 3600000000000ll
#define THREAD  9u

uint64_t trainee_clock(const struct trainee *trainee, double job_ms)
{
	return (uint64_t)(100 * HOUR_NS + trainee->host_skew_ns +
			  (int64_t)(job_ms * (1 + trainee->drift) * MS));
}

static void put_sample(const struct trainee *trainee, uint32_t kind, const char *stack,
		       const char *reason, double end_ms, double ms)
{
	if (!trainee->gpu_alone)
		job_sample(trainee->process, kind, stack, reason, THREAD,
			   trainee_clock(trainee, end_ms), (uint64_t)(ms * MS));
}

void trainee_runs(struct trainee *trainee, const char *stack, double from_ms, double to_ms)
{
	const double period_ms = trainee->period_ms;

	for (trainee->phase_ms += to_ms - from_ms; trainee->phase_ms >= period_ms;
	     trainee->phase_ms -= period_ms)
		put_sample(trainee, HOST_SAMPLE_CPU, stack, "",
			   to_ms - trainee->phase_ms + period_ms, period_ms);
}

void trainee_waits(struct trainee *trainee, const char *stack, const char *reason, double from_ms,
		   double to_ms)
{
	if (to_ms > from_ms)
		put_sample(trainee, HOST_SAMPLE_OFF_CPU, stack, reason, to_ms, to_ms - from_ms);
}

void trainee_kernel(struct trainee *trainee, const char *name, const char *stack, double from_ms,
		    double ms)
{
	const struct job_kernel kernel = {
		.name = name,
		.stack = stack,
		.correlation_id = ++trainee->correlation_id,
		.tid = THREAD,
		.start_ns = trainee_clock(trainee, from_ms) - (uint64_t)trainee->gpu_offset_ns,
		.ns = (uint64_t)(ms * MS),
		.delay_ns = (uint64_t)(trainee->delay_ms * MS),
		.clock_offset_ns = trainee->gpu_offset_ns,
	};

	job_kernel(trainee->process, &kernel);
}
