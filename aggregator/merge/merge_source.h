/* What a merge reads. Plain data. */
#ifndef MERGE_SOURCE_H
#define MERGE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct database;

enum merge_part {
	MERGE_PART_NAMES, /* what store_loader_load_names() reads, epochs and meta */
	MERGE_PART_ROWS,  /* all but strings and stacks */
	MERGE_PART_ALL,
};

/* A profile to merge: the store at this path, or what open() opens. */
struct merge_source {
	const char *path; /* for messages, too; what open() opens may have any name */
	/* NULL, or opens a store of this version's schema, or a part of one; a profile may be opened several times.
	 * 0 or -errno. On error *error, which the caller of profile_merge() owns, is one line with the name. */
	int (*open)(void *context, enum merge_part part, struct database **database, char **error);
	void *context;
	const uint8_t *writer;      /* its only one, STORE_WRITER_SIZE bytes; NULL: not known */
	uint32_t nr_pages, nr_lost; /* of its pages: those that are there, and damaged ones */
	uint64_t nr_lost_records;   /* known to be on these; 0: none, or not known */
	bool *is_left_out;          /* becomes true if the source is; NULL: nobody asks */
	/* the store whose timeline it is, by its path (timeline/log/event_place.h); NULL: the timeline is not wanted */
	const char *timeline_of;
	/* Becomes the path of the timeline's folder, which the caller owns (free()); NULL: there is none. timeline
	 * NULL: nobody asks. */
	char **timeline;
};

#endif
