#include "crew_fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cell_part.h"

#include "aggregator/profile/collection.h"
#include "timeline/trace/timeline_events.h"

#define RUNS_MOST    16u /* of cells: events from before each are read for their launches */
#define DAMAGED_MOST 8u  /* cells; with more of them none is used */

static void fini_shares(struct crew_fold *fold)
{
	for (uint32_t i = 0; i < fold->nr; i++) {
		struct crew_fold_share *share = &fold->shares[i];

		stream_fold_fini(&share->fold);
		free(share->processes);
		if (i)
			timeline_source_destroy(share->source);
		*share = (struct crew_fold_share){0};
	}
}

static void close_cells(struct crew_fold *fold)
{
	cell_file_close(&fold->cells);
	free(fold->left_out);
	fold->left_out = NULL;
}

void crew_fold_fini(struct crew_fold *fold)
{
	fini_shares(fold);
	process_shares_fini(&fold->divided);
	close_cells(fold);
	*fold = (struct crew_fold){0};
}

/* ---- shares */

/* A group of processes is read by one thread. */
static uint32_t thread_of(const struct crew_fold *fold, uint32_t group)
{
	return group * fold->nr / fold->divided.nr;
}

static void choose_processes(const struct crew_fold *fold)
{
	const struct roster *roster = timeline_source_profile(fold->source)->collection->roster;
	const uint8_t *wanted = fold->request->processes;

	for (uint32_t i = 0; i < roster_size(roster).processes; i++)
		fold->shares[thread_of(fold, fold->divided.of[i])].processes[i] =
			wanted ? wanted[i] : 1;
}

static int init_shares(struct crew_fold *fold)
{
	const struct roster *roster = timeline_source_profile(fold->source)->collection->roster;

	for (uint32_t i = 0; i < fold->nr; i++) {
		struct crew_fold_share *share = &fold->shares[i];

		share->source = i ? timeline_source_again(fold->source) : fold->source;
		share->bad_cell = UINT32_MAX;
		share->processes = calloc(roster_size(roster).processes + 1ull, 1);
		if (!share->source || !share->processes)
			return -ENOMEM;
	}
	choose_processes(fold);
	return 0;
}

/* ---- events and cells */

/* Finds where the launches of the share's work begin. Returns false if that is not known of all cells with a part in
 * [from_ns, to_ns). */
static bool find_launches(const struct crew_fold *fold, const struct crew_fold_share *share,
			  uint64_t from_ns, uint64_t to_ns, uint64_t *launches_ns)
{
	const struct cell_file *cells = &fold->cells;
	const uint32_t thread = (uint32_t)(share - fold->shares);

	*launches_ns = from_ns;
	if (!cells->parts)
		return false;
	for (uint32_t cell = cell_file_of(cells, from_ns);
	     cell < cells->head.nr_cells && cell_file_at(cells, cell) < to_ns; cell++) {
		if (!cell_file_has(cells, cell))
			return false;
		for (uint32_t group = 0; group < fold->divided.nr; group++) {
			const uint64_t ns =
				cells->parts[cell_format_place(&cells->head, cell, group)]
					.launches_ns;

			if (thread_of(fold, group) == thread && ns < *launches_ns)
				*launches_ns = ns;
		}
	}
	return true;
}

/* Adds the work that begins in [from_ns, to_ns). is_last: no cell comes behind it. */
static int add_part(const struct crew_fold *fold, struct crew_fold_share *share, uint64_t from_ns,
		    uint64_t to_ns, bool is_last)
{
	const uint64_t nr_unmatched = stream_fold_nr_unmatched(&share->fold);
	const uint64_t nr_launchless = share->fold.nr_launchless;
	struct timeline_request request = *fold->request;
	uint64_t launches_ns;
	const bool is_known = find_launches(fold, share, from_ns, to_ns, &launches_ns);

	request.processes = share->processes;
	request.from_ns = from_ns > fold->reach_ns ? from_ns - fold->reach_ns : 0;
	if (is_known)
		request.from_ns = launches_ns;
	request.to_ns = to_ns;
	stream_fold_forget(&share->fold);
	const int error = stream_fold_add(&share->fold, &request, from_ns, to_ns);
	if (stream_fold_take_late(&share->fold) && !error)
		return -EAGAIN;
	if (error || is_known)
		return error;
	share->nr_unsure += share->fold.nr_launchless - nr_launchless;
	/* A launch may come behind its work, and so be among the events that are not read. */
	return is_last || stream_fold_nr_unmatched(&share->fold) == nr_unmatched ? 0 : -EAGAIN;
}

static int add_group(const struct crew_fold *fold, struct crew_fold_share *share, uint32_t group,
		     uint32_t begin, uint32_t end, struct cell_reader *reader)
{
	struct cell_part_rows rows = {0};
	const uint8_t *data;
	size_t size;
	int error = 0;

	for (uint32_t cell = begin; cell < end && !error; cell++) {
		error = cell_reader_part(reader, cell, group, &data, &size);
		if (!error)
			error = cell_part_add(&share->fold, data, size,
					      cell_file_at(&fold->cells, cell),
					      cell_file_at(&fold->cells, cell + 1),
					      share->processes, &rows, &share->stale_ns);
		if (error)
			share->bad_cell = cell;
	}
	cell_part_rows_fini(&rows);
	return error;
}

static int add_cells(const struct crew_fold *fold, struct crew_fold_share *share, uint32_t begin,
		     uint32_t end)
{
	const uint32_t thread = (uint32_t)(share - fold->shares);
	struct cell_reader reader;
	int error = cell_reader_init(&reader, &fold->cells);

	for (uint32_t group = 0; group < fold->divided.nr && !error; group++)
		if (thread_of(fold, group) == thread)
			error = add_group(fold, share, group, begin, end, &reader);
	cell_reader_fini(&reader);
	share->nr_cells += end - begin;
	return error;
}

/* Returns the first cell that does not begin before a time. */
static uint32_t cell_behind(const struct cell_file *cells, uint64_t at_ns)
{
	const uint32_t cell = cell_file_of(cells, at_ns);

	return cell < cells->head.nr_cells && cell_file_at(cells, cell) < at_ns ? cell + 1 : cell;
}

/* Finds the next run of cells with sums that are used, from a time on. Returns false if there is none. */
static bool find_run(const struct crew_fold *fold, uint64_t at_ns, uint32_t *begin, uint32_t *end)
{
	const struct cell_file *cells = &fold->cells;

	if (!cells->parts)
		return false;
	*begin = *end = cell_behind(cells, at_ns);
	while (*end < cells->head.nr_cells &&
	       cell_file_at(cells, *end + 1) <= fold->request->to_ns) {
		const bool is_used = cell_file_has(cells, *end) && !fold->left_out[*end];

		if (!is_used && *end - *begin >= fold->least_run)
			return true;
		++*end;
		if (!is_used)
			*begin = *end;
	}
	return *end - *begin >= fold->least_run;
}

/* The events before each run of cells, the cells, and the events behind them, which may be none: what files say of the
 * log is read then, too. */
static int add_all(const struct crew_fold *fold, struct crew_fold_share *share)
{
	uint64_t at_ns = fold->request->from_ns;
	uint32_t begin, end;
	int error = 0;

	while (!error && find_run(fold, at_ns, &begin, &end)) {
		const uint64_t begin_ns = cell_file_at(&fold->cells, begin);

		if (at_ns < begin_ns)
			error = add_part(fold, share, at_ns, begin_ns, false);
		if (!error)
			error = add_cells(fold, share, begin, end);
		at_ns = cell_file_at(&fold->cells, end);
	}
	return error ? error : add_part(fold, share, at_ns, fold->request->to_ns, true);
}

static int read_with(const struct crew_fold *fold, struct crew_fold_share *share,
		     uint32_t intervals_max)
{
	share->nr_unsure = share->nr_cells = 0;
	int error = stream_fold_init(&share->fold, share->source, fold->uncaptured, intervals_max);

	if (!error)
		error = add_all(fold, share);
	stream_fold_end(&share->fold);
	return error == -E2BIG ? -EAGAIN : error;
}

/* Most records are in order. Of others the first few tell it. */
static void read_share(void *context, uint32_t part)
{
	const struct crew_fold *fold = context;
	struct crew_fold_share *share = &((struct crew_fold *)context)->shares[part];

	share->error = read_with(fold, share, STREAM_FOLD_INTERVALS);
	if (share->error == -ERANGE) {
		stream_fold_fini(&share->fold);
		share->error = read_with(fold, share, STREAM_TIMELINE_DEVICE_INTERVALS);
	}
	if (share->error == -ERANGE)
		share->error = -EAGAIN;
}

/* 0, or the first error. -EAGAIN is no reason if other shares have another. */
static int sum_up(struct crew_fold *fold)
{
	int error = 0;

	fold->counts = fold->shares[0].fold.counts;
	fold->nr_cells = fold->shares[0].nr_cells;
	fold->nr_work = fold->nr_waits = fold->nr_launchless = fold->last_ns = 0;
	for (uint32_t i = 0; i < fold->nr; i++) {
		const struct crew_fold_share *share = &fold->shares[i];
		const struct timeline_counts *counts = &share->fold.counts;

		if (!error || error == -EAGAIN)
			error = share->error ? share->error : error;
		if (!error && !stream_fold_is_plain(counts))
			error = -EAGAIN;
		fold->nr_work += share->fold.nr_work;
		fold->nr_waits += share->fold.nr_waits;
		fold->nr_launchless += share->fold.nr_launchless;
		if (share->fold.last_ns > fold->last_ns)
			fold->last_ns = share->fold.last_ns;
		if (i) {
			fold->counts.others += counts->others;
			fold->counts.log.launches += counts->log.launches;
			fold->counts.log.records += counts->log.records;
		}
	}
	return error;
}

static int read_all(struct crew_fold *fold, uint32_t nr)
{
	fold->nr = nr;
	const int error = init_shares(fold);

	if (error)
		return error;
	thread_crew_run(fold->nr, read_share, fold);
	return sum_up(fold);
}

/* Sums of cells are those of all processes, and of work that was captured. */
static bool takes_cells(const struct crew_fold *fold)
{
	const struct uncaptured *uncaptured = fold->uncaptured;

	return !fold->request->ranks && !fold->request->processes &&
	       (!uncaptured || !uncaptured->processes.nr_pauses);
}

static int open_cells(struct crew_fold *fold)
{
	const struct timeline_request *request = fold->request;
	struct cell_file *cells = &fold->cells;
	const int error = cell_file_open(cells, fold->source);

	if (error || !cells->parts)
		return error;
	if (cells->head.nr_shares != fold->divided.nr) {
		cell_file_close(cells);
		return 0;
	}
	fold->left_out = calloc(cells->head.nr_cells, sizeof(*fold->left_out));
	if (!fold->left_out)
		return -ENOMEM;
	const uint32_t begin = cell_behind(cells, request->from_ns);
	const uint32_t end = cell_file_of(cells, request->to_ns);

	fold->least_run = begin < end ? (end - begin) / RUNS_MOST : 0;
	if (!fold->least_run)
		fold->least_run = 1;
	return 0;
}

/* Without cells that cannot be used. Damaged ones are not. Nor are cells into which work from before the time runs: it
 * began in the time in the cell's sums, and here it did not. */
static void leave_out_cells(struct crew_fold *fold)
{
	bool is_any = false;

	for (uint32_t i = 0; i < fold->nr; i++) {
		const struct crew_fold_share *share = &fold->shares[i];

		if (share->bad_cell == UINT32_MAX)
			continue;
		fold->nr_damaged += share->error != -ESTALE;
		fold->left_out[share->bad_cell] = is_any = true;
		for (uint32_t cell = share->bad_cell + 1;
		     share->error == -ESTALE && cell < fold->cells.head.nr_cells &&
		     cell_file_at(&fold->cells, cell) < share->stale_ns;
		     cell++)
			fold->left_out[cell] = true;
	}
	if (!is_any || fold->nr_damaged > DAMAGED_MOST)
		close_cells(fold);
}

static bool is_of_cells(int error)
{
	return error == -ESTALE || error == -EPROTO || error == -EAGAIN;
}

static uint64_t count_unsure(const struct crew_fold *fold)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < fold->nr; i++)
		nr += fold->shares[i].nr_unsure;
	return nr;
}

int crew_fold_read(struct crew_fold *fold, struct timeline_source *source,
		   const struct timeline_request *request, const struct uncaptured *uncaptured,
		   uint64_t first_ns)
{
	const struct roster *roster = timeline_source_profile(source)->collection->roster;
	const uint32_t size = thread_crew_size();

	*fold = (struct crew_fold){.source = source,
				   .request = request,
				   .uncaptured = uncaptured,
				   .reach_ns = TIMELINE_EVENTS_REACH_NS};
	int error = process_shares_init(&fold->divided, roster);
	if (!error && takes_cells(fold))
		error = open_cells(fold);
	while (!error) {
		error = read_all(fold, size < fold->divided.nr ? size : fold->divided.nr);
		const bool is_all = request->from_ns <= first_ns ||
				    request->from_ns - first_ns <= fold->reach_ns;

		if (fold->cells.parts && is_of_cells(error))
			leave_out_cells(fold);
		else if (error || is_all || !count_unsure(fold))
			break;
		else
			fold->reach_ns *= TIMELINE_EVENTS_REACH_FACTOR;
		fini_shares(fold);
		error = 0;
	}
	return error;
}

/* ---- what comes of it */

/* Puts the rows of a share in order of their processes. order: room for all. 0 or -ENOMEM. */
static int order_rows(const struct fold_row *rows, uint32_t nr, uint32_t nr_processes,
		      uint32_t *order)
{
	uint32_t *places = calloc(nr_processes + 2ull, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		places[rows[i].key.process_id + 1]++;
	for (uint32_t id = 1; id <= nr_processes + 1; id++)
		places[id] += places[id - 1];
	for (uint32_t i = 0; i < nr; i++)
		order[places[rows[i].key.process_id]++] = i;
	free(places);
	return 0;
}

struct ordered {                     /* of a share */
	const struct fold_row *rows; /* borrowed */
	uint32_t *order;             /* owns */
	uint32_t nr, at;
};

/* Each process is in one share. */
static int join_rows(struct fold_table *totals, struct ordered *shares, uint32_t nr_shares,
		     uint32_t nr_processes)
{
	int error = 0;

	for (uint32_t id = 1; id <= nr_processes; id++)
		for (uint32_t i = 0; i < nr_shares; i++) {
			struct ordered *share = &shares[i];

			while (!error && share->at < share->nr &&
			       share->rows[share->order[share->at]].key.process_id == id)
				error = fold_table_join(totals,
							&share->rows[share->order[share->at++]]);
		}
	return error;
}

static int put_rows(const struct crew_fold *fold, struct fold_table *totals)
{
	const uint32_t nr_processes = fold->shares[0].fold.nr_processes;
	struct ordered shares[THREAD_CREW_MOST] = {0};
	int error = 0;

	for (uint32_t i = 0; i < fold->nr && !error; i++) {
		struct ordered *share = &shares[i];

		share->rows = fold_table_rows(fold->shares[i].fold.totals, &share->nr);
		share->order = calloc(share->nr + 1ull, sizeof(*share->order));
		error = share->order
				? order_rows(share->rows, share->nr, nr_processes, share->order)
				: -ENOMEM;
	}
	if (!error)
		error = join_rows(totals, shares, fold->nr, nr_processes);
	for (uint32_t i = 0; i < fold->nr; i++)
		free(shares[i].order);
	return error;
}

static void put_counts(const struct stream_fold *fold, const struct roster *roster)
{
	for (uint32_t id = 1; id <= fold->nr_processes; id++) {
		const struct stream_fold_process *from = &fold->processes[id - 1];
		struct roster_process *process = roster_process(roster, id);

		if (!process || (!from->nr_launches && !from->nr_records))
			continue;
		process->changed = true;
		process->counts.launches += from->nr_launches;
		process->counts.records += from->nr_records;
		process->counts.matched += from->nr_matched;
		process->counts.unmatched += from->nr_records - from->nr_matched;
	}
}

int crew_fold_put(struct crew_fold *fold, struct collection *collection)
{
	int error = put_rows(fold, collection->totals);

	for (uint32_t i = 0; i < fold->nr && !error; i++) {
		put_counts(&fold->shares[i].fold, collection->roster);
		error = busy_lanes_put(&fold->shares[i].fold.busy, collection->timelines);
	}
	return error;
}

uint64_t crew_fold_pauses_busy_ns(const struct crew_fold *fold, const struct timeline_key *key)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < fold->nr; i++)
		ns += uncaptured_work_busy_ns(&fold->shares[i].fold.in_pauses, key);
	return ns;
}

void crew_fold_devices(const struct crew_fold *fold,
		       void (*take)(void *context, uint32_t process_id, uint32_t device_id),
		       void *context)
{
	for (uint32_t i = 0; i < fold->nr; i++) {
		const struct busy_lanes *busy = &fold->shares[i].fold.busy;

		for (uint32_t id = 1; id <= busy->nr_processes; id++)
			for (uint32_t k = 0; k < busy->processes[id - 1].nr_devices; k++)
				take(context, id, busy->processes[id - 1].devices[k].device_id);
	}
}
