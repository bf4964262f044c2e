/* Turns an event of the kernel's half into one or two samples; the caller adds stack and command. Single-threaded. */
#ifndef EVENT_SAMPLES_H
#define EVENT_SAMPLES_H

#include <stdint.h>

#include "bpf/sample_event.h"

#define EVENT_SAMPLES_MAX 2u

struct string_dictionary;
struct wait_reasons;

/* Makes the samples of an event, in order of time. *nr is their number, sample_event_samples(). The second sample of a
 * wait is the part in which the thread was awake. offset_ns leads from the kernel's clock to the agent's. Names that
 * found no room are STRING_NONE. 0 or -ENOMEM. */
int event_samples_make(struct wait_reasons *reasons, struct string_dictionary *strings,
		       const struct sample_event *event, int64_t offset_ns,
		       struct host_sample samples[static EVENT_SAMPLES_MAX], uint32_t *nr);

#endif
