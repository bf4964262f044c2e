/* Writes a profile as text tables for people: the GPU activities that took longest, hosts, devices, streams and
 * losses. Any thread; the arguments must not change meanwhile. */
#ifndef TABLE_WRITER_H
#define TABLE_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "report/model/report_busy.h"
#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"

struct report_statistics;

struct table_options {
	uint32_t top; /* activities, streams, functions and configurations to list; 0: 20 */
	const struct report_statistics *statistics; /* NULL: their tables are left out */
	struct report_by by; /* activities are split by these dimensions; none: they are not */
};

/* options may be NULL. 0; -ENOMEM: nothing was written; -ENOSPC, -EIO …: out did not take everything. */
int table_writer_write(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
		       const struct table_options *options);

#endif
