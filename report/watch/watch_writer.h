/* Writes events of a watch: a line of text, or a line of JSON. Any thread. */
#ifndef WATCH_WRITER_H
#define WATCH_WRITER_H

#include <stdio.h>

#include "watch_events.h"

/* "late", "recovered", "stalled", "slow", "missing", "came". Constant. */
const char *watch_writer_kind(enum watch_event_kind kind);

/* Writes one line without a newline; times are local. */
void watch_writer_text(FILE *out, const struct watch_event *event);

/* Writes one object with a newline behind it; times are UTC. */
void watch_writer_json(FILE *out, const struct watch_event *event);

#endif
