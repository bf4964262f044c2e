/* Changes a store as bytes say: a list of edits of EDIT_SIZE bytes, each of a row's value, a row, or bytes of the file.
 * Single-threaded. Aborts the process where a change that is allowed cannot be made. */
#ifndef STORE_EDIT_H
#define STORE_EDIT_H

#include <stddef.h>
#include <stdint.h>

#define STORE_EDIT_SIZE 16u
#define STORE_EDITS_MAX 16u

/* Byte 0 of an input, divided by STORE_TEMPLATES: what reads the store. */
enum store_reader {
	STORE_READER_FORMATS, /* all reports, in all formats */
	STORE_READER_TREES,   /* reports of other planes, of memory, and with other names */
	STORE_READER_RESTART, /* the aggregator */
	STORE_READERS,
};

/* Byte 0 of an edit; others are taken modulo the number of these. */
enum store_edit_kind {
	STORE_EDIT_SET, /* one column of a row, to a number or bytes of its type, or to NULL */
	STORE_EDIT_ADD, /* a row of small numbers, or a copy of one with another value in a column */
	STORE_EDIT_DELETE, /* a row */
	STORE_EDIT_BYTE,   /* a byte within a row's blob */
	STORE_EDIT_RAW,    /* a byte of the file */
	STORE_EDIT_KINDS,
};

struct store_edit {
	uint8_t kind, table, column, form; /* each modulo what there is */
	uint16_t row, at;
	uint64_t value;
};

/* Applies those that data holds, at most STORE_EDITS_MAX, to the file at path. */
void store_edit_apply(const char *path, const uint8_t *data, size_t size);

/* Tables of the store at path. */
uint32_t store_edit_tables(const char *path);

#endif
