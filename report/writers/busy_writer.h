/* Writes how busy GPUs and their streams were, as tables. Any thread. */
#ifndef BUSY_WRITER_H
#define BUSY_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "text_table.h"

#include "report/digest/gpu_rows.h"
#include "report/model/report_busy.h"

/* Writes a row for each GPU. Those that are alike are one line, and then at most top others follow, those that are
 * farthest from the median first. 0 or -ENOMEM. */
int busy_writer_gpus(FILE *out, const struct gpu_rows *gpus, const struct text_form *form,
		     uint32_t top);

/* Writes a line for each GPU of which samples of counters were wanted and are missing, at most top, with the reason. */
void busy_writer_counters(FILE *out, const struct report_busy *busy, uint32_t top);

/* Writes a row for each stream, at most top. 0 or -ENOMEM. */
int busy_writer_streams(FILE *out, const struct report_busy *busy, const struct text_form *form,
			uint32_t top);

#endif
