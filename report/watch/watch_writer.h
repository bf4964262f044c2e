/* Writes events of a watch: a line of text, or a line of JSON. Any thread. */
#ifndef WATCH_WRITER_H
#define WATCH_WRITER_H

#include <stdio.h>

#include "watch_events.h"

/* "late", "recovered", "stalled", "slow", "missing", "came". Constant. */
const char *watch_writer_kind(enum watch_event_kind kind);

#define WATCH_WRITER_TIME 16u

/* Writes the local time, "12:03:10". Returns text. */
const char *watch_writer_time(uint64_t time_ns, char text[static WATCH_WRITER_TIME]);

/* Writes one line without a newline; times are local. */
void watch_writer_text(FILE *out, const struct watch_event *event);

/* Writes one object with a newline behind it; times are UTC. */
void watch_writer_json(FILE *out, const struct watch_event *event);

#endif
