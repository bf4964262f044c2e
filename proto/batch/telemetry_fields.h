/* The columns of telemetry in PLACEMENT messages (wire.md) and of the store's rows, in their order. Encoder and decoder
 * read the same table, so they agree. Plain data. */
#ifndef TELEMETRY_FIELDS_H
#define TELEMETRY_FIELDS_H

#include "event_fields.h"

#define TELEMETRY_FIELDS       50u
#define TELEMETRY_FIELDS_OLDER 29u /* agents without GPM send these */
#define TELEMETRY_FIELDS_OLD   48u /* agents that count no bytes of memory send these */

extern const struct event_field telemetry_fields[TELEMETRY_FIELDS];

#endif
