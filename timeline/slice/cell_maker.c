#include "cell_maker.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cell_part.h"
#include "stream_fold.h"

#include "aggregator/profile/collection.h"
#include "base/output_file.h"
#include "base/thread_crew.h"
#include "timeline/cells/cell_bytes.h"
#include "timeline/cells/cell_file.h"
#include "timeline/cells/cell_origin.h"
#include "timeline/cells/process_shares.h"
#include "timeline/strips/time_strips.h"
#include "timeline/trace/nccl_waits.h"

#define STRIP_BINS      (1u << 21) /* of all cells and devices at most */
#define STRIP_BINS_CELL 1024u      /* of a cell at most */

struct maker {
	struct timeline_source *source;
	struct process_shares shares;
	struct cell_file_head head;
	struct cell_file_part *parts; /* owns; by cell_format_place() */
	struct cell_bytes *bytes;     /* owns, with all data; the same */
	struct nccl_waits nccl;
	uint32_t nr_threads;
	int errors[THREAD_CREW_MOST];
	enum cell_maker_lack lacks[THREAD_CREW_MOST]; /* with -EAGAIN */
};

struct share { /* of one thread */
	struct maker *maker;
	struct cell_packer packer;
	struct timeline_source *source; /* owns */
	uint8_t *processes;             /* owns */
	bool *lack_launches;            /* owns; cells with work without a launch */
	enum cell_maker_lack lack;      /* with -EAGAIN */
	uint32_t number;
};

static int keep_cell(const struct share *share, struct stream_fold *fold, uint32_t cell,
		     uint64_t at_ns)
{
	struct maker *maker = share->maker;
	const uint32_t i = cell_format_place(&maker->head, cell, share->number);
	int error = cell_part_write(fold, at_ns, &maker->bytes[i]);

	if (!error)
		error = cell_packer_pack(&share->packer, &maker->bytes[i], &maker->parts[i]);
	maker->parts[i].launches_ns = fold->launches_ns;
	share->lack_launches[cell] = stream_fold_nr_unmatched(fold) > 0;
	return error;
}

static void leave_out(const struct share *share, uint32_t cell, uint32_t lack)
{
	struct maker *maker = share->maker;
	const uint32_t i = cell_format_place(&maker->head, cell, share->number);

	free(maker->bytes[i].data);
	maker->bytes[i] = (struct cell_bytes){0};
	maker->parts[i] = (struct cell_file_part){.plain_bytes = lack};
}

/* A launch has come behind its work, which was taken as without one in one of these cells. */
static void forget_launchless(const struct share *share, uint32_t end_cell)
{
	for (uint32_t cell = 0; cell < end_cell; cell++)
		if (share->lack_launches[cell])
			leave_out(share, cell, CELL_FORMAT_LATE);
}

static enum cell_maker_lack lack_of(const struct stream_fold *fold)
{
	const struct timeline_counts *counts = &fold->counts;

	return counts->log.damaged      ? CELL_MAKER_DAMAGED
	       : counts->log.compressed ? CELL_MAKER_NO_ZSTD
	       : counts->unclocked      ? CELL_MAKER_CLOCKS
	       : counts->unknown        ? CELL_MAKER_NAMES
					: CELL_MAKER_IDS;
}

/* A cell whose work found its launches, or surely has none in the log so far, has sums. */
static int make_cell(struct share *share, struct stream_fold *fold, uint32_t cell)
{
	const struct cell_file_head *head = &share->maker->head;
	const struct timeline_request request = {.from_ns = head->first_ns + cell * head->cell_ns,
						 .to_ns = head->first_ns +
							  (cell + 1) * head->cell_ns,
						 .processes = share->processes};

	stream_fold_begin_cell(fold, request.from_ns);
	int error = stream_fold_add(fold, &request, request.from_ns, request.to_ns);
	if (error && error != -EAGAIN)
		return error;
	if (stream_fold_is_odd(fold) || !stream_fold_is_plain(&fold->counts)) {
		share->lack = lack_of(fold);
		return -EAGAIN;
	}
	if (error)
		leave_out(share, cell, CELL_FORMAT_GONE);
	else
		error = keep_cell(share, fold, cell, request.from_ns);
	if (stream_fold_take_late(fold))
		forget_launchless(share, cell + 1);
	return error == -EAGAIN ? 0 : error;
}

static int make_cells(struct share *share, struct stream_fold *fold)
{
	int error = 0;

	for (uint32_t cell = 0; cell < share->maker->head.nr_cells && !error; cell++)
		error = make_cell(share, fold, cell);
	return error;
}

static int make_with(struct share *share, uint32_t intervals_max)
{
	struct stream_fold fold;
	int error = stream_fold_init(&fold, share->source, NULL, intervals_max);

	if (!error)
		error = make_cells(share, &fold);
	stream_fold_fini(&fold);
	return error;
}

static int make_share(struct share *share)
{
	const struct process_shares *shares = &share->maker->shares;
	const struct roster *roster = timeline_source_profile(share->source)->collection->roster;

	for (uint32_t i = 0; i < roster_size(roster).processes; i++)
		share->processes[i] = shares->of[i] == share->number;
	int error = make_with(share, STREAM_FOLD_INTERVALS);
	if (error == -ERANGE) {
		for (uint32_t cell = 0; cell < share->maker->head.nr_cells; cell++)
			leave_out(share, cell, 0);
		error = make_with(share, STREAM_TIMELINE_DEVICE_INTERVALS);
	}
	if (error != -ERANGE && error != -E2BIG)
		return error;
	share->lack = error == -ERANGE ? CELL_MAKER_DISORDER : CELL_MAKER_SIZE;
	return -EAGAIN;
}

static void make_shares(void *context, uint32_t thread)
{
	struct maker *maker = context;
	struct share share = {.maker = maker, .number = thread};
	const struct roster *roster = timeline_source_profile(maker->source)->collection->roster;
	int error = cell_packer_init(&share.packer);

	share.source = timeline_source_again(maker->source);
	share.processes = calloc(roster_size(roster).processes + 1ull, 1);
	share.lack_launches = calloc(maker->head.nr_cells, sizeof(*share.lack_launches));
	if (!error && (!share.source || !share.processes || !share.lack_launches))
		error = -ENOMEM;
	for (; share.number < maker->shares.nr && !error; share.number += maker->nr_threads)
		error = make_share(&share);
	maker->errors[thread] = error;
	maker->lacks[thread] = share.lack;
	free(share.processes);
	free(share.lack_launches);
	timeline_source_destroy(share.source);
	cell_packer_fini(&share.packer);
}

/* ---- strips */

static int keep_strips(const struct maker *maker, struct timeline_source *source,
		       const struct cell_packer *packer, uint32_t cell)
{
	const struct cell_file_head *head = &maker->head;
	const uint32_t i = cell_format_place(head, cell, head->nr_shares);
	const uint64_t from_ns = head->first_ns + cell * head->cell_ns;
	const int error =
		time_strips_write_cell(source, &maker->nccl, from_ns, from_ns + head->cell_ns,
				       head->nr_bins, &maker->bytes[i]);

	return error ? error : cell_packer_pack(packer, &maker->bytes[i], &maker->parts[i]);
}

static void make_strips(void *context, uint32_t thread)
{
	struct maker *maker = context;
	struct timeline_source *source = timeline_source_again(maker->source);
	struct cell_packer packer;
	int error = cell_packer_init(&packer);

	if (!source)
		error = -ENOMEM;
	for (uint32_t i = thread; i < maker->head.nr_cells && !error; i += maker->nr_threads)
		error = keep_strips(maker, source, &packer, i);
	maker->errors[thread] = error;
	timeline_source_destroy(source);
	cell_packer_fini(&packer);
}

/* Few devices have bins as short as a reader may want; many have longer ones. */
static uint32_t choose_bins(const struct roster *roster, uint32_t nr_cells)
{
	const struct roster_size size = roster_size(roster);
	const uint64_t known = (uint64_t)size.devices + size.hosts; /* a host may have one more */
	const uint64_t nr_devices = known < TIME_STRIPS_MOST ? known : TIME_STRIPS_MOST;
	const uint64_t nr = STRIP_BINS / (nr_devices ? nr_devices : 1) / nr_cells;

	return (uint32_t)(nr < STRIP_BINS_CELL ? nr : STRIP_BINS_CELL);
}

/* ---- all */

/* Returns how many cells are worth it. */
static int choose_cells(struct timeline_source *source, uint32_t *nr_cells)
{
	uint64_t nr_events;
	const int error = timeline_source_estimate(source, &TIMELINE_REQUEST_ALL, &nr_events);
	const uint64_t nr = nr_events / CELL_MAKER_EVENTS;

	*nr_cells = (uint32_t)(nr < CELL_FORMAT_CELLS ? nr : CELL_FORMAT_CELLS);
	return error ? error : nr < CELL_MAKER_LEAST ? -ENODATA : 0;
}

static int init(struct maker *maker, uint64_t first_ns, uint64_t last_ns, uint32_t nr_cells)
{
	const struct roster *roster = timeline_source_profile(maker->source)->collection->roster;
	const int error = process_shares_init(&maker->shares, roster);
	const uint32_t nr_bins = choose_bins(roster, nr_cells), whole = nr_bins ? nr_bins : 1;

	maker->head = (struct cell_file_head){
		.nr_shares = maker->shares.nr,
		.nr_cells = nr_cells,
		.nr_bins = nr_bins,
		.first_ns = first_ns,
		/* so that last_ns is in it */
		.cell_ns = ((last_ns - first_ns) / nr_cells / whole + 1) * whole,
		.origin = cell_origin(maker->source),
	};
	const uint32_t nr_parts = cell_format_nr_parts(&maker->head);
	maker->parts = calloc(nr_parts, sizeof(*maker->parts));
	maker->bytes = calloc(nr_parts, sizeof(*maker->bytes));
	maker->nr_threads = thread_crew_size();
	if (error || !maker->parts || !maker->bytes ||
	    nccl_waits_load(&maker->nccl, timeline_source_store(maker->source), NULL) == -ENOMEM)
		return -ENOMEM;
	return maker->head.origin ? 0 : -EBUSY;
}

static void fini(struct maker *maker)
{
	const uint32_t nr_parts = cell_format_nr_parts(&maker->head);

	for (uint32_t i = 0; maker->bytes && i < nr_parts; i++)
		free(maker->bytes[i].data);
	free(maker->bytes);
	free(maker->parts);
	process_shares_fini(&maker->shares);
	nccl_waits_fini(&maker->nccl);
}

static struct cell_made count_cells(const struct cell_file *file)
{
	struct cell_made made = {.nr_cells = file->head.nr_cells};

	for (uint32_t cell = 0; cell < file->head.nr_cells; cell++) {
		const struct cell_file_part *parts =
			&file->parts[cell_format_place(&file->head, cell, 0)];
		uint32_t lacks = 0; /* bits */

		for (uint32_t i = 0; i < file->head.nr_shares; i++)
			if (!parts[i].stored_bytes)
				lacks |= parts[i].plain_bytes;
		made.nr_empty += !cell_file_has(file, cell);
		made.nr_late += (lacks & CELL_FORMAT_LATE) != 0;
		made.nr_gone += (lacks & CELL_FORMAT_GONE) != 0;
	}
	return made;
}

static int first_error(const struct maker *maker, enum cell_maker_lack *lack)
{
	int error = 0;

	for (uint32_t i = 0; i < maker->nr_threads && !error; i++) {
		error = maker->errors[i];
		*lack = maker->lacks[i];
	}
	return error;
}

static int make_file(struct maker *maker, struct cell_made *made)
{
	struct output_file file;
	char path[PATH_MAX];
	int error = cell_file_create(&file, maker->source, path);

	if (error)
		return error;
	thread_crew_run(maker->nr_threads, make_shares, maker);
	const struct cell_file cells = {.head = maker->head, .parts = maker->parts};
	*made = count_cells(&cells);
	error = first_error(maker, &made->lack);
	if (!error && made->nr_empty == made->nr_cells)
		error = -EAGAIN; /* CELL_MAKER_CELLS */
	if (!error && maker->head.nr_bins) {
		thread_crew_run(maker->nr_threads, make_strips, maker);
		error = first_error(maker, &made->lack);
	}
	return cell_file_write(&file, maker->source, &maker->head, maker->parts, maker->bytes,
			       error);
}

/* Returns whether there are sums already. */
static int find_made(const struct timeline_source *source, struct cell_made *made, bool *is_made)
{
	struct cell_file file;
	const int error = cell_file_open(&file, source);

	*is_made = file.parts != NULL;
	if (*is_made)
		*made = count_cells(&file);
	cell_file_close(&file);
	return error;
}

int cell_maker_make(struct timeline_source *source, uint64_t first_ns, uint64_t last_ns,
		    uint32_t nr_cells, struct cell_made *made)
{
	struct maker maker = {.source = source};
	bool is_made = false;
	int error = nr_cells ? 0 : find_made(source, made, &is_made);

	if (!error && !is_made && !nr_cells)
		error = choose_cells(source, &nr_cells);
	if (error || is_made)
		return error;
	error = init(&maker, first_ns, last_ns, nr_cells);
	if (!error)
		error = make_file(&maker, made);
	fini(&maker);
	return error;
}
