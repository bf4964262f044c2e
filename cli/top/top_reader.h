/* Reads a job's profile again and again for `top`: its sums, and who is late by the rules of `flamegrid watch`.
 * Single-threaded; SQLite must not have the profile open elsewhere in this process. */
#ifndef TOP_READER_H
#define TOP_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/watch/profile_follow.h"
#include "report/top/top_view.h"

struct top_reader { /* the caller sets follow's first members alone */
	struct profile_follow follow;
	struct watch_events *events; /* owns */
	struct top_sums *sums;       /* owns; of the newest reading; NULL: there was none */
	struct watch_event *late;    /* owns; those that are late now */
	uint32_t nr_late;
	char *message;     /* owns; clean, about the newest reading; NULL: none */
	bool is_written;   /* a process writes the profile */
	bool has_ended;    /* and will not write it again */
	bool is_abandoned; /* nobody closed it */
	uint64_t cost_ns;  /* CPU time of the newest reading */
	dev_t device;      /* of the store's file */
	ino_t file;
};

/* Makes a reading. wants: the streams whose kernels are read. 0: sums are there, which replace the earlier ones, or
 * message says why they are not yet; -errno: the profile cannot be read, and message says why. */
int top_reader_read(struct top_reader *reader, const struct top_wants *wants);

/* Returns whether another profile is in the place of one that has ended. */
bool top_reader_is_replaced(const struct top_reader *reader);

/* What a view shows of it; borrowed until the next reading. profile: clean. */
struct top_facts top_reader_facts(const struct top_reader *reader, const char *profile);

void top_reader_fini(struct top_reader *reader);

#endif
