/* Writes a profile as text tables for people. First come the GPU activities that took longest, the program's lines that
 * caused them, the GPUs and the findings. Hosts, streams, launch configurations and losses follow. Any thread; the
 * arguments must not change meanwhile. */
#ifndef TABLE_WRITER_H
#define TABLE_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "report/model/report_busy.h"
#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"

struct findings;
struct gpu_rows;
struct report_statistics;
struct text_form;

struct table_options {
	uint32_t top; /* lines, activities, streams, functions and configurations to list; 0: 20 */
	const struct report_statistics *statistics; /* NULL: their tables are left out */
	const struct gpu_rows *gpus;                /* NULL: made of busy, without NCCL's share */
	const struct findings *findings;            /* NULL: they are left out */
	const struct text_form *form;               /* NULL: lines have no limit */
	struct report_by by; /* activities are split by these dimensions; none: they are not */
};

/* options may be NULL. 0; -ENOMEM; -ENOSPC, -EIO …: out did not take everything. */
int table_writer_write(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
		       const struct table_options *options);

#endif
