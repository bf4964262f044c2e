/* Writes the time axis of a page: a strip for each device, and the begins of steps. times.js reads it. Used by one
 * thread. */
#ifndef STRIPS_WRITER_H
#define STRIPS_WRITER_H

#include <stdio.h>

#include "column_writer.h"

#include "timeline/strips/time_strips.h"

#define STRIPS_WRITER_LEVELS 100u /* a part that fills a bin */

/* Writes a member "timeline" of a JSON object, and a comma. path: the profile, as commands name it; NULL: not known. */
void strips_writer_json(FILE *out, const struct time_strips *strips, const char *path);

/* Writes the levels of each strip, by part and bin, then the ticks' indexes and times. The levels of a bin sum to
 * STRIPS_WRITER_LEVELS at most. */
void strips_writer_columns(struct column_writer *writer, const struct time_strips *strips);

#endif
