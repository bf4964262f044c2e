/* The table of what a report can be about. A row names a subject's option, what the subject needs from the store, the
 * formats in which it is written and the options that it takes. Single-threaded. */
#ifndef REPORT_SUBJECT_H
#define REPORT_SUBJECT_H

#include <stdint.h>
#include <stdio.h>

#include "report_view.h"

#include "report/writers/folded_writer.h"

enum report_format {
	REPORT_FOLDED,
	REPORT_HTML,
	REPORT_TABLE,
	REPORT_JSON,
	REPORT_CSV,
	REPORT_SAMPLES, /* a line for each sample of a host thread */
	REPORT_FORMATS
};

/* The rows of the table. Where several subjects are asked for, the report is about the first of them in this order, and
 * the others are options that its row takes or refuses. REPORT_SUBJECT_WORK is what nobody needs to ask for. */
enum report_subject_id {
	REPORT_SUBJECT_WORK,
	REPORT_SUBJECT_STRAGGLER,
	REPORT_SUBJECT_RANKS,
	REPORT_SUBJECT_RANK_ROWS,
	REPORT_SUBJECT_COLLECTIVES,
	REPORT_SUBJECT_COLLECTIVE_ROWS,
	REPORT_SUBJECT_CALLS,
	REPORT_SUBJECT_FAILURES,
	REPORT_SUBJECT_CONFIGURATIONS,
	REPORT_SUBJECT_SAMPLES,
	REPORT_SUBJECT_CLOCKS,
	REPORT_SUBJECT_DIFF,
	REPORT_SUBJECTS,
	/* Rows that only name options: no report is about them. */
	REPORT_SUBJECT_BY = REPORT_SUBJECTS,
	REPORT_SUBJECT_MEMORY,
	REPORT_SUBJECT_PLANES,
	REPORT_SUBJECT_ALL
};

/* Zeroed: folded stacks of work, time in microseconds, nothing split. */
struct report_request {
	enum report_format format;
	uint32_t asked;               /* a set: 1u << enum report_subject_id */
	struct folded_options folded; /* weight and by count for HTML, too */
	uint32_t top;                 /* rows of a table; 0: its default */
	const char *subtitle;         /* of HTML; NULL: none */
};

struct report_subject {
	const char *option;       /* "--ranks", "--rows calls" */
	enum report_format usual; /* the format if none is given */
	uint32_t takes;           /* what may be asked for beside it: a set as above */
	/* Reads the calls of collective libraries, or takes *log and leaves NULL. NULL: the subject needs no calls. */
	int (*read)(struct report_view *view, struct collective_log **log);
	/* NULL: the subject cannot be written in this format. */
	int (*write[REPORT_FORMATS])(const struct report_view *view, FILE *out,
				     const struct report_request *request);
};

extern const struct report_subject report_subjects[REPORT_SUBJECT_ALL];
extern const char *const report_format_names[REPORT_FORMATS + 1]; /* the last is NULL */

/* The row that a report is about. */
const struct report_subject *report_subject_of(uint32_t asked);

/* Compares a request with its row. 0; -EINVAL with one line in *error that says what is refused, and what is possible.
 * The caller owns *error: free(); it is NULL without an error, or without memory for it. */
int report_subject_check(const struct report_request *request, char **error);

/* Reads from the store what the subjects need that are asked for. 0 or -errno with *error as report_view_open(). */
int report_subject_read(struct report_view *view, uint32_t asked, char **error);

/* 0 or -errno of the writer; -EINVAL: report_subject_check() refuses the format, or what the subject needs was not
 * read. */
int report_subject_write(const struct report_view *view, FILE *out,
			 const struct report_request *request);

/* Writes into the file at path, made or emptied, or to standard output where path is NULL. 0 or -errno; *error as
 * above. */
int report_subject_save(const struct report_view *view, const char *path,
			const struct report_request *request, char **error);

#endif
