/* The columns of COLLECTIVES messages, in their order (wire.md). Encoder and decoder read the same tables, so they
 * agree. Plain data. */
#ifndef COLLECTIVE_FIELDS_H
#define COLLECTIVE_FIELDS_H

#include "event_fields.h"

#define COLLECTIVE_FIELDS_COMMUNICATOR 8u
#define COLLECTIVE_FIELDS_CALL         17u

extern const struct event_field collective_fields_communicator[COLLECTIVE_FIELDS_COMMUNICATOR];
extern const struct event_field collective_fields_call[COLLECTIVE_FIELDS_CALL];

#endif
