/* The one CUPTI subscriber, and whether anybody traces at all. Any thread. */
#ifndef CUPTI_SUBSCRIBER_H
#define CUPTI_SUBSCRIBER_H

#include <stdbool.h>

/* Plugs fake CUPTI into the driver while a callback or an activity kind is enabled, and out
 * otherwise. */
void cupti_subscriber_refresh_tracer(void);

/* All callbacks off, no subscriber. */
void cupti_subscriber_reset(void);

/* The same for cuptiFinalize(). */
void cupti_subscriber_leave(void);

#endif
