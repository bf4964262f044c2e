#include "metrics_board.h"

#include <pthread.h>
#include <stdlib.h>

#include "idle_reasons.h"
#include "page_sums.h"

#include "aggregator/store/store.h"
#include "base/clock.h"
#include "metrics/metrics_losses.h"
#include "metrics/metrics_text.h"

struct snapshot {
	uint32_t nr_users; /* of which the board is one; guarded by its lock */
	struct aggregator_counts counts;
	struct metrics_sums sums;
};

/* Of a profile that has joined. Where there was no memory to add them to the others, also of one that has left. */
struct board_sums {
	struct board_sums *next, **at;
	struct metrics_sums sums;
};

struct metrics_board {
	pthread_mutex_t lock;        /* guards all but published_ns */
	struct board_sums *profiles; /* owns */
	struct metrics_sums left;    /* of profiles that have left */
	struct snapshot *current;    /* owns; never changes; NULL: none yet */
	uint64_t published_ns;       /* 0: never */
};

static const struct metrics_family launches = {
	"flamegrid_launches", METRICS_COUNTER, NULL,
	"Launches of GPU work that came, without those that failed."};
static const struct metrics_family lost = {
	"flamegrid_lost_records", METRICS_COUNTER, NULL,
	"Launches, GPU records and samples that are missing in profiles, by reason."};

struct metrics_board *metrics_board_create(void)
{
	struct metrics_board *board = calloc(1, sizeof(*board));

	if (board)
		pthread_mutex_init(&board->lock, NULL);
	return board;
}

static void free_snapshot(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	metrics_sums_fini(&snapshot->sums);
	free(snapshot);
}

static void remove_sums(struct board_sums *sums)
{
	*sums->at = sums->next;
	if (sums->next)
		sums->next->at = sums->at;
	metrics_sums_fini(&sums->sums);
	free(sums);
}

void metrics_board_destroy(struct metrics_board *board)
{
	if (!board)
		return;
	while (board->profiles)
		remove_sums(board->profiles);
	free_snapshot(board->current);
	metrics_sums_fini(&board->left);
	pthread_mutex_destroy(&board->lock);
	free(board);
}

static void drop(struct metrics_board *board, struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	pthread_mutex_lock(&board->lock);
	const bool is_last = --snapshot->nr_users == 0;

	pthread_mutex_unlock(&board->lock);
	if (is_last)
		free_snapshot(snapshot);
}

/* ---- profiles */

void metrics_board_join(struct metrics_board *board, struct board_profile *profile,
			const struct collection *collection, struct store *store,
			const struct page_set *pages, uint64_t now_ns)
{
	struct board_sums *sums = board ? calloc(1, sizeof(*sums)) : NULL;

	if (!sums)
		return;
	*profile = (struct board_profile){.board = board,
					  .sums = sums,
					  .idle = idle_reasons_create(),
					  .pages = pages ? page_sums_create(pages) : NULL,
					  .changed = true};
	pthread_mutex_lock(&board->lock);
	sums->next = board->profiles;
	sums->at = &board->profiles;
	if (sums->next)
		sums->next->at = &sums->next;
	board->profiles = sums;
	pthread_mutex_unlock(&board->lock);
	metrics_board_look(profile, collection, store, now_ns);
}

bool metrics_board_wants(const struct board_profile *profile, uint64_t now_ns)
{
	return profile->board && profile->changed &&
	       now_ns - profile->looked_ns >= METRICS_BOARD_APART_NS;
}

/* *is_behind: nodes have newer pages. 0 or -ENOMEM. */
static int take_sums(struct board_profile *profile, const struct collection *collection,
		     bool is_last, struct metrics_sums *sums, bool *is_behind)
{
	int error = metrics_sums_take(sums, collection, &profile->waits, profile->idle);

	*is_behind = false;
	if (!error && profile->pages)
		error = page_sums_add(profile->pages, profile->looked_ns, is_last, sums, is_behind);
	if (error)
		metrics_sums_fini(sums);
	else
		metrics_sums_raise(sums, &profile->sums->sums);
	return error;
}

/* What cannot be read counts as before. */
static void read_store(struct board_profile *profile, const struct collection *collection,
		       struct store *store, bool is_last)
{
	struct database *database = store_database(store);

	store_read_waits(store, &profile->waits);
	if (database && profile->idle)
		idle_reasons_look(profile->idle, database, collection, is_last);
}

static void look(struct board_profile *profile, const struct collection *collection,
		 struct store *store, bool is_last)
{
	struct metrics_board *board = profile->board;
	struct metrics_sums sums, former;

	if (store)
		read_store(profile, collection, store, is_last);
	if (take_sums(profile, collection, is_last, &sums, &profile->changed)) {
		profile->changed = true;
		return;
	}
	pthread_mutex_lock(&board->lock);
	former = profile->sums->sums;
	profile->sums->sums = sums;
	pthread_mutex_unlock(&board->lock);
	metrics_sums_fini(&former);
}

void metrics_board_look(struct board_profile *profile, const struct collection *collection,
			struct store *store, uint64_t now_ns)
{
	if (!profile->board || !profile->changed)
		return;
	profile->looked_ns = now_ns;
	look(profile, collection, store, false);
}

/* 0 or -ENOMEM: nothing has changed. */
static int add_left(struct metrics_board *board, const struct metrics_sums *sums)
{
	struct metrics_sums both = {0};
	int error = metrics_sums_add(&both, &board->left);

	if (!error)
		error = metrics_sums_add(&both, sums);
	metrics_sums_fini(error ? &both : &board->left);
	if (!error)
		board->left = both;
	return error;
}

void metrics_board_leave(struct board_profile *profile, const struct collection *collection,
			 struct store *store)
{
	struct metrics_board *board = profile->board;

	if (!board)
		return;
	look(profile, collection, store, true);
	pthread_mutex_lock(&board->lock);
	if (!add_left(board, &profile->sums->sums))
		remove_sums(profile->sums);
	pthread_mutex_unlock(&board->lock);
	store_waits_fini(&profile->waits);
	idle_reasons_destroy(profile->idle);
	page_sums_destroy(profile->pages);
	*profile = (struct board_profile){0};
}

/* ---- snapshots */

bool metrics_board_is_due(const struct metrics_board *board, uint64_t now_ns)
{
	return board &&
	       (!board->published_ns || now_ns - board->published_ns >= METRICS_BOARD_APART_NS);
}

static int add_all(struct metrics_board *board, struct metrics_sums *sums)
{
	pthread_mutex_lock(&board->lock);
	int error = metrics_sums_add(sums, &board->left);

	for (struct board_sums *profile = board->profiles; profile && !error;
	     profile = profile->next)
		error = metrics_sums_add(sums, &profile->sums);
	pthread_mutex_unlock(&board->lock);
	return error;
}

void metrics_board_publish(struct metrics_board *board, const struct aggregator_counts *counts,
			   uint64_t now_ns)
{
	struct snapshot *next = calloc(1, sizeof(*next)), *former;

	if (!next || add_all(board, &next->sums)) {
		free_snapshot(next);
		return;
	}
	next->nr_users = 1;
	next->counts = *counts;
	board->published_ns = now_ns;
	pthread_mutex_lock(&board->lock);
	former = board->current;
	board->current = next;
	pthread_mutex_unlock(&board->lock);
	drop(board, former);
}

static void write_sums(const struct metrics_sums *sums, struct metrics_text *text)
{
	metrics_text_one(text, &launches, sums->launches);
	metrics_losses_write(text, &lost, sums->lost);
	device_totals_write(&sums->devices, text);
}

void metrics_board_write(void *context, struct metrics_text *text)
{
	struct metrics_board *board = context;
	struct snapshot *snapshot;

	pthread_mutex_lock(&board->lock);
	snapshot = board->current;
	if (snapshot)
		snapshot->nr_users++;
	pthread_mutex_unlock(&board->lock);
	if (!snapshot)
		return;
	write_sums(&snapshot->sums, text);
	aggregator_counts_write(&snapshot->counts, clock_now_ns(), text);
	drop(board, snapshot);
}
