/* The elements and the lists of each message (wire.md). Encoder and decoder read the same tables, so they agree. Plain
 * data. */
#ifndef MESSAGE_LAYOUT_H
#define MESSAGE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event_fields.h"

/* Structs of one kind, which travel as one column for each field. */
struct message_list {
	const char *count_name; /* as in wire.md */
	const struct event_field *fields;
	uint32_t nr_fields;
	/* Not 0, the fewest first: older senders have these alone, and further ones are 0. */
	uint32_t nr_older_fields[2];
	size_t row_bytes;
	uint32_t max;             /* rows */
	size_t count_at, rows_at; /* offsets in struct message: of a uint32_t, and of a pointer */
	/* Elements of the list's own array, which begins with base, count and columns. 0: the list has no own array: it
	 * is a count and an array of columns. */
	uint32_t nr_elements;
	size_t base_at; /* offset of the first row's id; 0: rows have no ids */
	const char *base_name;
	const struct event_field *never_zero; /* in no row; NULL: there is no such field */
	bool empty_without_columns;           /* the columns of an empty list are an empty array */
	/* A newer version added the list, behind all older elements. An empty one in front of another list is sent. */
	bool empty_is_left_out;
};

struct message_layout {
	const char *name;     /* as in wire.md */
	uint32_t nr_elements; /* of the frame's own array, type and version included */
	uint32_t nr_lists;
	const struct message_list *lists;
};

/* NULL: this version neither sends nor reads messages of this type. */
const struct message_layout *message_layout(uint64_t type);

/* The column after the build ids of modules. */
extern const struct event_field message_layout_owner[1];

#endif
