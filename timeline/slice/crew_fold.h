/* Folds the events of a long time by several threads, each those of other processes. Where sums of cells of time are
 * kept (cell_file.h), only events at the time's ends, and of cells without sums, are read. Memory is bounded by what
 * the sums need. Part of the slice; used by one thread. */
#ifndef CREW_FOLD_H
#define CREW_FOLD_H

#include "stream_fold.h"

#include "base/thread_crew.h"
#include "timeline/cells/cell_file.h"
#include "timeline/cells/process_shares.h"

struct collection;

struct crew_fold_share {
	struct stream_fold fold;
	struct timeline_source *source; /* owns, but that of the first share */
	uint8_t *processes;             /* owns; of the request */
	uint64_t nr_unsure; /* pieces of work whose launch may be before what was read */
	uint32_t nr_cells;  /* as that of all */
	uint32_t bad_cell;  /* which the error is of; UINT32_MAX: of none */
	uint64_t stale_ns;  /* of -ESTALE: cells that begin before cannot be used either */
	int error;
};

struct crew_fold {
	struct timeline_source *source;         /* borrowed */
	const struct timeline_request *request; /* borrowed */
	const struct uncaptured *uncaptured;    /* borrowed; NULL: all was captured */
	uint64_t reach_ns;                      /* how far before the time launches were read */
	struct process_shares divided;          /* owns */
	struct cell_file cells;
	bool *left_out;      /* owns; by cell: those whose events are read */
	uint32_t nr_damaged; /* of these */
	uint32_t least_run;  /* so many cells are worth it */
	uint32_t nr_cells;   /* in place of whose events sums were added */
	struct crew_fold_share shares[THREAD_CREW_MOST];
	uint32_t nr;
	uint64_t nr_work, nr_waits, nr_launchless, last_ns; /* as those of stream_fold */
	struct timeline_counts counts;
};

/* Folds the GPU work that begins in the request's time. source, request and uncaptured (NULL: all was
 * captured) are borrowed until fini. first_ns: of all events. 0; -EAGAIN: one reader has to read all events
 * (stream_fold.h), or something is damaged; or as timeline_source_read(). Call crew_fold_fini() in any case. */
int crew_fold_read(struct crew_fold *fold, struct timeline_source *source,
		   const struct timeline_request *request, const struct uncaptured *uncaptured,
		   uint64_t first_ns);
void crew_fold_fini(struct crew_fold *fold);

/* Moves the sums into a collection that has the profile's names and no sums. Rows come in the order of their processes,
 * whatever the number of threads. 0 or -ENOMEM. */
int crew_fold_put(struct crew_fold *fold, struct collection *collection);

/* Returns the busy time within pauses, as uncaptured_work_busy_ns(). */
uint64_t crew_fold_pauses_busy_ns(const struct crew_fold *fold, const struct timeline_key *key);

/* Gives each device with GPU work that has a part in the time, by process and CUDA ordinal. */
void crew_fold_devices(const struct crew_fold *fold,
		       void (*take)(void *context, uint32_t process_id, uint32_t device_id),
		       void *context);

#endif
