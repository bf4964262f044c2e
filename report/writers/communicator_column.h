/* The column of communicators in a table: their names, as wide as the widest, and their keys if the table is verbose.
 * Any thread, each with a column of its own. */
#ifndef COMMUNICATOR_COLUMN_H
#define COMMUNICATOR_COLUMN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct communicator_column {
	FILE *out;
	bool has_keys;
	uint32_t columns; /* of the heading, or of the widest name */
};

/* Begins a column that has room for its heading. out is borrowed while the column is written. */
void communicator_column_init(struct communicator_column *column, FILE *out, bool has_keys);

/* Makes room for a name (communicator_names.h). Call it for all names before the first is written. */
void communicator_column_widen(struct communicator_column *column, const char *name);

/* Write the heading, or one name with its key (0: none), without blanks around. */
void communicator_column_heading(const struct communicator_column *column);
void communicator_column_write(const struct communicator_column *column, const char *name,
			       uint64_t key);

#endif
