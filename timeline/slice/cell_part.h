/* Sums of the GPU work of some processes that begins in a cell of time, as bytes. Part of the slice; any thread, one at
 * a time for each object. */
#ifndef CELL_PART_H
#define CELL_PART_H

#include <stddef.h>
#include <stdint.h>

struct cell_bytes;
struct stream_fold;

/* Appends the sums of a fold that has had the cell's records alone since busy_lanes_begin_cell(), at at_ns. 0 or
 * -ENOMEM. */
int cell_part_write(struct stream_fold *fold, uint64_t at_ns, struct cell_bytes *bytes);

/* Where a fold has the rows of the last part that was added: those of the next part are mostly the same. Zeroed: no
 * part was. Call cell_part_rows_fini() at the end. */
struct cell_part_rows {
	uint32_t *at; /* owns; 1 + the row's index; 0: not known */
	uint32_t nr;
};
void cell_part_rows_fini(struct cell_part_rows *rows);

/* Adds the cell [at_ns, to_ns) to a fold, in place of its records. The fold has no records that begin in it or later.
 * processes: [id - 1], nonzero: the part may have sums of it. 0; -ESTALE: records that began before at_ns run into the
 * cell, which the cell's maker has not seen so, or not so long: the maker's run until *stale_ns, behind at_ns; -EPROTO:
 * the bytes are damaged; -E2BIG; -ENOMEM. After an error the fold's sums are not whole. */
int cell_part_add(struct stream_fold *fold, const uint8_t *data, size_t size, uint64_t at_ns,
		  uint64_t to_ns, const uint8_t *processes, struct cell_part_rows *rows,
		  uint64_t *stale_ns);

#endif
