/* The table of subjects that a report can have. A row names a subject's option, its input from the store, its formats,
 * and the options that it takes. Single-threaded. */
#ifndef REPORT_SUBJECT_H
#define REPORT_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report_view.h"

#include "report/writers/folded_writer.h"
#include "report/writers/text_table.h"

enum report_format {
	REPORT_FOLDED,
	REPORT_HTML,
	REPORT_TABLE,
	REPORT_JSON,
	REPORT_CSV,
	REPORT_PPROF,      /* binary, for pprof */
	REPORT_SPEEDSCOPE, /* JSON, for speedscope */
	REPORT_SAMPLES,    /* a line for each sample of a host thread */
	REPORT_FORMATS
};

/* The rows of the table. If several subjects are asked for, the report is about the first of them in this order. The
 * others are options that its row takes or refuses. REPORT_SUBJECT_WORK is the default. */
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
	REPORT_SUBJECT_TIMES,
	REPORT_SUBJECT_METRICS,
	REPORT_SUBJECT_SAMPLES,
	REPORT_SUBJECT_CLOCKS,
	REPORT_SUBJECT_DIFF,
	REPORT_SUBJECTS,
	/* These rows only name options: no report is about them. */
	REPORT_SUBJECT_BY = REPORT_SUBJECTS,
	REPORT_SUBJECT_MEMORY,
	REPORT_SUBJECT_PLANES,
	REPORT_SUBJECT_ALL
};

/* Options that only some formats of a subject use. */
enum report_detail {
	REPORT_DETAIL_TOP,
	REPORT_DETAIL_VERBOSE,
	REPORT_DETAIL_WEIGHT,
	REPORT_DETAIL_UNIT,
	REPORT_DETAIL_TOPOLOGY,
	REPORT_DETAIL_LINES, /* from here on: of stacks */
	REPORT_DETAIL_FRAMES,
	REPORT_DETAIL_FRAMEWORKS,
	REPORT_DETAIL_BACKWARD,
	REPORT_DETAIL_NCCL,
	REPORT_DETAILS
};

/* The time axis of a part of a profile, which has none itself. All is borrowed. */
struct report_axis {
	const struct time_strips *strips;
	const struct report_piece *pieces; /* of the strips' boxes, in their order */
	const char *path;                  /* of the whole profile */
};

/* Zeroed: folded stacks of work, time in nanoseconds, nothing split. */
struct report_request {
	enum report_format format;
	uint32_t asked;                 /* a set: 1u << enum report_subject_id */
	uint32_t details;               /* those that were given: 1u << enum report_detail */
	struct folded_options folded;   /* HTML uses weight and by, too */
	struct text_form form;          /* of tables */
	uint32_t top;                   /* rows of a table; 0: its default */
	bool verbose;                   /* tables have keys of communicators, and probabilities */
	const char *subtitle;           /* of HTML; NULL: none */
	uint64_t axis_events_max;       /* with more events HTML has no time axis; 0: any number */
	const struct report_axis *axis; /* of HTML; NULL: its time axis is the profile's own */
	bool user_frames; /* each framework's frames are one; a page of HTML opens so */
};

struct report_subject {
	const char *option;       /* "--ranks", "--rows calls" */
	enum report_format usual; /* the format if none is given */
	uint32_t takes;           /* subjects that it takes as options: a set as above */
	/* Formats without leaves: 1u << enum report_format. --by, --memory and --planes change nothing there. */
	uint32_t leafless;
	uint32_t details[REPORT_FORMATS]; /* those that each format uses: sets as above */
	/* Reads the calls of collective libraries, or takes ownership of *folds and leaves NULL. NULL: the subject
	 * needs no calls. */
	int (*read)(struct report_view *view, struct collective_folds **folds);
	/* NULL: the subject cannot be written in this format. */
	int (*write[REPORT_FORMATS])(const struct report_view *view, FILE *out,
				     const struct report_request *request);
};

extern const struct report_subject report_subjects[REPORT_SUBJECT_ALL];
extern const char *const report_format_names[REPORT_FORMATS + 1]; /* the last is NULL */

/* Returns the row that a report is about. */
const struct report_subject *report_subject_of(uint32_t asked);

/* Compares a request with its row. 0; -EINVAL with one line in *error that says what is refused, and what is possible.
 * The caller owns *error: free(); it is NULL without an error, or without memory for it. */
int report_subject_check(const struct report_request *request, char **error);

/* Limits the leaves if the report shows only sums. It keeps the dimensions by which the report splits. */
void report_subject_bound(const struct report_request *request, struct report_options *options);

/* Returns whether the report has findings, which report_view_find() makes. */
bool report_subject_has_findings(const struct report_request *request);

/* Returns the subjects whose input a request needs: a page has a table of collectives, and late ranks. */
uint32_t report_subject_needs(const struct report_request *request);

/* Reads the input of the wanted subjects from the store. 0 or -errno with *error as report_view_open(). */
int report_subject_read(struct report_view *view, uint32_t asked, char **error);

/* 0 or -errno of the writer; -EINVAL: report_subject_check() refuses the format, or what the subject needs was not
 * read. */
int report_subject_write(const struct report_view *view, FILE *out,
			 const struct report_request *request);

/* Returns whether reports in this format tell the profile's state and losses. Others have no room for them, or readers
 * that want nothing but data. */
bool report_subject_says_state(enum report_format format);

/* Writes a line after prefix with what rows of CSV cannot say of themselves: how many there could be, and which rank is
 * late or stands out. */
void report_subject_remarks(const struct report_view *view, const struct report_request *request,
			    FILE *out, const char *prefix);

/* Writes into the file at path, which is made or emptied; NULL: to standard output. 0 or -errno; *error as above. */
int report_subject_save(const struct report_view *view, const char *path,
			const struct report_request *request, char **error);

#endif
