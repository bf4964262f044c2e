/* Strips of cells of time (cell_format.h): bins and ticks of each, which add up to those of a long part. Its bins then
 * begin and end where those of cells do. So the first one may begin before the part, and has nothing of that time.
 * Part of time_strips; used by one thread. */
#ifndef STRIP_CELLS_H
#define STRIP_CELLS_H

#include <stdbool.h>

#include "strip_maker.h"

struct cell_bytes;
struct cell_file;

struct strip_cells {
	const struct cell_file *file; /* borrowed */
	uint32_t begin, end;          /* the cells in place of events */
};

/* Appends what a maker has found whose part is a cell, and whose axis has the cell's bins. 0 or -ENOMEM. */
int strip_cells_write(const struct strip_maker *maker, struct cell_bytes *bytes);

/* Finds the cells within a part, and its axis. nr_devices: with strips, at most. false: there are none, or their bins
 * are too long for it. */
bool strip_cells_find(struct strip_cells *cells, const struct cell_file *file, uint64_t from_ns,
		      uint64_t to_ns, uint32_t nr_devices, struct strip_axis *axis);

/* Adds them to a maker that has had all other events of the part. 0; -EPROTO: they are damaged, or one has none;
 * -ENOMEM. After an error the maker's bins are not whole. */
int strip_cells_add(struct strip_maker *maker, const struct strip_cells *cells);

#endif
