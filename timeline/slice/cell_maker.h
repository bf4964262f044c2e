/* Makes the sums of a timeline's log by cells of time (cell_format.h), by reading all of it. Used by one thread. */
#ifndef CELL_MAKER_H
#define CELL_MAKER_H

#include <stdint.h>

#include "timeline/trace/timeline_source.h"

/* A range decodes the events of a cell, on the average. Of fewer events than eight times as many no sums are kept: they
 * are read as quickly. */
#define CELL_MAKER_EVENTS 1000000u
#define CELL_MAKER_LEAST  8u /* cells */

/* Why no sums of a log would be exact. */
enum cell_maker_lack {
	CELL_MAKER_CELLS,   /* no cell has them (enum cell_format_lack) */
	CELL_MAKER_DAMAGED, /* parts of the log are damaged */
	CELL_MAKER_NO_ZSTD, /* parts of it are compressed, and there is no libzstd */
	CELL_MAKER_CLOCKS,  /* some events have a clock that was never compared */
	CELL_MAKER_NAMES,   /* some events name what the profile does not know */
	CELL_MAKER_IDS, /* correlation ids came again while the first ones may still have had work */
	CELL_MAKER_DISORDER, /* GPU records are too far out of order */
	CELL_MAKER_SIZE,     /* a process has too many streams, or a cell too many rows */
};

struct cell_made {
	uint32_t nr_cells, nr_empty; /* empty: without sums, because they would not be exact */
	uint32_t nr_late, nr_gone; /* of these: some share lacks them so (enum cell_format_lack) */
	enum cell_maker_lack lack; /* with -EAGAIN */
};

/* Makes the file. first_ns, last_ns: of all events. nr_cells: 1 to CELL_FORMAT_CELLS, or 0: as many as it takes, unless
 * there are sums already. 0; -ENODATA: so few events need none; -EBUSY: the profile is being written; -EAGAIN: no sums
 * of it would be exact (made->lack); -ENOPKG: there is no libzstd; or as
 * timeline_source_read(). */
int cell_maker_make(struct timeline_source *source, uint64_t first_ns, uint64_t last_ns,
		    uint32_t nr_cells, struct cell_made *made);

#endif
