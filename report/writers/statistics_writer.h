/* Writes API calls and launch configurations as tables, as parts of JSON, and as CSV. Any thread; the statistics
 * must not change meanwhile. */
#ifndef STATISTICS_WRITER_H
#define STATISTICS_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "report/model/report_statistics.h"

struct text_form;

enum statistics_rows {
	STATISTICS_ROWS_CALLS,
	STATISTICS_ROWS_FAILURES,
	STATISTICS_ROWS_CONFIGS,
};

/* Writes tables of the runtime's calls, the driver's calls and failed calls, with at most top rows each. Writes nothing
 * if no calls were counted. 0 or -ENOMEM. */
int statistics_writer_calls(FILE *out, const struct report_statistics *statistics,
			    const struct text_form *form, uint32_t top);

/* Writes the table of launch configurations, with at most top rows. Writes nothing if there are none. 0 or
 * -ENOMEM. */
int statistics_writer_configs(FILE *out, const struct report_statistics *statistics,
			      const struct text_form *form, uint32_t top);

/* Writes the members "api_calls", "failed_calls" and "kernel_configurations" of an object, each with a comma and a
 * newline after it. */
void statistics_writer_json(FILE *out, const struct report_statistics *statistics);

/* Writes a heading and a line for each row (csv_writer.h). 0; -ENOSPC, -EIO …: out did not take everything. */
int statistics_writer_csv(FILE *out, const struct report_statistics *statistics,
			  enum statistics_rows rows);

#endif
