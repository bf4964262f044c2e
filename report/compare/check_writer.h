/* Writes the result of a check (run_check.h) for people, programs and CI. Any thread; the arguments must not change
 * meanwhile. */
#ifndef CHECK_WRITER_H
#define CHECK_WRITER_H

#include <stdio.h>

#include "check_words.h"

#include "report/writers/text_table.h"

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_MARKDOWN, CHECK_JUNIT };

/* form: of the text; NULL: its lines have no limit. 0; -errno of the failed write; -ENOMEM. */
int check_writer_write(FILE *out, const struct check_report *report, enum check_format format,
		       const struct text_form *form);

/* Writes "step": its object or null, and a comma. */
void check_writer_step(FILE *out, const struct check_step *step);

#endif
