/* The bytes of a part of a file of cells (cell_format.h), as numbers: varints (proto/batch/column.h); signed ones,
 * zigzag. Any thread, one at a time for each object. */
#ifndef CELL_BYTES_H
#define CELL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cell_bytes {
	uint8_t *data; /* owns: free() */
	uint32_t size, room;
};

/* Each appends. 0 or -ENOMEM. */
int cell_bytes_put(struct cell_bytes *bytes, uint64_t number);
int cell_bytes_put_signed(struct cell_bytes *bytes, int64_t number);
int cell_bytes_put_data(struct cell_bytes *bytes, const void *data, size_t size);

struct cell_input { /* bytes that may be hostile */
	const uint8_t *at, *end;
	bool is_damaged; /* all numbers are 0 from here on */
};

uint64_t cell_input_get(struct cell_input *input);
uint32_t cell_input_get_u32(struct cell_input *input); /* a larger number is damage, too */
int64_t cell_input_get_signed(struct cell_input *input);

#endif
