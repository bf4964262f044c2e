/* Writes the steps of a job: as a table for people, with a row for each rank, or with a row for each step of each rank.
 * Used by one thread. */
#ifndef STEPS_WRITER_H
#define STEPS_WRITER_H

#include <stdio.h>

#include "step_rows.h"
#include "step_sums.h"

#include "report/model/report_names.h"
#include "report/profile/profile.h"
#include "report/writers/text_table.h"

enum steps_format { STEPS_TABLE, STEPS_CSV };

struct steps_view {
	const struct profile *profile; /* borrowed, as all here */
	struct report_names *names;
	const struct step_rows *rows;
	const struct step_sums *sums;
	uint64_t first_ns; /* of the timeline: times count from here */
};

/* form is of the table alone. 0; -ENOMEM; -ENOSPC, -EIO …: out did not take everything. */
int steps_writer_write(FILE *out, const struct steps_view *view, enum steps_format format,
		       const struct text_form *form);

#endif
