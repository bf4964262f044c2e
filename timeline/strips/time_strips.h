/* What the GPUs of a job did over the time that its event log covers, or in a part of it: a strip of bins for each
 * device, and when the steps began. A log of any length passes through bounded memory. Used by one thread. */
#ifndef TIME_STRIPS_H
#define TIME_STRIPS_H

#include "time_strip.h"

#include "timeline/trace/nccl_waits.h"
#include "timeline/trace/timeline_source.h"

/* nccl: what NCCL's kernels waited; NULL: nobody knows. events_max: pieces of work in memory at a time, where a split
 * kernel is two; 0: TIMELINE_STRETCHES_EVENTS. 0; -ENOENT: there is no log; -EFBIG: a microsecond has more events; or
 * as timeline_source_read(). Call time_strips_fini() in any case. */
int time_strips_read(struct timeline_source *source, const struct nccl_waits *nccl,
		     uint32_t events_max, struct time_strips *strips);

struct cell_bytes;
struct cell_file;

struct time_strips_part {
	const struct timeline_events *events; /* borrowed; with all that has a part in the time */
	const struct timeline_request
		*request;   /* borrowed; its ranks and processes are those of the events */
	uint64_t origin_ns; /* the first event of the log */
	uint64_t from_ns, to_ns;
	bool by_launch;
};

/* The same of a part of the time, whose bins have nothing of what lies outside. 0, -ENOMEM, or as
 * timeline_source_read(). Call time_strips_fini() in any case. */
int time_strips_make(struct timeline_source *source, const struct nccl_waits *nccl,
		     const struct time_strips_part *part, struct time_strips *strips);

struct time_strips_long {
	const struct timeline_counts *counts; /* of the part */
	/* all devices with GPU work in the part, by process and CUDA ordinal */
	const struct time_strips_used {
		uint32_t process_id, device_id;
	} * used;
	uint32_t nr_used;
	const struct cell_file *cells; /* borrowed; those of all processes; without parts: none */
};

/* The same without a list of events: part->events is not used, and the events of processes with a strip are read. Cells
 * stand for theirs, and the axis may begin before the part (strip_cells.h). Errors as time_strips_read(). */
int time_strips_read_long(struct timeline_source *source, const struct nccl_waits *nccl,
			  const struct time_strips_part *part, const struct time_strips_long *more,
			  struct time_strips *strips);

/* Appends a cell's part for that, with so many bins, which divide it evenly. Its sums are exact if those of its shares
 * are. Errors as time_strips_read(). */
int time_strips_write_cell(struct timeline_source *source, const struct nccl_waits *nccl,
			   uint64_t from_ns, uint64_t to_ns, uint32_t nr_bins,
			   struct cell_bytes *bytes);
void time_strips_fini(struct time_strips *strips);

#endif
