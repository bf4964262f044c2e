/* Reads a job's profile again and again for `top`: its sums, and who is late by the rules of `flamegrid watch`. A
 * reading may take seconds, so it can be made in a thread of its own. One thread calls these functions; SQLite must not
 * have the profile open elsewhere in this process. */
#ifndef TOP_READER_H
#define TOP_READER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/watch/profile_follow.h"
#include "report/top/top_view.h"

struct top_reading {
	int status; /* 0: sums are there, or message says why they are not yet; -errno, with message */
	struct top_sums *sums;    /* owns; NULL: none could be read yet */
	struct watch_event *late; /* owns; those that are late now */
	uint32_t nr_late;
	char *message;     /* owns; clean; NULL: none */
	bool is_written;   /* a process writes the profile */
	bool has_ended;    /* and will not write it again */
	bool is_abandoned; /* nobody closed it */
	uint64_t cost_ns;  /* CPU time of it */
	dev_t device;      /* of the store's file */
	ino_t file;
};

struct top_reader {             /* zeroed, but follow's first members, which the caller sets */
	struct top_reading now; /* the newest one, which is shown */
	bool is_reading;        /* the thread runs; it owns what follows */
	struct top_reading next;
	struct top_keys wanted; /* streams whose kernels are read */
	bool wants_all;
	struct profile_follow follow;
	struct watch_events *events; /* owns */
	pthread_t thread;
	int done[2]; /* a pipe, which ends when the thread does */
};

/* Makes a reading, with the kernels of all streams, or of these alone. now is then that. */
void top_reader_read(struct top_reader *reader, const struct top_keys *wanted);

/* The same, in the thread. start(): 0 or -errno: nothing was started. done[0] is readable once it is over, and
 * finish(), which waits for that, makes now of it. */
int top_reader_start(struct top_reader *reader, const struct top_keys *wanted);
void top_reader_finish(struct top_reader *reader);

/* Returns whether another profile is in the place of one that has ended. */
bool top_reader_is_replaced(const struct top_reader *reader);

/* What a view shows of it; borrowed until now is another one. profile: clean. */
struct top_facts top_reader_facts(const struct top_reader *reader, const char *profile);

/* Waits for the thread. */
void top_reader_fini(struct top_reader *reader);

#endif
