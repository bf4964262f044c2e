/* A profile that is being written: the collection, the store that keeps it, and the time of the next commit. An
 * aggregator has one, or one for each job (job_table.h). Used by the aggregator's thread. */
#ifndef OPEN_PROFILE_H
#define OPEN_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock_service.h"
#include "commit_schedule.h"
#include "control_service.h"
#include "profile_agents.h"

#include "base/slow_spell.h"

struct collection;
struct node_profiles;
struct store;

#define OPEN_PROFILE_PLACE_MAX 1024u

/* A commit of this length is slow: agents wait longer for it than for two commits at their usual distance. */
#define OPEN_PROFILE_SLOW_NS (2 * COMMIT_SCHEDULE_APART_MS * 1000000ull)

struct open_profile {                  /* zeroed: not open */
	struct collection *collection; /* owns */
	struct store *store;           /* owns */
	struct node_profiles
		*nodes; /* owns; of nodes that fold their own; NULL: links are refused */
	struct clock_service clocks;
	struct control_service control;
	struct commit_schedule schedule;
	char *store_path;                   /* owns */
	uint64_t committed_ns;              /* CLOCK_MONOTONIC; 0: never */
	struct slow_spell slowness;         /* of commits */
	char place[OPEN_PROFILE_PLACE_MAX]; /* the store's place, HOST:PATH; "": not known */
};

struct open_profile_options { /* borrowed for the call, except the receiver */
	const char *store_path;
	const char *pages_path; /* of node_profiles_open(); NULL: links are refused */
	const char *title;      /* NULL: keeps the stored one */
	int32_t nr_nodes;       /* store.h */
	bool raw_samples;
	bool compact; /* store.h, as the next one */
	bool totals_as_blocks;
	uint64_t bytes_max;
	struct receiver *receiver; /* borrowed until the profile is closed */
};

/* Opens or makes the store, and loads it and the nodes' profiles. 0 or -errno; *error is set as by store_open() (NULL:
 * not wanted). Call open_profile_close() in either case. */
int open_profile_open(struct open_profile *profile, const struct open_profile_options *options,
		      char **error);
void open_profile_close(struct open_profile *profile); /* drops changes that are not committed */

struct profile_agents open_profile_agents(const struct open_profile *profile);

bool open_profile_is_due(const struct open_profile *profile, uint64_t now_ns);

/* Commits all changes, or the messages that told of them, as commit_schedule_is_whole() says. 0; -ENOMEM: the profile
 * is no longer exact; other -errno: nothing was written, and the commit is due again later. */
int open_profile_commit(struct open_profile *profile, uint64_t now_ns);

/* Saves the nodes' profiles, and notes in the store how many nodes have come: some may have sent nothing. Call it at
 * the end, when the rest is committed. 0 or -errno. */
int open_profile_save_nodes(struct open_profile *profile);

/* Notes that a commit took so long. Writes a line when commits have become slow, and one when they are fast again. */
void open_profile_note_commit(struct open_profile *profile, uint64_t took_ns, uint64_t now_ns);

#endif
