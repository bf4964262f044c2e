/* Writes the steps of a job: as a table for people, with a row for each rank and what stands out; as CSV with a row for
 * each step of each rank; or all of it as JSON. Used by one thread. */
#ifndef STEPS_WRITER_H
#define STEPS_WRITER_H

#include <stdio.h>

#include "steps_view.h"

#include "report/writers/text_table.h"

enum steps_format { STEPS_TABLE, STEPS_CSV, STEPS_JSON };

/* form is of the table alone. 0; -ENOMEM; -ENOSPC, -EIO …: out did not take everything. */
int steps_writer_write(FILE *out, const struct steps_view *view, enum steps_format format,
		       const struct text_form *form);

#endif
