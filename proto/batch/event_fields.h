/* The columns of EVENTS and SAMPLES messages, in their order (wire.md). Encoder and decoder read the same tables, so
 * they agree. Plain data. */
#ifndef EVENT_FIELDS_H
#define EVENT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#define EVENT_FIELDS_LAUNCH 7u
#define EVENT_FIELDS_GPU    14u
#define EVENT_FIELDS_SAMPLE 8u

struct event_field {
	const char *name;                   /* as in wire.md */
	uint32_t offset_bytes, width_bytes; /* in the record */
	uint64_t max;
	/* The field travels as its difference from gpu_record.start_ns: an end travels as a duration. */
	bool from_start;
};

/* Returns the largest value of a field where ids may be as large as a store's. */
uint64_t event_field_wide(const struct event_field *field);

extern const struct event_field event_fields_launch[EVENT_FIELDS_LAUNCH];
extern const struct event_field event_fields_gpu[EVENT_FIELDS_GPU];
extern const struct event_field event_fields_sample[EVENT_FIELDS_SAMPLE];

#endif
