#include "activity_flush.h"

#include <stdbool.h>

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "inject/beside/shared_session.h"
#include "inject/capture/activity_buffers.h"
#include "inject/cupti/activity_clock.h"
#include "inject/cupti/clock_sample.h"
#include "inject/cupti/context_devices.h"
#include "inject/cupti/module_load.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

static struct {
	const struct cupti_library *library;
	struct definition_writer *definitions;
	struct definition_clock clock; /* the last sample; zeroed: none */
	bool clock_said;
} self;

void activity_flush_init(const struct cupti_library *library, struct definition_writer *definitions)
{
	self.library = library;
	self.definitions = definitions;
}

static void say_clock(const struct activity_clock *clock)
{
	if (self.clock_said)
		return;
	self.clock_said = true;
	definition_writer_notice(self.definitions, NOTICE_ACTIVITY_TAKEN, 0,
				 "another user of CUPTI has given it a clock of its own (%.4f ns a "
				 "unit): times are converted",
				 clock->scale);
}

void activity_flush_calibrate(void)
{
	struct definition_clock clock;
	struct activity_clock activity;

	activity_clock_look(self.library);
	activity_clock_get(&activity);
	if (activity.scale > 0)
		say_clock(&activity);
	if (clock_sample_take(self.library, &clock) != 0)
		return;
	clock.cupti_ns = activity_clock_realtime(&activity, clock.cupti_ns);
	self.clock = clock;
	definition_writer_put(self.definitions, DEFINITION_CLOCK, &clock, sizeof(clock), NULL, 0);
}

/* Without a sample there has been no GPU work, and CUPTI's clock is the system's. */
static uint64_t cupti_time(uint64_t time_ns)
{
	if (self.clock.cupti_ns)
		return time_ns - self.clock.monotonic_ns + self.clock.cupti_ns;
	return time_ns - monotonic_ns() + realtime_ns();
}

void activity_flush_loads(void)
{
	struct module_load load;

	while (module_load_take(&load)) {
		uint64_t start_ns = cupti_time(load.begin_ns);
		const struct gpu_record record = {
			.start_ns = start_ns,
			.end_ns = start_ns + (load.end_ns - load.begin_ns),
			.correlation_id = load.correlation_id,
			.device_id = context_devices_get(load.context_id),
			.context_id = load.context_id,
			.kind = RECORD_GPU_MODULE,
		};

		activity_buffers_put(&record, load.function);
	}
}

void activity_flush_run(uint32_t flag)
{
	uint64_t begin_ns = thread_cpu_ns();

	activity_flush_calibrate();
	activity_flush_loads();
	shared_session_flush(self.library, flag);
	activity_buffers_count_dropped();
	record_ring_count(self.definitions->ring, LEDGER_DEVICE_NONE, LEDGER_METER_FLUSHES, 1,
			  thread_cpu_ns() - begin_ns);
}
