/* Writes the time axis of a page: a strip for each device, and the begins of steps. times.js reads it. Used by one
 * thread. */
#ifndef STRIPS_WRITER_H
#define STRIPS_WRITER_H

#include <stdbool.h>
#include <stdio.h>

#include "column_writer.h"

#include "report/model/report_build.h"
#include "timeline/strips/time_strips.h"

#define STRIPS_WRITER_LEVELS 100u /* a part that fills a bin */

/* Writes a member "timeline" of a JSON object, and a comma. path: the profile, as commands name it; NULL: not known. */
void strips_writer_json(FILE *out, const struct time_strips *strips, bool has_boxes,
			const char *path);

/* Writes the levels of each strip, by part and bin, then the ticks' indexes and times. The levels of a bin sum to
 * STRIPS_WRITER_LEVELS at most. Times count from the first one of the strips. */
void strips_writer_columns(struct column_writer *writer, const struct time_strips *strips);

/* Writes the boxes: strips, parts, begins, durations, waits, how long before the begin each was launched (the zigzag
 * code of that, and 1; 0: it is not known), contexts, streams, threads, nodes and names. pieces: of each box. */
void strips_writer_boxes(struct column_writer *writer, const struct time_strips *strips,
			 const struct report_piece *pieces);

#endif
