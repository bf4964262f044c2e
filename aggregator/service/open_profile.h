/* A profile that is being written: the collection, the store that keeps it, and the time of the next commit. An
 * aggregator has one, or one for each job (job_table.h). One thread at a time uses it: the aggregator's, or, while it
 * is away, a worker (profile_turn.h). */
#ifndef OPEN_PROFILE_H
#define OPEN_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock_service.h"
#include "control_service.h"
#include "profile_agents.h"

#include "aggregator/metrics/metrics_board.h"
#include "aggregator/store/commit_schedule.h"
#include "aggregator/workers/frame_queue.h"
#include "aggregator/workers/page_room.h"
#include "aggregator/workers/worker_pool.h"
#include "base/slow_spell.h"
#include "timeline/log/event_log.h"

struct collection;
struct node_profiles;
struct store;

#define OPEN_PROFILE_PLACE_MAX 1024u

/* A commit of this length is slow: agents wait longer for it than for two commits at their usual distance. */
#define OPEN_PROFILE_SLOW_NS (2 * COMMIT_SCHEDULE_APART_MS * 1000000ull)

/* One turn of a worker with a profile (profile_turn.h). */
struct profile_turn {
	struct worker_task task; /* first */
	struct open_profile *profile;
	void *owner; /* of task.done() */
	/* What to do, in this order. */
	struct held_frame *frames; /* owns the list; each has its outcome afterwards */
	bool commits;              /* commit what is due then */
	bool forced;               /* commit in any case */
	bool wholly;               /* commit everything that is not in the store's tables */
	bool rests;                /* commit wholly what is behind, and let the store rest */
	bool saves;                /* save the nodes' profiles, as at the end */
	uint32_t commit_interval_ms;
	/* What came of it. */
	int error;                  /* -ENOMEM: the profile is no longer exact */
	bool committed;             /* a commit was tried */
	bool had_failed;            /* the one before had failed */
	int commit_error;           /* -errno of open_profile_commit() */
	int save_error;             /* -errno of open_profile_save_nodes() */
	bool is_gone;               /* with `saves`: the store was deleted or moved */
	uint64_t took_ns;           /* by the commit */
	uint64_t launches, records; /* in applied messages */
};

struct open_profile {                  /* zeroed: not open */
	struct collection *collection; /* owns */
	struct store *store;           /* owns */
	struct event_log *events;      /* owns; NULL: none is wanted */
	struct node_profiles
		*nodes; /* owns; of nodes that fold their own; NULL: links are refused */
	struct clock_service clocks;
	struct control_service control;
	struct commit_schedule schedule;
	char *store_path;                   /* owns */
	uint64_t committed_ns;              /* CLOCK_MONOTONIC; 0: never */
	struct slow_spell slowness;         /* of commits */
	char place[OPEN_PROFILE_PLACE_MAX]; /* the store's place, HOST:PATH; "": not known */
	const char *said_place;             /* in its place for agents; borrowed; NULL: none */
	struct page_share pages;            /* that its nodes' profiles take */
	struct board_profile metrics;

	/* The aggregator's thread has the rest, also while the profile is away. */
	bool away;                 /* a worker has it, or it is not open yet */
	bool rests;                /* its store does, or is not open yet */
	struct frame_queue frames; /* that wait for it */
	struct profile_turn turn;
	bool end_given;       /* the turn at the aggregator's end */
	bool save_wanted;     /* the next turn is to save the nodes' profiles */
	bool saved;           /* the last turn saved them, and no frame has come since */
	struct profile_seen { /* its agents, as they were when it was last here */
		uint64_t links, open, heard, ranks_ns;
	} seen;
};

struct open_profile_options { /* borrowed for the call, except the receiver and the room */
	const char *store_path;
	const char *pages_path; /* of node_profiles_open(); NULL: links are refused */
	const char *title;      /* NULL: keeps the stored one */
	int32_t nr_nodes;       /* store.h */
	bool raw_samples;
	bool compact; /* store.h, as the next one */
	bool totals_as_blocks;
	uint64_t bytes_max;
	struct event_log_options timeline;
	struct metrics_board *board; /* borrowed until the profile is closed; NULL: no metrics */
	struct page_room
		*page_room; /* borrowed until the profile is closed; NULL: pages are not bounded */
	const char *page_user;     /* with it: whose part of the room they take */
	struct receiver *receiver; /* borrowed until the profile is closed */
};

/* Opens or makes the store of a zeroed profile, and loads it and the nodes' profiles. 0 or -errno; *error is set as by
 * store_open() (NULL: not wanted). Call open_profile_close() in either case. */
int open_profile_open(struct open_profile *profile, const struct open_profile_options *options,
		      char **error);
/* Drops changes that are not committed. The fields of the aggregator's thread stay as they are, as in open. */
void open_profile_close(struct open_profile *profile);

/* Returns whether open_profile_save_nodes() has anything to do. */
bool open_profile_has_nodes(const struct open_profile *profile);

struct profile_agents open_profile_agents(const struct open_profile *profile);

bool open_profile_is_due(const struct open_profile *profile, uint64_t now_ns);

/* Commits all changes, or the messages that told of them, as commit_schedule.h says. 0; -ENOMEM: the profile
 * is no longer exact; other -errno: nothing was written, and the commit is due again later. */
int open_profile_commit(struct open_profile *profile, uint64_t now_ns);

/* Saves the nodes' profiles, and notes in the store how many nodes have come: some may have sent nothing. Call it at
 * the end, when the rest is committed. 0 or -errno. */
int open_profile_save_nodes(struct open_profile *profile);

/* Notes that a commit took so long. Writes a line when commits have become slow, and one when they are fast again. */
void open_profile_note_commit(struct open_profile *profile, uint64_t took_ns, uint64_t now_ns);

#endif
