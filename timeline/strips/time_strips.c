#include "time_strips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "step_before.h"
#include "strip_part.h"
#include "strip_pauses.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "base/run_sort.h"
#include "base/thread_crew.h"
#include "report/names/clean_text.h"
#include "report/profile/profile.h"
#include "report/profile/profile_totals.h"
#include "timeline/trace/capture_pauses.h"
#include "timeline/trace/nccl_names.h"
#include "timeline/trace/timeline_stretches.h"

/* The heads of blocks may be off by as much (timeline_source.c). */
#define MARGIN_NS 2000000u

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct piece { /* of GPU work; most begin in the present stretch */
	uint64_t start_ns, end_ns;
	uint8_t part;
};

struct pieces {             /* of a device: what one process launches is nearly in order */
	struct piece *list; /* owns */
	uint32_t nr, room;
	uint32_t nr_carried; /* the first ones, whose work began before the stretch */
};

struct maker {
	struct time_strips *made;
	struct timeline_source *source;
	const struct nccl_waits *nccl;
	struct strip_devices devices;
	struct nccl_names names;
	struct strip_bins *bins; /* owns; of the first TIME_STRIPS_MOST devices */
	uint8_t *have_work;      /* owns; by device: STRIP_HAS_WORK or STRIP_HAS_PAUSE */
	uint8_t *processes;      /* owns; [id - 1]: it has a strip; NULL: all may have one */
	struct pieces *pieces;   /* owns; as bins */
	struct capture_pauses pauses;
	uint32_t nr_new, pieces_max;     /* of all devices: those of the stretch */
	uint64_t from_ns, to_ns;         /* of the stretch */
	uint64_t cut_from_ns, cut_to_ns; /* what lies outside of them is cut off */
};

static int take_launch(void *context, const struct timeline_launch *launch)
{
	struct maker *maker = context;

	step_ticks_add(&maker->made->ticks, launch);
	return 0;
}

static int add_piece(struct maker *maker, uint32_t device, enum strip_part part, uint64_t start_ns,
		     uint64_t end_ns)
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
static int add_pieces(struct maker *maker, const struct timeline_work *work, uint32_t device)
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
static int take_work(void *context, const struct timeline_work *work)
{
	struct maker *maker = context;

	if (work->kind == RECORD_GPU_SYNC || work->start_ns < maker->from_ns ||
	    work->start_ns >= maker->to_ns)
		return 0;
	const uint32_t device =
		strip_devices_find(&maker->devices, work->process_id, work->device_id);

	maker->have_work[device] = STRIP_HAS_WORK;
	if (device >= TIME_STRIPS_MOST)
		return 0;
	return add_pieces(maker, work, device);
}

/* Adds those that begin in the stretch, or in the part, to all devices of their processes. */
static int add_pauses(struct maker *maker)
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
static int add_pieces_to(struct maker *maker, struct pieces *pieces, struct strip_bins *bins)
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
static int add_to_bins(struct maker *maker)
{
	int error = 0;

	for (uint32_t i = 0; i < TIME_STRIPS_MOST && !error; i++)
		error = add_pieces_to(maker, &maker->pieces[i], &maker->bins[i]);
	return error;
}

/* Forgets what a stretch that was too long has left. */
static void begin_stretch(struct maker *maker, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 0; i < TIME_STRIPS_MOST; i++)
		maker->pieces[i].nr = maker->pieces[i].nr_carried;
	maker->nr_new = 0;
	maker->from_ns = from_ns;
	maker->to_ns = to_ns;
}

static int take_stretch(void *context, uint64_t from_ns, uint64_t to_ns)
{
	struct maker *maker = context;
	const struct timeline_sink sink = {take_launch, take_work, maker};
	const struct timeline_request request = {
		.from_ns = from_ns, .to_ns = to_ns, .processes = maker->processes};
	struct timeline_counts counts;

	begin_stretch(maker, from_ns, to_ns);
	int error = timeline_source_read(maker->source, &request, &sink, &counts);
	if (error)
		return error;
	timeline_stretches_count(&maker->made->counts, &counts);
	error = add_pauses(maker);
	return error ? error : add_to_bins(maker);
}

/* Moves the bins of devices with work, or with a pause that is shown, into the strips. 0 or -ENOMEM. */
static int finish(struct maker *maker)
{
	const struct catalog *catalog = timeline_source_profile(maker->source)->collection->catalog;
	struct time_strips *made = maker->made;
	uint32_t count = 0, box = 0, size;

	for (uint32_t i = 0; i < maker->devices.nr_devices; i++) {
		count += i < TIME_STRIPS_MOST && maker->have_work[i];
		made->nr_left_out += i >= TIME_STRIPS_MOST && maker->have_work[i] & STRIP_HAS_WORK;
	}
	made->strips = calloc(count + 1ull, sizeof(*made->strips));
	if (!made->strips)
		return -ENOMEM;
	const uint64_t nr_bins = (uint64_t)count * made->axis.nr_bins;
	const uint32_t join = (uint32_t)((nr_bins + TIME_STRIPS_ALL - 1) / TIME_STRIPS_ALL);

	for (uint32_t i = 0; i < maker->devices.nr_devices && i < TIME_STRIPS_MOST; i++) {
		struct time_strip *strip = &made->strips[made->nr_strips];

		if (!maker->have_work[i])
			continue;
		if (!maker->bins[i].ns && strip_bins_init(&maker->bins[i], &made->axis))
			return -ENOMEM;
		strip_bins_end(&maker->bins[i], &made->axis);
		strip_bins_join(&maker->bins[i], &made->axis, join);
		strip->device = maker->devices.devices[i];
		strip->bins = maker->bins[i];
		maker->bins[i] = (struct strip_bins){0};
		for (; box < made->boxes.nr_boxes && made->boxes.boxes[box].device == i; box++)
			made->boxes.boxes[box].device = made->nr_strips;
		made->nr_strips++;
		const char *host = catalog_string(catalog, strip->device.node, &size);
		strip->host = clean_text_of(host, size);
		if (!strip->host)
			return -ENOMEM;
	}
	if (join > 1)
		made->axis = strip_axis_join(&made->axis, join);
	return 0;
}

/* Those with strips are known by their events. */
static int note_work(void *context, const struct fold_row *row)
{
	struct maker *maker = context;
	const uint32_t device =
		strip_devices_find(&maker->devices, row->key.process_id, row->key.device_id);

	if (row->key.kind <= RECORD_GPU_GRAPH && device >= TIME_STRIPS_MOST)
		maker->have_work[device] = STRIP_HAS_WORK;
	return 0;
}

static bool has_strip(const struct maker *maker, uint32_t process_id)
{
	const struct roster_process *process = roster_process(maker->devices.roster, process_id);
	bool has = process->nr_devices == 0;

	for (uint32_t i = 0; i < process->nr_devices && !has; i++)
		has = strip_devices_find(&maker->devices, process_id,
					 process->devices[i].device_id) < TIME_STRIPS_MOST;
	return has;
}

/* Of more devices than have strips, the events of the others' processes need not be read: sums tell which have work. */
static int choose_processes(struct maker *maker)
{
	const struct profile *profile = timeline_source_profile(maker->source);
	const uint32_t nr = roster_size(maker->devices.roster).processes;

	if (maker->devices.nr_known <= TIME_STRIPS_MOST)
		return 0;
	maker->processes = calloc(nr + 1ull, sizeof(*maker->processes));
	if (!maker->processes)
		return -ENOMEM;
	for (uint32_t id = 1; id <= nr; id++)
		maker->processes[id - 1] = has_strip(maker, id);
	return profile_totals_each(&profile->totals, profile->collection->totals, note_work, maker);
}

/* request: whose pauses are told. */
static int init(struct maker *maker, const struct timeline_request *request)
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

static void fini(struct maker *maker)
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

static uint32_t count_missing(const struct profile *profile)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->nr_notes; i++)
		count += profile->notes[i].kind == STORE_NOTE_TIMELINE;
	return count;
}

static int read_all(struct maker *maker)
{
	const struct time_strips *made = maker->made;
	int error = timeline_stretches_walk(
		made->first_ns > MARGIN_NS ? made->first_ns - MARGIN_NS : 0,
		made->end_ns < UINT64_MAX - MARGIN_NS ? made->end_ns + MARGIN_NS : UINT64_MAX,
		take_stretch, maker);

	if (error)
		return error;
	begin_stretch(maker, maker->to_ns, UINT64_MAX);
	return add_to_bins(maker);
}

/* ---- several threads */

struct share {                   /* of the devices, with the processes that use them */
	struct time_strips made; /* ticks and counts */
	struct maker maker;
	int error;
};

struct crew {
	const struct maker *whole; /* borrowed */
	struct share *shares;      /* owns */
	uint32_t nr;
};

/* Processes that use the same devices mostly have the same first one. */
static uint32_t share_of(const struct crew *crew, uint32_t process_id)
{
	const struct strip_devices *devices = &crew->whole->devices;
	const struct roster_process *process = roster_process(devices->roster, process_id);
	const uint32_t device = strip_devices_find(
		devices, process_id, process->nr_devices ? process->devices[0].device_id : 0);
	const uint32_t nr =
		devices->nr_devices < TIME_STRIPS_MOST ? devices->nr_devices : TIME_STRIPS_MOST;

	return device < nr ? (uint32_t)((uint64_t)device * crew->nr / nr) : crew->nr - 1;
}

static int choose_share(const struct crew *crew, uint32_t part, struct maker *maker)
{
	const uint32_t nr = roster_size(crew->whole->devices.roster).processes;
	const uint8_t *wanted = crew->whole->processes;

	maker->processes = calloc(nr + 1ull, 1);
	if (!maker->processes)
		return -ENOMEM;
	for (uint32_t id = 1; id <= nr; id++)
		maker->processes[id - 1] =
			(!wanted || wanted[id - 1]) && share_of(crew, id) == part;
	return 0;
}

static void read_share(void *context, uint32_t part)
{
	struct crew *crew = context;
	struct share *share = &crew->shares[part];
	const struct maker *whole = crew->whole;

	share->made = (struct time_strips){.first_ns = whole->made->first_ns,
					   .end_ns = whole->made->end_ns,
					   .axis = whole->made->axis};
	share->maker = (struct maker){.made = &share->made,
				      .source = timeline_source_again(whole->source),
				      .nccl = whole->nccl,
				      .pieces_max = whole->pieces_max / crew->nr,
				      .cut_to_ns = whole->cut_to_ns};
	share->error = share->maker.source ? init(&share->maker, &TIMELINE_REQUEST_ALL) : -ENOMEM;
	if (!share->error)
		share->error = choose_share(crew, part, &share->maker);
	if (!share->error)
		share->error = read_all(&share->maker);
}

/* Whether all is as one reader would have found it: no two shares have one device, and there is nothing that several
 * may have counted. 0; -EAGAIN: it is not, or one needs more memory than there is for several. */
static int check_shares(const struct crew *crew)
{
	bool have_work[TIME_STRIPS_MOST] = {false};

	for (uint32_t part = 0; part < crew->nr; part++) {
		const struct share *share = &crew->shares[part];
		const struct timeline_counts *counts = &share->made.counts;

		if (share->error)
			return -EAGAIN;
		if (counts->unknown || counts->unclocked || counts->log.damaged ||
		    counts->log.compressed)
			return -EAGAIN;
		for (uint32_t i = 0; i < TIME_STRIPS_MOST && i < share->maker.devices.nr_devices;
		     i++) {
			if (share->maker.have_work[i] && have_work[i])
				return -EAGAIN;
			have_work[i] |= share->maker.have_work[i];
		}
	}
	return 0;
}

static void take_share(struct maker *whole, struct share *share)
{
	const struct step_ticks *ticks = &share->made.ticks;

	for (uint32_t i = 0; i < whole->devices.nr_devices; i++)
		whole->have_work[i] |= share->maker.have_work[i];
	for (uint32_t i = 0; i < TIME_STRIPS_MOST; i++)
		if (share->maker.bins[i].ns) {
			whole->bins[i] = share->maker.bins[i];
			share->maker.bins[i] = (struct strip_bins){0};
		}
	for (uint32_t i = 0; ticks->apart && i < STEP_TICKS_MOST; i++)
		if (ticks->begins_ns[i])
			step_ticks_add(&whole->made->ticks,
				       &(struct timeline_launch){
					       .flags = RECORD_LAUNCH_MARK,
					       .mark = RECORD_MARK_STEP,
					       .correlation_id =
						       (uint32_t)(ticks->first + i * ticks->apart),
					       .time_ns = ticks->begins_ns[i]});
	timeline_stretches_count(&whole->made->counts, &share->made.counts);
}

/* 0; -EAGAIN: the maker is as it was, and one reader has to read all. */
static int read_shares(struct maker *whole, uint32_t nr_shares)
{
	struct crew crew = {
		.whole = whole, .shares = calloc(nr_shares, sizeof(*crew.shares)), .nr = nr_shares};

	if (!crew.shares)
		return -EAGAIN;
	thread_crew_run(nr_shares, read_share, &crew);
	int error = check_shares(&crew);
	for (uint32_t i = 0; i < nr_shares; i++) {
		if (!error)
			take_share(whole, &crew.shares[i]);
		timeline_source_destroy(crew.shares[i].maker.source);
		fini(&crew.shares[i].maker);
	}
	free(crew.shares);
	return error;
}

static int read_by_crew(struct maker *maker)
{
	const uint32_t size = thread_crew_size();
	const uint32_t nr = maker->devices.nr_known < size ? maker->devices.nr_known : size;

	return nr > 1 && read_shares(maker, nr) == 0 ? 0 : read_all(maker);
}

int time_strips_read(struct timeline_source *source, const struct nccl_waits *nccl,
		     uint32_t events_max, struct time_strips *strips)
{
	struct maker maker = {.made = strips,
			      .source = source,
			      .nccl = nccl,
			      .pieces_max = events_max ? events_max : TIMELINE_STRETCHES_EVENTS,
			      .cut_to_ns = UINT64_MAX};

	*strips = (struct time_strips){0};
	int error = timeline_source_extent(source, &strips->first_ns, &strips->end_ns);
	if (error)
		return error;
	strips->origin_ns = strips->first_ns;
	strips->nr_missing = count_missing(timeline_source_profile(source));
	strips->axis = strip_axis_of(strips->first_ns, strips->end_ns, TIME_STRIPS_BINS);
	error = init(&maker, &TIMELINE_REQUEST_ALL);
	if (!error)
		error = choose_processes(&maker);
	if (!error)
		error = read_by_crew(&maker);
	if (!error)
		error = finish(&maker);
	fini(&maker);
	return error;
}

/* ---- a part of the time */

static int take_part(struct maker *maker, const struct time_strips_part *part)
{
	const struct timeline_events *events = part->events;
	int error = 0;

	for (uint32_t i = 0; i < events->nr_marks; i++)
		if (events->marks[i].time_ns >= part->from_ns &&
		    events->marks[i].time_ns < part->to_ns)
			step_ticks_add(&maker->made->ticks, &events->marks[i]);
	for (uint32_t i = 0; i < events->nr_work && !error; i++)
		if (time_boxes_has_part(&events->work[i], part->from_ns, part->to_ns))
			error = take_work(maker, &events->work[i]);
	if (!error)
		error = add_pauses(maker);
	strip_pauses_show(&maker->pauses, &maker->devices, part->from_ns, part->to_ns,
			  maker->have_work);
	return error ? error : add_to_bins(maker);
}

int time_strips_make(struct timeline_source *source, const struct nccl_waits *nccl,
		     const struct time_strips_part *part, struct time_strips *strips)
{
	struct maker maker = {.made = strips,
			      .source = source,
			      .nccl = nccl,
			      .pieces_max = UINT32_MAX,
			      .cut_from_ns = part->from_ns,
			      .cut_to_ns = part->to_ns};

	*strips = (struct time_strips){.origin_ns = part->origin_ns,
				       .first_ns = part->from_ns,
				       .end_ns = part->to_ns,
				       .is_part = true,
				       .by_launch = part->by_launch,
				       .counts = part->events->counts};
	if (part->from_ns >= part->to_ns)
		return 0;
	strips->nr_missing = count_missing(timeline_source_profile(source));
	strips->axis = strip_axis_of(strips->first_ns, strips->end_ns, TIME_STRIPS_BINS);
	int error = init(&maker, part->request);
	if (!error)
		begin_stretch(&maker, 0, UINT64_MAX);
	if (!error)
		error = take_part(&maker, part);
	if (!error)
		error = step_before_add(source, part->events, part->origin_ns, part->from_ns,
					&strips->ticks);
	if (!error)
		error = time_boxes_init(&strips->boxes, part->events, part->from_ns, part->to_ns,
					&maker.devices, TIME_STRIPS_MOST, &maker.names, nccl);
	if (!error)
		error = finish(&maker);
	fini(&maker);
	return error;
}

void time_strips_fini(struct time_strips *strips)
{
	for (uint32_t i = 0; i < strips->nr_strips; i++) {
		free(strips->strips[i].host);
		strip_bins_fini(&strips->strips[i].bins);
	}
	free(strips->strips);
	time_boxes_fini(&strips->boxes);
	*strips = (struct time_strips){0};
}
