#include "counter_refusal.h"

#include <stdio.h>
#include <string.h>

#include "counter_sampling.h"

static const char *const words[COUNTER_REFUSALS] = {
	[COUNTER_SAMPLED] = "sampled",
	[COUNTER_NO_LIBRARY] = "no libcupti was found",
	[COUNTER_NO_DRIVER] = "CUDA does not start",
	[COUNTER_NO_DEVICE] = "CUDA does not see the GPU",
	[COUNTER_NO_RIGHT] = "not permitted (RmProfilingAdminOnly)",
	[COUNTER_TAKEN] = "another profiler or DCGM has them",
	[COUNTER_VIRTUAL] = "a virtual or divided GPU has none",
	[COUNTER_NOT_SUPPORTED] = "the GPU or its driver cannot",
	[COUNTER_FAILED] = "CUPTI failed",
	[COUNTER_DIED] = "the process that sampled them has died",
	[COUNTER_HANGS] = "the process that sampled them hung",
};

const char *counter_refusal_words(uint32_t refusal)
{
	return refusal < COUNTER_REFUSALS ? words[refusal] : "the reason is unknown";
}

const char *counter_refusal_notice(uint32_t device_id, uint32_t refusal, char *text, size_t size)
{
	const bool was_sampled = refusal == COUNTER_DIED || refusal == COUNTER_HANGS;

	snprintf(text, size, COUNTER_REFUSAL "%u are %s sampled: %s", device_id,
		 was_sampled ? "no longer" : "not", counter_refusal_words(refusal));
	return text;
}

bool counter_refusal_is(const char *notice)
{
	return strncmp(notice, COUNTER_REFUSAL, strlen(COUNTER_REFUSAL)) == 0 &&
	       strstr(notice, " sampled: ");
}
