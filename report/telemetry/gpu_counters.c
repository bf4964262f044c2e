#include "gpu_counters.h"

#include "proto/ledger.h"

/* Of less, starting to sample is the cause. */
#define MISSING_NS   1000000000u
#define MISSING_PART 5u /* percent of the time asked for */

static const char *const names[COUNTER_REFUSALS] = {
	[COUNTER_SAMPLED] = "none",        [COUNTER_NO_LIBRARY] = "no_library",
	[COUNTER_NO_DRIVER] = "no_driver", [COUNTER_NO_DEVICE] = "no_device",
	[COUNTER_NO_RIGHT] = "no_right",   [COUNTER_TAKEN] = "taken",
	[COUNTER_VIRTUAL] = "virtual",     [COUNTER_NOT_SUPPORTED] = "not_supported",
	[COUNTER_FAILED] = "failed",       [COUNTER_DIED] = "died",
	[COUNTER_HANGS] = "hangs",
};

static uint64_t more(uint64_t sum, uint64_t number)
{
	return ledger_add_saturating(sum, number);
}

void gpu_counters_of(const struct placement_log *log, uint32_t device, struct counter_state *sums)
{
	uint32_t count;
	const struct counter_state *states = placement_log_counter_states(log, &count);

	*sums = (struct counter_state){0};
	for (uint32_t i = 0; i < count; i++) {
		const struct counter_state *state = &states[i];

		if (state->device_id != device)
			continue;
		if (sums->begin_ns == 0 || state->last_ns >= sums->last_ns) {
			sums->refusal = state->refusal;
			sums->interval_ns = state->interval_ns;
			sums->last_ns = state->last_ns;
		}
		if (sums->begin_ns == 0)
			sums->begin_ns = state->begin_ns;
		sums->samples = more(sums->samples, state->samples);
		sums->kept = more(sums->kept, state->kept);
		sums->unsent = more(sums->unsent, state->unsent);
		sums->dropped = more(sums->dropped, state->dropped);
		sums->overflows = more(sums->overflows, state->overflows);
		sums->asked_ns = more(sums->asked_ns, state->asked_ns);
		sums->covered_ns = more(sums->covered_ns, state->covered_ns);
		sums->invalid = more(sums->invalid, state->invalid);
	}
}

uint64_t gpu_counters_missing_ns(const struct counter_state *sums)
{
	const uint64_t ns =
		sums->asked_ns > sums->covered_ns ? sums->asked_ns - sums->covered_ns : 0;

	return ns >= MISSING_NS && ns / MISSING_PART >= sums->asked_ns / 100 ? ns : 0;
}

const char *gpu_counters_refusal_name(uint32_t refusal)
{
	return refusal < COUNTER_REFUSALS ? names[refusal] : "unknown";
}
