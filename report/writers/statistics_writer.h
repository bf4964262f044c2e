/* API calls and launch configurations as tables, as parts of JSON, as CSV. Any thread; the statistics must not change
 * meanwhile. */
#ifndef STATISTICS_WRITER_H
#define STATISTICS_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "report/model/report_statistics.h"

enum statistics_rows {
	STATISTICS_ROWS_CALLS,
	STATISTICS_ROWS_FAILURES,
	STATISTICS_ROWS_CONFIGS,
};

/* Tables of the runtime's and the driver's calls, and of those that failed; nothing where no calls were counted. At
 * most top rows of each. */
void statistics_writer_calls(FILE *out, const struct report_statistics *statistics, uint32_t top);

/* The table of launch configurations; nothing where there are none. At most top rows. */
void statistics_writer_configs(FILE *out, const struct report_statistics *statistics, uint32_t top);

/* The members "api_calls", "failed_calls" and "kernel_configurations" of an object, each with a comma and a newline
 * after it. */
void statistics_writer_json(FILE *out, const struct report_statistics *statistics);

/* A heading and a line a row (csv_writer.h). 0; -ENOSPC, -EIO …: out did not take everything. */
int statistics_writer_csv(FILE *out, const struct report_statistics *statistics,
			  enum statistics_rows rows);

#endif
