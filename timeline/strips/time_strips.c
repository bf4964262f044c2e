#include "time_strips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "step_before.h"
#include "strip_cells.h"
#include "strip_crew.h"
#include "strip_maker.h"
#include "strip_pauses.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "report/names/clean_text.h"
#include "report/profile/profile.h"
#include "report/profile/profile_totals.h"
#include "timeline/cells/cell_file.h"
#include "timeline/trace/timeline_stretches.h"

/* Moves the bins of devices with work, or with a pause that is shown, into the strips. 0 or -ENOMEM. */
static int finish(struct strip_maker *maker)
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
	struct strip_maker *maker = context;
	const uint32_t device =
		strip_devices_find(&maker->devices, row->key.process_id, row->key.device_id);

	if (row->key.kind <= RECORD_GPU_GRAPH && device >= TIME_STRIPS_MOST)
		maker->have_work[device] = STRIP_HAS_WORK;
	return 0;
}

static bool has_strip(const struct strip_maker *maker, uint32_t process_id)
{
	const struct roster_process *process = roster_process(maker->devices.roster, process_id);
	bool has = process->nr_devices == 0;

	for (uint32_t i = 0; i < process->nr_devices && !has; i++)
		has = strip_devices_find(&maker->devices, process_id,
					 process->devices[i].device_id) < TIME_STRIPS_MOST;
	return has;
}

/* Of more devices than have strips, the events of the others' processes need not be read: sums tell which have work. */
static int choose_processes(struct strip_maker *maker)
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

static uint32_t count_missing(const struct profile *profile)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->nr_notes; i++)
		count += profile->notes[i].kind == STORE_NOTE_TIMELINE;
	return count;
}

int time_strips_read(struct timeline_source *source, const struct nccl_waits *nccl,
		     uint32_t events_max, struct time_strips *strips)
{
	struct strip_maker maker = {.made = strips,
				    .source = source,
				    .nccl = nccl,
				    .pieces_max =
					    events_max ? events_max : TIMELINE_STRETCHES_EVENTS,
				    .cut_to_ns = UINT64_MAX};

	*strips = (struct time_strips){0};
	int error = timeline_source_extent(source, &strips->first_ns, &strips->end_ns);
	if (error)
		return error;
	strips->origin_ns = strips->first_ns;
	strips->nr_missing = count_missing(timeline_source_profile(source));
	strips->axis = strip_axis_of(strips->first_ns, strips->end_ns, TIME_STRIPS_BINS);
	error = strip_maker_init(&maker, &TIMELINE_REQUEST_ALL);
	if (!error)
		error = choose_processes(&maker);
	if (!error)
		error = strip_crew_read(&maker);
	if (!error)
		error = finish(&maker);
	strip_maker_fini(&maker);
	return error;
}

/* ---- a part of the time */

static int take_part(struct strip_maker *maker, const struct time_strips_part *part)
{
	const struct timeline_events *events = part->events;
	int error = 0;

	for (uint32_t i = 0; i < events->nr_marks; i++)
		if (events->marks[i].time_ns >= part->from_ns &&
		    events->marks[i].time_ns < part->to_ns)
			step_ticks_add(&maker->made->ticks, &events->marks[i]);
	for (uint32_t i = 0; i < events->nr_work && !error; i++)
		if (time_boxes_has_part(&events->work[i], part->from_ns, part->to_ns))
			error = strip_maker_take(maker, &events->work[i]);
	if (!error)
		error = strip_maker_pause(maker);
	strip_pauses_show(&maker->pauses, &maker->devices, part->from_ns, part->to_ns,
			  maker->have_work);
	return error ? error : strip_maker_put(maker);
}

static void begin_part(const struct time_strips_part *part, const struct timeline_counts *counts,
		       struct time_strips *strips)
{
	*strips = (struct time_strips){.origin_ns = part->origin_ns,
				       .first_ns = part->from_ns,
				       .end_ns = part->to_ns,
				       .is_part = true,
				       .by_launch = part->by_launch,
				       .counts = *counts};
	strips->axis = strip_axis_of(strips->first_ns, strips->end_ns, TIME_STRIPS_BINS);
}

int time_strips_make(struct timeline_source *source, const struct nccl_waits *nccl,
		     const struct time_strips_part *part, struct time_strips *strips)
{
	struct strip_maker maker = {.made = strips,
				    .source = source,
				    .nccl = nccl,
				    .pieces_max = UINT32_MAX,
				    .cut_from_ns = part->from_ns,
				    .cut_to_ns = part->to_ns};

	begin_part(part, &part->events->counts, strips);
	if (part->from_ns >= part->to_ns)
		return 0;
	strips->nr_missing = count_missing(timeline_source_profile(source));
	int error = strip_maker_init(&maker, part->request);
	if (!error)
		strip_maker_begin(&maker, 0, UINT64_MAX);
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
	strip_maker_fini(&maker);
	return error;
}

/* Of the processes that the request wants, those that may have a strip are read. Others' devices are known. */
static int choose_of_part(struct strip_maker *maker, const struct timeline_request *request,
			  const struct time_strips_long *part)
{
	const uint32_t nr = roster_size(maker->devices.roster).processes;
	const bool are_many = maker->devices.nr_known > TIME_STRIPS_MOST;

	maker->processes = calloc(nr + 1ull, 1);
	if (!maker->processes)
		return -ENOMEM;
	for (uint32_t id = 1; id <= nr; id++)
		maker->processes[id - 1] = timeline_source_wants(maker->source, request, id) &&
					   (!are_many || has_strip(maker, id));
	for (uint32_t i = 0; i < part->nr_used; i++) {
		const uint32_t device = strip_devices_find(
			&maker->devices, part->used[i].process_id, part->used[i].device_id);

		if (device >= TIME_STRIPS_MOST)
			maker->have_work[device] = STRIP_HAS_WORK;
	}
	return 0;
}

/* Returns whether there are cells for a part of the events. */
static bool choose_cells(struct strip_maker *maker, const struct cell_file *file,
			 struct strip_cells *cells)
{
	const struct time_strips *made = maker->made;
	const uint32_t nr = maker->devices.nr_known;
	struct strip_axis axis;

	if (!strip_cells_find(cells, file, made->first_ns, made->end_ns,
			      nr < TIME_STRIPS_MOST ? nr : TIME_STRIPS_MOST, &axis))
		return false;
	maker->made->axis = axis;
	maker->known_from_ns = cell_file_at(file, cells->begin);
	maker->known_to_ns = cell_file_at(file, cells->end);
	return true;
}

static int read_long(struct strip_maker *maker, const struct time_strips_part *part,
		     const struct time_strips_long *more, const struct cell_file *file)
{
	static const struct timeline_events none;
	struct strip_cells cells;
	int error = strip_maker_init(maker, part->request);

	if (!error)
		error = choose_of_part(maker, part->request, more);
	const bool has_cells = !error && choose_cells(maker, file, &cells);
	if (!error)
		error = strip_crew_read(maker);
	if (!error && has_cells)
		error = strip_cells_add(maker, &cells);
	if (!error)
		strip_pauses_show(&maker->pauses, &maker->devices, part->from_ns, part->to_ns,
				  maker->have_work);
	if (!error)
		error = step_before_add(maker->source, &none, part->origin_ns, part->from_ns,
					&maker->made->ticks);
	return error ? error : finish(maker);
}

int time_strips_read_long(struct timeline_source *source, const struct nccl_waits *nccl,
			  const struct time_strips_part *part, const struct time_strips_long *more,
			  struct time_strips *strips)
{
	static const struct cell_file no_cells;
	const struct cell_file *file = more->cells;
	int error;

	/* Damaged cells are not used. */
	for (;; file = &no_cells) {
		struct strip_maker maker = {.made = strips,
					    .source = source,
					    .nccl = nccl,
					    .pieces_max = TIMELINE_STRETCHES_EVENTS};

		begin_part(part, more->counts, strips);
		if (part->from_ns >= part->to_ns)
			return 0;
		strips->nr_missing = count_missing(timeline_source_profile(source));
		strips->boxes.are_too_many = true;
		error = read_long(&maker, part, more, file);
		strip_maker_fini(&maker);
		if (error != -EPROTO || file == &no_cells)
			break;
		time_strips_fini(strips);
	}
	return error;
}

int time_strips_write_cell(struct timeline_source *source, const struct nccl_waits *nccl,
			   uint64_t from_ns, uint64_t to_ns, uint32_t nr_bins,
			   struct cell_bytes *bytes)
{
	struct time_strips strips = {.first_ns = from_ns,
				     .end_ns = to_ns,
				     .is_part = true,
				     .axis = {from_ns, (to_ns - from_ns) / nr_bins, nr_bins}};
	struct strip_maker maker = {.made = &strips,
				    .source = source,
				    .nccl = nccl,
				    .pieces_max = TIMELINE_STRETCHES_EVENTS};
	int error = strip_maker_init(&maker, &TIMELINE_REQUEST_ALL);

	if (!error)
		error = choose_of_part(&maker, &TIMELINE_REQUEST_ALL,
				       &(struct time_strips_long){0});
	if (!error)
		error = strip_maker_read(&maker);
	for (uint32_t i = 0; i < TIME_STRIPS_MOST && !error; i++)
		if (maker.bins[i].ns)
			strip_bins_end(&maker.bins[i], &strips.axis);
	if (!error)
		error = strip_cells_write(&maker, bytes);
	strip_maker_fini(&maker);
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
