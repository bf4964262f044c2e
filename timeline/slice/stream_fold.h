/* Folds the events of some processes while they are read, without a list of them: the same sums as slice_fold.h, for
 * long times. It is told if they may differ, as by clocks that are wrong or by launches that are very far from their
 * work; then all events have to be read at once. Part of the slice; one thread. */
#ifndef STREAM_FOLD_H
#define STREAM_FOLD_H

#include "busy_lanes.h"
#include "recent_launches.h"
#include "uncaptured.h"

#include "aggregator/core/fold_table.h"
#include "timeline/trace/nccl_names.h"

/* Bytes for launches of all its processes together. */
#define STREAM_FOLD_ROOM (256u << 20)

/* Pieces of work that wait for their launches at most. The first ones of more have none. */
#define STREAM_FOLD_WAITING 65536u

#define STREAM_FOLD_INTERVALS 256u /* of a timeline at first: most records are in order */

#define STREAM_FOLD_NOTES 1024u /* rows of a process that are noted */

struct stream_fold_process {
	struct recent_launches launches;
	uint64_t nr_launches, nr_records, nr_matched;
	uint32_t *rows; /* owns; STREAM_FOLD_NOTES: 1 + indexes of rows; 0: none is noted */
};

/* Pieces of work are taken together, because each waits for memory several times. */
#define STREAM_FOLD_PIECES 64u

struct stream_fold_piece {
	struct timeline_work work;
	struct fold_key key;
	bool has_launch;
};

struct stream_fold {
	struct timeline_source *source; /* borrowed */
	uint64_t from_ns, to_ns;        /* GPU work that begins in it is in the sums */
	struct fold_table *totals;      /* owns */
	struct busy_lanes busy;
	struct uncaptured_work in_pauses;
	struct stream_fold_process *processes; /* owns; [id - 1] */
	uint32_t nr_processes;
	struct stream_fold_piece *pieces; /* owns; STREAM_FOLD_PIECES */
	uint32_t nr_pieces;
	struct timeline_work *waiting; /* owns; their launches are not there so far */
	uint32_t nr_waiting, room_waiting;
	uint64_t launches_ns; /* when the first launch that was found was; UINT64_MAX: none was */
	struct nccl_names nccl;
	size_t room_bytes;
	uint64_t nr_work, nr_waits, nr_launchless; /* as those of slice_fold */
	uint64_t last_ns;                          /* the end of all work that was seen; 0: none */
	bool is_sure; /* no launch may be another one, or be missing here alone */
	struct timeline_counts counts;
};

/* source, uncaptured (NULL: all was captured): borrowed until fini. intervals_max: as that of busy_lanes_init(). 0 or
 * -ENOMEM. Call stream_fold_fini() in either case. */
int stream_fold_init(struct stream_fold *fold, struct timeline_source *source,
		     const struct uncaptured *uncaptured, uint32_t intervals_max);
void stream_fold_fini(struct stream_fold *fold);

/* Adds the work that begins in [from_ns, to_ns), of a request that begins early enough for its launches. Earlier parts
 * end at from_ns or before. Records that are no work are counted by their time, too. 0; -EAGAIN: the sums may differ
 * from those of all events; -ERANGE: records are so far out of order that more intervals are needed; -E2BIG: as
 * busy_lanes_add(); or as timeline_source_read(). After an error but -EAGAIN the sums are not whole. */
int stream_fold_add(struct stream_fold *fold, const struct timeline_request *request,
		    uint64_t from_ns, uint64_t to_ns);

/* Returns whether launches of the last part may be others for some work. */
bool stream_fold_is_odd(const struct stream_fold *fold);

/* Returns how many of its records have no launch. */
uint64_t stream_fold_nr_unmatched(const struct stream_fold *fold);

/* Returns whether a launch has come since the last time behind work that was taken as without one. */
bool stream_fold_take_late(struct stream_fold *fold);

/* Returns whether nothing was damaged or unknown: what several readers may have counted, one has to count. */
bool stream_fold_is_plain(const struct timeline_counts *counts);

/* Forgets the launches, because the next part reads its own. */
void stream_fold_forget(struct stream_fold *fold);

/* Begins anew with a cell of time, and keeps the launches, and how long earlier work runs. */
void stream_fold_begin_cell(struct stream_fold *fold, uint64_t at_ns);

/* Ends it: only the sums stay. */
void stream_fold_end(struct stream_fold *fold);

#endif
