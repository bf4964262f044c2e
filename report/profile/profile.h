/* A stored profile in memory, as reports need it. Reading changes nothing and disturbs no
 * aggregator that writes. Used by one thread. */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile_totals.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_split.h"
#include "aggregator/store/store_life.h"
#include "aggregator/store/store_note.h"
#include "aggregator/store/store_timeline.h"

/* Owns all of it; callers only read. profile_each_total() gives all totals. GPU records that still wait for their
 * launch are among them as unmatched ones, so that nothing is missing while the job runs. collection.samples holds
 * all sums of host samples, and collection.clocks all comparisons of clocks (store_clocks_read()). */
struct profile {
	struct collection *collection;
	struct profile_totals totals;
	char *title;      /* NULL: none */
	char *slice;      /* which part of another profile it is (profile_slice.h); NULL: none */
	bool written;     /* a process is writing it, so more may come */
	uint64_t read_ns; /* CLOCK_REALTIME, when it was loaded */
	bool abandoned;   /* no process is writing it, and the last writer did not close it */
	int64_t nr_writers, nr_open; /* of store_life_writers() */
	int32_t nr_nodes;            /* nodes that were to take part; 0: not known */
	uint64_t waiting;            /* records that were still waiting for their launch */
	/* idle time of devices by the host's activity (idle_fold.h); device_id is the roster's; NULL: none */
	struct fold_table *idle;
	/* row of the newest sample that was kept by itself (sample_writer.h); 0: there is none */
	uint64_t raw_samples;
	uint64_t idle_left_out; /* records and samples that were not kept to explain idle time */
	struct collective_splits splits;        /* of the kernels of all calls */
	bool has_timeline;                      /* the store's id is known to its timeline */
	uint8_t timeline_id[STORE_TIMELINE_ID]; /* that id */
	struct store_note
		*notes; /* owns; what it lacks, as those that put it together have found */
	uint32_t nr_notes;
};

/* Loads the store at path. 0; -ENOENT: there is no such file, or it is empty; -EPROTO: it is not a profile, it is
 * damaged, or it has a newer schema; -EACCES, -EBUSY, -EIO, -ENOMEM. On error *profile is NULL; *error, if error is
 * not NULL, is one line with the path that the caller owns: free(). */
int profile_load(const char *path, struct profile **profile, char **error);

/* Loads what events of its timeline name, how clocks stood, and what is missing, in a part of the time: no sums, and of
 * accounts ledgers, and counts that were stored. As above. */
int profile_load_names(const char *path, struct profile **profile, char **error);
void profile_destroy(struct profile *profile); /* accepts NULL */

/* Returns whether a device is a simulated one, which has a mark in its name. */
bool profile_is_simulated(const struct profile *profile);

/* Returns whether it has a note of this kind. */
bool profile_has_note(const struct profile *profile, enum store_note_kind kind);

/* Gives each total of GPU work to take(), as long as that returns 0. A key may come several times; its total is their
 * sum. Returns what take() did; -EPROTO: the profile is damaged; or -ENOMEM. */
int profile_each_total(const struct profile *profile,
		       int (*take)(void *context, const struct fold_row *row), void *context);

#endif
