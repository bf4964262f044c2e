/* Finds why ranks are late that a watch is about to name. It reads the whole profile, which costs much more than a
 * look, so it is done for events alone. One thread. */
#ifndef WATCH_CAUSES_H
#define WATCH_CAUSES_H

#include <stdint.h>

#include "watch_events.h"

/* A store above this size stays unread, because reading it takes several times its size of the job's memory: then no
 * cause is told. */
#define WATCH_CAUSES_STORE_MAX (64ull << 20) /* bytes */

/* Sets finding.cause, cause_share and what is known of experts of the late and stalled ones, from the store at this
 * path. Where a cause cannot be found, nothing is set: the event stands without it. */
void watch_causes_add(const char *path, struct watch_event *list, uint32_t count);

#endif
