/* The files of which a profile consists while it is written, or when its writer was lost: its store, and further stores
 * beside it, each with the profiles of nodes that came to it (page_set.h). Together they are one profile.
 *
 *     STORE               the job's first aggregator wrote it
 *     STORE.nodes         the profiles of nodes that came to that aggregator
 *     STORE.part-NAME     a later aggregator's, or the profile of a node that found none at its end
 *     STORE.part-NAME.nodes
 *
 * Each store may have a timeline, in the folder of event_place.h. A node whose profile comes as pages brings its own.
 *
 * Single-threaded. */
#ifndef PROFILE_PARTS_H
#define PROFILE_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "aggregator/pages/page_set.h"
#include "timeline/log/event_place.h"

#define PROFILE_PARTS_NODES PAGE_SET_SUFFIX
#define PROFILE_PARTS_PART  EVENT_PLACE_PART

#define PROFILE_PARTS_DAMAGED ".damaged-"
#define PROFILE_PARTS_MERGED  ".whole" /* a merged store that is not in place yet */

struct profile_part {
	char *path;           /* owns; of its store */
	char *nodes_path;     /* owns */
	struct page_set *set; /* owns; NULL: there is no file of nodes, or it was not read */
	bool has_store;
	bool is_store_damaged;  /* so that it was not merged */
	bool are_nodes_damaged; /* the file, or something in it */
	/* the folders of the timelines that were merged: the store's, and those of the nodes */
	char *timeline;         /* owns; NULL: none */
	char **nodes_timelines; /* owns, and each; NULL: none */
	uint32_t nr_nodes_timelines;
	struct stat store, nodes; /* what was found; zeroed: nothing */
};

struct profile_parts {
	struct profile_part
		*parts; /* owns; the first one is the given store's, also where that is missing */
	uint32_t nr_parts, room;
};

/* Finds the parts of the profile with this store. 0 or -errno; on error *error is one line, which the caller owns
 * (free()). Call profile_parts_fini() in either case. */
int profile_parts_find(struct profile_parts *parts, const char *store_path, char **error);

/* Forgets a part other than the first, before they are read. */
void profile_parts_leave_out(struct profile_parts *parts, uint32_t number);

/* Reads the files of nodes, as far as they are sound. 0 or -errno, with *error as above. */
int profile_parts_load(struct profile_parts *parts, char **error);

/* Whether there is more than the one store. */
bool profile_parts_are_several(const struct profile_parts *parts);

/* Merges them to a store at merged_path, which must not exist. has_timelines: with the timelines, beside it. 0 or
 * -errno, with *error as above (profile_merge.h). */
int profile_parts_merge(struct profile_parts *parts, const char *merged_path, bool has_timelines,
			char **error);

/* Puts the merged store, which has the timelines, in the place of all parts. Damaged ones get names
 * that are no part's (PROFILE_PARTS_DAMAGED). Another process may do the same, or write a part: what is not the
 * file that was found stays. A kill at any time leaves each record in one of the files at least; what comes twice
 * counts once (profile_merge.h). 0 or -errno. */
int profile_parts_replace(struct profile_parts *parts, const char *merged_path);

/* Removes a merged store that a killed process has not put in place, and its timeline. first_path: of the first store.
 */
void profile_parts_forget(const char *merged_path, const char *first_path);

void profile_parts_fini(struct profile_parts *parts);

#endif
