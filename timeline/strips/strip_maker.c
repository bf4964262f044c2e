#include "strip_maker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "strip_part.h"
#include "strip_pauses.h"

#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "base/run_sort.h"
#include "report/profile/profile.h"
#include "timeline/trace/timeline_stretches.h"

/* The heads of blocks may be off by as much (timeline_source.c). */
#define MARGIN_NS 2000000u

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int take_launch(void *context, const struct timeline_launch *launch)
{
	struct strip_maker *maker = context;

	step_ticks_add(&maker->made->ticks, launch);
	return 0;
}

static int add_piece(struct strip_maker *maker, uint32_t device, enum strip_part part,
		     uint64_t start_ns, uint64_t end_ns)
{
	struct pieces *pieces = &maker->pieces[device];

	start_ns = start_ns > maker->cut_from_ns ? start_ns : maker->cut_from_ns;
	end_ns = end_ns < maker->cut_to_ns ? end_ns : maker->cut_to_ns;
	if (start_ns >= end_ns)
		return 0;
	if (maker->nr_new >= maker->pieces_max)
		return -EFBIG;
	if (array_reserve(&pieces->list, &pieces->room, pieces->nr + 1ull, sizeof(*pieces->list)))
		return -ENOMEM;
	pieces->list[pieces->nr++] = (struct piece){start_ns, end_ns, (uint8_t)part};
	maker->nr_new++;
	return 0;
}

/* One piece, or two of a kernel of NCCL that waited first. */
static int add_pieces(struct strip_maker *maker, const struct timeline_work *work, uint32_t device)
{
	uint64_t wait_ns;
	const enum strip_part part = strip_part_of(&maker->names, maker->nccl, work, &wait_ns);
	const uint64_t start_ns = work->start_ns;
	int error =
		wait_ns ? add_piece(maker, device, STRIP_NCCL_WAITS, start_ns, start_ns + wait_ns)
			: 0;

	return error ? error : add_piece(maker, device, part, start_ns + wait_ns, work->end_ns);
}

/* What began before has been taken with an earlier stretch. */
int strip_maker_take(void *context, const struct timeline_work *work)
{
	struct strip_maker *maker = context;

	if (work->kind == RECORD_GPU_SYNC || work->start_ns < maker->from_ns ||
	    work->start_ns >= maker->to_ns ||
	    !time_boxes_has_part(work, maker->cut_from_ns, maker->cut_to_ns))
		return 0;
	const uint32_t device =
		strip_devices_find(&maker->devices, work->process_id, work->device_id);

	maker->have_work[device] = STRIP_HAS_WORK;
	if (device >= TIME_STRIPS_MOST)
		return 0;
	return add_pieces(maker, work, device);
}

/* Adds those that begin in the stretch, or in the part, to all devices of their processes. */
int strip_maker_pause(struct strip_maker *maker)
{
	int error = 0;

	for (uint32_t i = 0; i < maker->pauses.nr_pauses && !error; i++) {
		const struct capture_pause *pause = &maker->pauses.pauses[i];
		const struct roster_process *process =
			roster_process(maker->devices.roster, pause->process_id);

		if (pause->begin_ns < maker->from_ns || pause->begin_ns >= maker->to_ns)
			continue;
		for (uint32_t k = 0; k < process->nr_devices && !error; k++) {
			const uint32_t device = strip_devices_find(
				&maker->devices, pause->process_id, process->devices[k].device_id);

			if (device < TIME_STRIPS_MOST)
				error = add_piece(maker, device, STRIP_PAUSES, pause->begin_ns,
						  pause->end_ns);
		}
	}
	return error;
}

static int by_start(const void *a, const void *b)
{
	const struct piece *left = a, *right = b;

	return COMPARE(left->start_ns, right->start_ns);
}

/* Adds a device's pieces that begin in the stretch. */
static int add_pieces_to(struct strip_maker *maker, struct pieces *pieces, struct strip_bins *bins)
{
	uint32_t nr = 0;

	if (run_sort(pieces->list, pieces->nr, sizeof(*pieces->list), by_start))
		return -ENOMEM;
	for (; nr < pieces->nr && pieces->list[nr].start_ns < maker->to_ns; nr++) {
		const struct piece *piece = &pieces->list[nr];

		if (!bins->ns && strip_bins_init(bins, &maker->made->axis))
			return -ENOMEM;
		strip_bins_add(bins, &maker->made->axis, (enum strip_part)piece->part,
			       piece->start_ns, piece->end_ns);
	}
	pieces->nr_carried = pieces->nr - nr;
	if (nr && pieces->nr_carried)
		memmove(pieces->list, pieces->list + nr,
			pieces->nr_carried * sizeof(*pieces->list));
	return 0;
}

/* NCCL's kernels may wait until behind the stretch: their moves are carried on. */
int strip_maker_put(struct strip_maker *maker)
{
	int error = 0;

	for (uint32_t i = 0; i < TIME_STRIPS_MOST && !error; i++)
		error = add_pieces_to(maker, &maker->pieces[i], &maker->bins[i]);
	return error;
}

/* Forgets what a stretch that was too long has left. */
void strip_maker_begin(struct strip_maker *maker, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 0; i < TIME_STRIPS_MOST; i++)
		maker->pieces[i].nr = maker->pieces[i].nr_carried;
	maker->nr_new = 0;
	maker->from_ns = from_ns;
	maker->to_ns = to_ns;
}

static int take_stretch(void *context, uint64_t from_ns, uint64_t to_ns)
{
	struct strip_maker *maker = context;
	const struct timeline_sink sink = {take_launch, strip_maker_take, maker};
	const struct timeline_request request = {
		.from_ns = from_ns, .to_ns = to_ns, .processes = maker->processes};
	struct timeline_counts counts;

	/* A part has what began before it, too. */
	strip_maker_begin(maker, from_ns <= maker->cut_from_ns ? 0 : from_ns, to_ns);
	int error = timeline_source_read(maker->source, &request, &sink, &counts);
	if (error)
		return error;
	timeline_stretches_count(&maker->made->counts, &counts);
	error = strip_maker_pause(maker);
	return error ? error : strip_maker_put(maker);
}

int strip_maker_init(struct strip_maker *maker, const struct timeline_request *request)
{
	const struct profile *profile = timeline_source_profile(maker->source);
	int error = strip_devices_init(&maker->devices, profile);

	if (!error)
		error = nccl_names_init(&maker->names, profile->collection->catalog);
	if (!error)
		error = capture_pauses_read(&maker->pauses, maker->source, request);
	maker->bins = calloc(TIME_STRIPS_MOST, sizeof(*maker->bins));
	maker->pieces = calloc(TIME_STRIPS_MOST, sizeof(*maker->pieces));
	maker->have_work = calloc(maker->devices.nr_devices + 1ull, 1);
	return maker->bins && maker->pieces && maker->have_work ? error : -ENOMEM;
}

void strip_maker_fini(struct strip_maker *maker)
{
	for (uint32_t i = 0; maker->bins && i < TIME_STRIPS_MOST; i++)
		strip_bins_fini(&maker->bins[i]);
	free(maker->bins);
	for (uint32_t i = 0; maker->pieces && i < TIME_STRIPS_MOST; i++)
		free(maker->pieces[i].list);
	free(maker->pieces);
	free(maker->have_work);
	free(maker->processes);
	nccl_names_fini(&maker->names);
	capture_pauses_fini(&maker->pauses);
	strip_devices_fini(&maker->devices);
}

static int read_between(struct strip_maker *maker, uint64_t from_ns, uint64_t to_ns)
{
	const int error = timeline_stretches_walk(from_ns, to_ns, take_stretch, maker);

	if (error)
		return error;
	strip_maker_begin(maker, maker->to_ns, UINT64_MAX);
	return strip_maker_put(maker);
}

static int read_part(struct strip_maker *maker, uint64_t from_ns, uint64_t to_ns)
{
	maker->cut_from_ns = from_ns;
	maker->cut_to_ns = to_ns;
	return from_ns < to_ns ? read_between(maker, from_ns, to_ns) : 0;
}

int strip_maker_read(struct strip_maker *maker)
{
	const struct time_strips *made = maker->made;
	int error;

	if (!made->is_part)
		return read_between(maker,
				    made->first_ns > MARGIN_NS ? made->first_ns - MARGIN_NS : 0,
				    made->end_ns < UINT64_MAX - MARGIN_NS ? made->end_ns + MARGIN_NS
									  : UINT64_MAX);
	if (!maker->known_to_ns)
		return read_part(maker, made->first_ns, made->end_ns);
	error = read_part(maker, made->first_ns, maker->known_from_ns);
	return error ? error : read_part(maker, maker->known_to_ns, made->end_ns);
}
