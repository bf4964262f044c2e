/* The aggregator's metrics, from the threads that have its profiles to those that serve them. Profiles join, and their
 * sums are taken now and then; the aggregator publishes snapshots of all; readers write the last one as text. Any
 * thread may call what does not say otherwise. Nobody waits for longer than the sums are added. */
#ifndef METRICS_BOARD_H
#define METRICS_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator_counts.h"
#include "metrics_sums.h"

#include "aggregator/store/store_waits.h"

/* From one look at a profile to the next, and from one snapshot to the next. A look takes time for each stream. */
#define METRICS_BOARD_APART_NS 1000000000u

struct board_sums;
struct collection;
struct idle_reasons;
struct metrics_board;
struct page_set;
struct page_sums;
struct metrics_text;
struct store;

/* A profile's place. Zeroed: it has joined no board, and the calls below do nothing. Only the thread that has the
 * profile calls them. */
struct board_profile {
	struct metrics_board *board; /* borrowed until it leaves */
	struct board_sums *sums;     /* the board's; of the last look */
	struct store_waits waits;    /* owns */
	struct idle_reasons *idle;   /* owns; NULL: no memory for them */
	struct page_sums *pages;     /* owns; NULL: no node folds */
	uint64_t looked_ns;          /* CLOCK_MONOTONIC */
	bool changed;                /* since then */
};

/* NULL: out of memory. destroy() accepts NULL; by then all profiles have left, and nobody writes any more. */
struct metrics_board *metrics_board_create(void);
void metrics_board_destroy(struct metrics_board *board);

/* board may be NULL, and the store, here and below: then NCCL's waits and reasons of idle time are not known. pages: of
 * nodes that fold their own events, borrowed until the profile leaves; NULL: there are none. Without memory the profile
 * joins none. */
void metrics_board_join(struct metrics_board *board, struct board_profile *profile,
			const struct collection *collection, struct store *store,
			const struct page_set *pages, uint64_t now_ns);

/* Returns whether the profile has changed, and the last look at it was long enough ago. */
bool metrics_board_wants(const struct board_profile *profile, uint64_t now_ns);

/* Looks at the profile if it has changed. Without memory for it the next look tries again. */
void metrics_board_look(struct board_profile *profile, const struct collection *collection,
			struct store *store, uint64_t now_ns);

/* Looks for the last time, and keeps the sums with those of other profiles that have left: so counters do not fall when
 * a job is complete. Without memory for that look those of the one before stay. */
void metrics_board_leave(struct board_profile *profile, const struct collection *collection,
			 struct store *store);

/* Publishes a snapshot if the last one is old enough. Without memory for it the last one stays. Only the aggregator's
 * thread calls both. board may be NULL: false. */
bool metrics_board_is_due(const struct metrics_board *board, uint64_t now_ns);
void metrics_board_publish(struct metrics_board *board, const struct aggregator_counts *counts,
			   uint64_t now_ns);

/* Writes all families of the last snapshot; metrics_write_fn of metrics_endpoint.h. */
void metrics_board_write(void *board, struct metrics_text *text);

#endif
