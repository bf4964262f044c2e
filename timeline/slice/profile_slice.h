/* Writes the part of a profile that lies within a time as a profile of its own, which all verbs read. It has the GPU
 * work that began within that time, each piece as a whole. So the sums of adjacent parts add up to those of both.
 * Names, stacks, hosts, devices, processes, streams and clocks are there as well. What has no time of its own, or is
 * not kept for each moment, is not: samples, memory, calls of CUDA and of NCCL, launch configurations, losses. Used by
 * one thread. */
#ifndef PROFILE_SLICE_H
#define PROFILE_SLICE_H

#include "timeline/trace/timeline_events.h"
#include "timeline/trace/timeline_steps.h"

struct crew_fold;

/* For pages, so many events, by the heads of blocks, are folded while they are read; else all are. */
#define PROFILE_SLICE_STREAMED 200000u

struct profile_slice {
	const char *store_path; /* that source reads */
	struct timeline_source *source;
	/* the time, on the source's common clock, and the ranks */
	const struct timeline_request *request;
	/* The part is a step: it has what each process has launched within its own (timeline_steps_of(), borrowed), and
	 * the time has all of these. nr_steps 0: it is none. */
	const struct timeline_step *steps;
	uint32_t nr_steps;
	bool may_be_empty;          /* a time without GPU work is a part without rows */
	bool is_read_once;          /* it is not made ready for SQL (store_writer_end()) */
	uint64_t first_ns, last_ns; /* of all events (timeline_source_extent()) */
	/* Sees all events with a part in the time, and others, mostly in a thread of its own; it may use the source.
	 * After an error there is no part. NULL: nobody does. */
	int (*see)(void *context, const struct timeline_events *events);
	/* Does so if the time is too long for a list of its events. Its -EAGAIN: see() has to be called. */
	int (*see_fold)(void *context, const struct crew_fold *fold);
	void *context;
	const char *
		lacks; /* "INCOMPLETE: …" of the whole, which the part says, too; NULL: it is complete */
};

struct profile_slice_counts {
	uint64_t nr_work;  /* pieces of GPU work in the part */
	uint64_t nr_waits; /* of hosts for GPUs, in the part */
	uint64_t
		nr_launchless; /* those pieces of work whose launch was not kept: they have no stack */
	uint32_t nr_silent;    /* processes of which no event is there, though none was dropped */
	uint64_t
		uncaptured_ns; /* between capture windows, in the time, of all processes together */
	struct timeline_counts read;
};

/* output_path: the new store, which must not be there, nor output_path with ".new". 0; -EEXIST; -ENODATA: neither
 * GPU work nor a wait is in this time, and it may not be empty; -EPROTO: the store was written by an earlier version;
 * errors of timeline_source_read(); other -errno. On error no file is left, and *error is NULL, or one line that the
 * caller owns. */
int profile_slice_write(const struct profile_slice *slice, const char *output_path,
			struct profile_slice_counts *counts, char **error);

#endif
