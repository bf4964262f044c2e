/* Carries the timelines of merged profiles along (timeline/log/event_format.h), with the merged profile's ids. What
 * several copies of one profile have comes once. Part of profile_merge; single-threaded. */
#ifndef MERGE_TIMELINE_H
#define MERGE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "merge_map.h"
#include "merge_source.h"

struct database;
struct event_log;

struct merge_timeline {        /* zeroed: none yet */
	struct event_log *log; /* owns */
	uint64_t nr_events;    /* that are not written yet */
};

/* Finds the folder of the source's timeline for *source->timeline. *is_missing: its timeline is wanted, and its store
 * has the id of one, but there is no folder. 0; -ENOMEM, -ENAMETOOLONG, or the database's error. */
int merge_timeline_look(const struct merge_source *source, struct database *database,
			bool *is_missing);

/* Adds the source's timeline, if there is one that its store knows (store_timeline.h), to the one beside merged_path.
 * Damaged parts are left out, with a warning. map: without the processes that another copy has. 0; -ESTALE: the
 * folder that was there is gone; or -errno. */
int merge_timeline_add(struct merge_timeline *timeline, struct database *merged,
		       const char *merged_path, struct database *database,
		       const struct merge_source *source, const struct merge_map *map);

/* Ends the writing. */
void merge_timeline_close(struct merge_timeline *timeline);

/* Gives the timeline beside one path to a store at another one, where there is none. Without a timeline it does
 * nothing. 0 or -errno. */
int merge_timeline_move(const char *from_path, const char *to_path);

/* Removes the timeline beside a path, if there is one. */
void merge_timeline_remove(const char *path);

#endif
