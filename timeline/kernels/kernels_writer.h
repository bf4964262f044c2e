/* Writes how GPU work took over the time of a run, by name, or by name and launch stack: as a table for people, as CSV,
 * or as JSON, which has each slice and each bucket of the histograms. Used by one thread. */
#ifndef KERNELS_WRITER_H
#define KERNELS_WRITER_H

#include <stdio.h>

#include "kernel_places.h"
#include "kernel_times.h"

#include "report/model/report_names.h"
#include "report/writers/text_table.h"
#include "timeline/steps/steps_writer.h"

struct kernels_view { /* all borrowed; names belongs to the profile */
	const struct profile *profile;
	struct report_names *names;
	const struct kernel_times *times;
	const struct kernel_places *places; /* of times by stack alone */
	uint64_t first_ns;                  /* of the timeline: times are since then */
	const char *lacks; /* what the profile lacks, as a sentence; NULL: nothing */
};

/* form is of the table alone. 0; -ENOMEM; -ENOSPC, -EIO …: out did not take everything. */
int kernels_writer_write(FILE *out, const struct kernels_view *view, enum steps_format format,
			 const struct text_form *form);

#endif
