/* The columns of STATISTICS messages (wire.md) and of the store's rows, in their order. Encoder and decoder read the
 * same tables, so they agree. Plain data. */
#ifndef STATISTICS_FIELDS_H
#define STATISTICS_FIELDS_H

#include "event_fields.h"

#define STATISTICS_FIELDS_CALL   9u
#define STATISTICS_FIELDS_CONFIG 16u
#define STATISTICS_FIELDS_METRIC 10u

extern const struct event_field statistics_fields_call[STATISTICS_FIELDS_CALL];
extern const struct event_field statistics_fields_config[STATISTICS_FIELDS_CONFIG];
extern const struct event_field statistics_fields_metric[STATISTICS_FIELDS_METRIC];

#endif
