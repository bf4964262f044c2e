#include "stream_fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/correlator.h"
#include "aggregator/profile/collection.h"
#include "base/array.h"

int stream_fold_init(struct stream_fold *fold, struct timeline_source *source,
		     const struct uncaptured *uncaptured, uint32_t intervals_max)
{
	const struct collection *names = timeline_source_profile(source)->collection;
	const uint32_t nr = roster_size(names->roster).processes;

	*fold = (struct stream_fold){
		.source = source,
		.is_sure = true,
		.launches_ns = UINT64_MAX,
		.totals = fold_table_create(),
		.processes = calloc(nr + 1ull, sizeof(*fold->processes)),
		.nr_processes = nr,
		.pieces = calloc(STREAM_FOLD_PIECES, sizeof(*fold->pieces)),
		.room_bytes = STREAM_FOLD_ROOM,
	};
	int error = busy_lanes_init(&fold->busy, names->roster, intervals_max);
	if (!error)
		error = nccl_names_init(&fold->nccl, names->catalog);
	if (!error)
		error = uncaptured_work_init(&fold->in_pauses, uncaptured);
	return fold->totals && fold->processes && fold->pieces ? error : -ENOMEM;
}

static void forget_rows(struct stream_fold_process *process)
{
	free(process->rows);
	process->rows = NULL;
}

void stream_fold_forget(struct stream_fold *fold)
{
	for (uint32_t i = 0; fold->processes && i < fold->nr_processes; i++)
		recent_launches_fini(&fold->processes[i].launches);
	fold->room_bytes = STREAM_FOLD_ROOM;
	fold->nr_waiting = 0;
}

static void forget_launches(struct stream_fold *fold)
{
	stream_fold_forget(fold);
	for (uint32_t i = 0; fold->processes && i < fold->nr_processes; i++)
		forget_rows(&fold->processes[i]);
	free(fold->pieces);
	fold->pieces = NULL;
	free(fold->waiting);
	fold->waiting = NULL;
	fold->nr_waiting = fold->room_waiting = 0;
}

void stream_fold_begin_cell(struct stream_fold *fold, uint64_t at_ns)
{
	for (uint32_t i = 0; i < fold->nr_processes; i++) {
		struct stream_fold_process *process = &fold->processes[i];

		forget_rows(process);
		process->nr_launches = process->nr_records = process->nr_matched = 0;
	}
	fold_table_clear(fold->totals);
	busy_lanes_begin_cell(&fold->busy, at_ns);
	fold->nr_work = fold->nr_waits = fold->nr_launchless = fold->last_ns = 0;
	fold->counts = (struct timeline_counts){0};
	fold->launches_ns = UINT64_MAX;
	fold->is_sure = true;
}

void stream_fold_fini(struct stream_fold *fold)
{
	forget_launches(fold);
	fold_table_destroy(fold->totals);
	busy_lanes_fini(&fold->busy);
	uncaptured_work_fini(&fold->in_pauses);
	nccl_names_fini(&fold->nccl);
	free(fold->processes);
	*fold = (struct stream_fold){0};
}

/* ---- work with its launch */

static struct fold_key key_of(const struct timeline_work *work, const struct recent_launch *launch)
{
	return (struct fold_key){
		.process_id = work->process_id,
		.device_id = work->device_id,
		.context_id = work->context_id,
		.stream_id = work->stream_id,
		.tid = launch ? launch->tid : 0,
		.stack_id = launch ? launch->stack_id : RECORD_STACK_NONE,
		.capture_stack_id = work->capture_stack_id,
		.name_id = work->name_id,
		.kind = work->kind,
		.copy_kind = work->copy_kind,
		.matched = launch != NULL,
	};
}

/* Returns the key's row, which is made if it is new. NULL: no memory. */
static struct fold_row *search_row(struct stream_fold *fold, const struct fold_key *key)
{
	const uint32_t hash = fold_table_hash(key);
	struct fold_row *row = fold_table_find(fold->totals, key, hash);

	return row ? row : fold_table_append(fold->totals, key, hash);
}

/* Where a row of the process may be noted. Others with the same place only cost a search. */
static uint32_t note_of(const struct fold_key *key)
{
	const uint32_t mixed = key->stack_id * 0x9e3779b1u ^ key->name_id * 0x85ebca6bu ^
			       key->stream_id * 0xc2b2ae35u ^ key->device_id * 0x27d4eb2fu ^
			       key->tid * 0x165667b1u;

	return (mixed >> 16) % STREAM_FOLD_NOTES;
}

/* A program does the same again and again, so rows are noted where they are found without a hash of the whole key. */
static struct fold_row *find_row(struct stream_fold *fold, struct stream_fold_process *process,
				 const struct fold_key *key)
{
	uint32_t *const note = &process->rows[note_of(key)];
	struct fold_row *row = *note ? fold_table_row(fold->totals, *note - 1) : NULL;

	if (row && memcmp(&row->key, key, sizeof(*key)) == 0)
		return row;
	row = search_row(fold, key);
	if (row)
		*note = 1 + (uint32_t)(row - fold_table_row(fold->totals, 0));
	return row;
}

static int make_notes(struct stream_fold_process *process)
{
	if (!process->rows)
		process->rows = calloc(STREAM_FOLD_NOTES, sizeof(*process->rows));
	return process->rows ? 0 : -ENOMEM;
}

/* Whatever the work's launch is. */
static int add_busy(struct stream_fold *fold, const struct timeline_work *work)
{
	if (uncaptured_work_add(&fold->in_pauses, work))
		return -ENOMEM;
	return busy_lanes_add(&fold->busy, work,
			      work->kind == RECORD_GPU_KERNEL &&
				      nccl_names_have(&fold->nccl, work->name_id));
}

static int add_total(struct stream_fold *fold, const struct timeline_work *work,
		     const struct fold_key *key)
{
	struct stream_fold_process *process = &fold->processes[work->process_id - 1];
	struct fold_row *row = find_row(fold, process, key);

	if (!row || fold_row_add_one(row, work->end_ns - work->start_ns, work->bytes))
		return -ENOMEM;
	process->nr_records++;
	process->nr_matched += key->matched;
	if (work->kind == RECORD_GPU_SYNC) {
		fold->nr_waits++;
	} else {
		fold->nr_work++;
		fold->nr_launchless += !key->matched;
	}
	return 0;
}

/* ---- what comes */

static const struct recent_launch *find_launch(struct stream_fold *fold,
					       const struct timeline_work *work)
{
	const struct recent_launch *launch =
		recent_launches_find(&fold->processes[work->process_id - 1].launches, work);

	if (launch && launch->time_ns < fold->launches_ns)
		fold->launches_ns = launch->time_ns;
	return launch;
}

/* Work without a launch has none, as long as that has not gone. */
static int end_waiting(struct stream_fold *fold, uint32_t nr)
{
	int error = 0;

	for (uint32_t i = 0; i < nr && !error; i++) {
		const struct timeline_work *work = &fold->waiting[i];
		struct stream_fold_process *process = &fold->processes[work->process_id - 1];
		const struct recent_launch *launch = find_launch(fold, work);
		const struct fold_key key = key_of(work, launch);
		bool is_sure = true;

		if (!launch)
			error = recent_launches_lacks(&process->launches, work, &fold->room_bytes,
						      &is_sure);
		fold->is_sure &= is_sure;
		if (!error)
			error = make_notes(process);
		if (!error)
			error = add_total(fold, work, &key);
	}
	fold->nr_waiting -= nr;
	if (fold->nr_waiting)
		memmove(fold->waiting, fold->waiting + nr,
			fold->nr_waiting * sizeof(*fold->waiting));
	return error;
}

static int wait_for_launch(struct stream_fold *fold, const struct timeline_work *work)
{
	if (fold->nr_waiting == STREAM_FOLD_WAITING) {
		const int error = end_waiting(fold, STREAM_FOLD_WAITING / 2);

		if (error)
			return error;
	}
	if (array_reserve(&fold->waiting, &fold->room_waiting, fold->nr_waiting + 1ull,
			  sizeof(*work)))
		return -ENOMEM;
	fold->waiting[fold->nr_waiting++] = *work;
	return 0;
}

static int find_launches(struct stream_fold *fold)
{
	int error = 0;

	for (uint32_t i = 0; i < fold->nr_pieces && !error; i++) {
		struct stream_fold_piece *piece = &fold->pieces[i];
		struct stream_fold_process *process = &fold->processes[piece->work.process_id - 1];
		const struct recent_launch *launch = find_launch(fold, &piece->work);

		piece->has_launch = launch != NULL;
		if (!launch) {
			error = wait_for_launch(fold, &piece->work);
			continue;
		}
		piece->key = key_of(&piece->work, launch);
		error = make_notes(process);
		if (!error)
			__builtin_prefetch(&process->rows[note_of(&piece->key)], 1);
	}
	return error;
}

static void prefetch_row(const struct stream_fold *fold, const struct stream_fold_piece *piece)
{
	const struct stream_fold_process *process = &fold->processes[piece->work.process_id - 1];
	const uint32_t note = piece->has_launch ? process->rows[note_of(&piece->key)] : 0;

	if (!note)
		return;
	/* A row may lie in two lines of the cache. */
	const struct fold_row *row = fold_table_row(fold->totals, note - 1);
	__builtin_prefetch(row, 1);
	__builtin_prefetch((const char *)(row + 1) - 1, 1);
}

static bool is_of_stream_before(const struct stream_fold_piece *piece)
{
	const struct timeline_work *work = &piece->work, *before = &piece[-1].work;

	return work->stream_id == before->stream_id && work->device_id == before->device_id &&
	       work->context_id == before->context_id && work->process_id == before->process_id;
}

static void prefetch(const struct stream_fold *fold)
{
	for (uint32_t i = 0; i < fold->nr_pieces; i++) {
		const struct stream_fold_piece *piece = &fold->pieces[i];

		prefetch_row(fold, piece);
		if (i == 0 || !is_of_stream_before(piece))
			busy_lanes_prefetch(&fold->busy, &piece->work, false);
	}
	for (uint32_t i = 0; i < fold->nr_pieces; i++)
		if (i == 0 || !is_of_stream_before(&fold->pieces[i]))
			busy_lanes_prefetch(&fold->busy, &fold->pieces[i].work, true);
}

/* Adds the pieces that have come since the last time. */
static int add_pieces(struct stream_fold *fold)
{
	int error = find_launches(fold);

	if (!error)
		prefetch(fold);
	for (uint32_t i = 0; i < fold->nr_pieces && !error; i++) {
		const struct stream_fold_piece *piece = &fold->pieces[i];

		error = add_busy(fold, &piece->work);
		if (!error && piece->has_launch)
			error = add_total(fold, &piece->work, &piece->key);
	}
	fold->nr_pieces = 0;
	return error;
}

static int take_launch(void *context, const struct timeline_launch *launch)
{
	struct stream_fold *fold = context;
	struct stream_fold_process *process = &fold->processes[launch->process_id - 1];

	const int error = fold->nr_pieces ? add_pieces(fold) : 0;

	if (error || launch->flags & RECORD_LAUNCH_MARK)
		return error;
	process->nr_launches += !(launch->flags & RECORD_LAUNCH_HOST) &&
				launch->time_ns >= fold->from_ns && launch->time_ns < fold->to_ns;
	return recent_launches_add(&process->launches, launch, &fold->room_bytes);
}

static int take_work(void *context, const struct timeline_work *work)
{
	struct stream_fold *fold = context;

	if (work->end_ns > fold->last_ns)
		fold->last_ns = work->end_ns;
	if (work->start_ns < fold->from_ns)
		return work->end_ns > fold->from_ns ? busy_lanes_note(&fold->busy, work) : 0;
	if (work->start_ns >= fold->to_ns ||
	    work->end_ns - work->start_ns > CORRELATOR_DURATION_MAX_NS)
		return 0;
	recent_launches_prefetch(&fold->processes[work->process_id - 1].launches, work);
	fold->pieces[fold->nr_pieces++].work = *work;
	return fold->nr_pieces == STREAM_FOLD_PIECES ? add_pieces(fold) : 0;
}

bool stream_fold_is_odd(const struct stream_fold *fold)
{
	bool is = false;

	for (uint32_t i = 0; i < fold->nr_processes; i++)
		is |= fold->processes[i].launches.is_odd;
	return is;
}

/* What files say of the log, the last reading knows. */
static void add_counts(struct timeline_counts *all, const struct timeline_counts *part)
{
	struct timeline_counts sum = *part;

	sum.log.blocks_read += all->log.blocks_read;
	sum.log.launches += all->log.launches;
	sum.log.records += all->log.records;
	sum.log.damaged += all->log.damaged;
	sum.log.compressed += all->log.compressed;
	sum.unknown += all->unknown;
	sum.unclocked += all->unclocked;
	sum.others += all->others;
	*all = sum;
}

int stream_fold_add(struct stream_fold *fold, const struct timeline_request *request,
		    uint64_t from_ns, uint64_t to_ns)
{
	const struct timeline_sink sink = {take_launch, take_work, fold};
	struct timeline_request own = *request;
	struct timeline_counts counts;

	own.others_ns = from_ns ? from_ns : 1;
	fold->from_ns = from_ns;
	fold->to_ns = to_ns;
	int error = timeline_source_read(fold->source, &own, &sink, &counts);
	add_counts(&fold->counts, &counts);
	if (!error)
		error = add_pieces(fold);
	if (!error)
		error = end_waiting(fold, fold->nr_waiting);
	fold->is_sure &= !stream_fold_is_odd(fold);
	return !error && !fold->is_sure ? -EAGAIN : error;
}

uint64_t stream_fold_nr_unmatched(const struct stream_fold *fold)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < fold->nr_processes; i++)
		nr += fold->processes[i].nr_records - fold->processes[i].nr_matched;
	return nr;
}

bool stream_fold_take_late(struct stream_fold *fold)
{
	bool is_late = false;

	for (uint32_t i = 0; i < fold->nr_processes; i++) {
		is_late |= fold->processes[i].launches.is_late;
		fold->processes[i].launches.is_late = false;
	}
	return is_late;
}

bool stream_fold_is_plain(const struct timeline_counts *counts)
{
	return !counts->unknown && !counts->unclocked && !counts->log.damaged &&
	       !counts->log.compressed;
}

void stream_fold_end(struct stream_fold *fold)
{
	forget_launches(fold);
	busy_lanes_close(&fold->busy);
}
