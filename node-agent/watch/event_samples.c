#include "event_samples.h"

#include <errno.h>
#include <string.h>

#include "node-agent/calls/call_function.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/kernel/wait_reasons.h"
#include "proto/host_sample.h"

/* name may be NULL. */
static int intern(struct string_dictionary *strings, const char *name, uint32_t *name_id)
{
	*name_id = STRING_NONE;
	int r = name ? string_dictionary_intern(strings, name, strlen(name), name_id) : 0;

	return r == -ENOMEM ? r : 0;
}

static int find_name(struct wait_reasons *reasons, struct string_dictionary *strings,
		     const struct sample_event *event, uint32_t *name_id)
{
	const char *name = NULL;

	if (event->kind == HOST_SAMPLE_OFF_CPU)
		name = wait_reasons_find(reasons, event);
	else if (event->kind == HOST_SAMPLE_CALL)
		name = call_function_name(event->argument);
	return intern(strings, name, name_id);
}

int event_samples_make(struct wait_reasons *reasons, struct string_dictionary *strings,
		       const struct sample_event *event, int64_t offset_ns,
		       struct host_sample samples[static EVENT_SAMPLES_MAX], uint32_t *nr)
{
	const uint64_t queued_ns = sample_event_queued(event);
	struct host_sample sample = {
		.time_ns = event->time_ns + (uint64_t)offset_ns - queued_ns,
		.duration_ns = event->duration_ns - queued_ns,
		.tid = event->tid,
		.cpu = event->cpu,
		.kind = event->kind,
	};
	int r = 0;

	*nr = 0;
	if (sample.duration_ns) {
		r = find_name(reasons, strings, event, &sample.name_id);
		samples[(*nr)++] = sample;
	}
	if (r || queued_ns == 0)
		return r;
	sample.time_ns += queued_ns;
	sample.duration_ns = queued_ns;
	r = intern(strings, HOST_SAMPLE_RUN_QUEUE, &sample.name_id);
	samples[(*nr)++] = sample;
	return r;
}
