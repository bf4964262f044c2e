/* The columns of counters in PLACEMENT messages (wire.md) and of the store's rows, in their order. Encoder and decoder
 * read the same tables, so they agree. Plain data. */
#ifndef COUNTER_FIELDS_H
#define COUNTER_FIELDS_H

#include "event_fields.h"

#define COUNTER_FIELDS_SAMPLE 11u
#define COUNTER_FIELDS_STATE  13u
#define COUNTER_FIELDS_OLD    10u /* of a state of an older agent */

extern const struct event_field counter_fields_sample[COUNTER_FIELDS_SAMPLE];
extern const struct event_field counter_fields_state[COUNTER_FIELDS_STATE];

#endif
