/* Writes the fields of rows. One function of the caller, which names each field once, serves JSON's objects, CSV's rows
 * (RFC 4180 with plain newlines) and CSV's heading. Any thread. */
#ifndef ROW_TEXT_H
#define ROW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/model/report_tree.h"

enum row_form { ROW_JSON, ROW_CSV, ROW_HEADING };

/* A row that is being written; {.out = out} begins the members of an object that the caller has opened. */
struct row_text {
	FILE *out;
	enum row_form form;
	const void *context; /* what row_text_json() was given */
	bool has_fields;
};

/* Writes each field of a row, by the functions below. */
typedef void row_text_fields(struct row_text *row, const void *of);

/* Writes "name":[{…},\n{…}] with an object for each of nr rows of size bytes. */
void row_text_json(FILE *out, const char *name, row_text_fields *fields, const void *context,
		   const void *rows, uint32_t nr, size_t size);

/* Writes a heading and a line for each row. nothing is a row of zeroes, for the heading; fields gets
 * no context. */
void row_text_csv(FILE *out, row_text_fields *fields, const void *nothing, const void *rows,
		  uint32_t nr, size_t size);

/* Begins a field whose value the caller writes. False: it is the heading, which takes no values. */
bool row_text_field(struct row_text *row, const char *name);

/* Each writes a field. Text is clean (clean_text.h). A number that is not known is null in JSON, and empty in CSV. A
 * flag is true or false in JSON, 1 or 0 in CSV. */
void row_text_string(struct row_text *row, const char *name, const char *text);
void row_text_number(struct row_text *row, const char *name, bool known, int64_t number);
void row_text_count(struct row_text *row, const char *name, uint64_t count);
void row_text_flag(struct row_text *row, const char *name, bool flag);
__attribute__((format(printf, 3, 4))) void row_text_print(struct row_text *row, const char *name,
							  const char *format, ...);

/* Writes the path of a node, from the outside in, with ';' between frames (folded_writer_frame()), always in quotes.
 */
void row_text_stack(struct row_text *row, const char *name, const struct report_node *nodes,
		    const char *const *strings, uint32_t node);

#endif
