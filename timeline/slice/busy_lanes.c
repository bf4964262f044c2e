#include "busy_lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

int busy_lanes_init(struct busy_lanes *lanes, const struct roster *roster, uint32_t intervals_max)
{
	const struct roster_size size = roster_size(roster);

	*lanes = (struct busy_lanes){
		.roster = roster,
		.intervals_max = intervals_max,
		.processes = calloc(size.processes + 1ull, sizeof(*lanes->processes)),
		.timelines = calloc(size.devices + 1ull, sizeof(*lanes->timelines)),
		.users = calloc(size.devices + 1ull, sizeof(*lanes->users)),
		.nr_processes = size.processes,
		.nr_devices = size.devices,
	};
	if (!lanes->processes || !lanes->timelines || !lanes->users)
		return -ENOMEM;
	for (uint32_t id = 1; id <= size.processes; id++) {
		const struct roster_process *process = roster_process(roster, id);

		for (uint32_t i = 0; i < process->nr_devices; i++)
			if (process->devices[i].device - 1 < size.devices)
				lanes->users[process->devices[i].device - 1]++;
	}
	return 0;
}

static void fini_process(struct busy_process *process)
{
	for (uint32_t i = 0; i < process->nr_streams; i++)
		stream_timeline_destroy(process->streams[i].timeline);
	for (uint32_t i = 0; i < process->nr_devices; i++) {
		stream_timeline_destroy(process->devices[i].work);
		stream_timeline_destroy(process->devices[i].computation);
		stream_timeline_destroy(process->devices[i].communication);
		stream_timeline_destroy(process->devices[i].kernels);
	}
	free(process->streams);
	free(process->devices);
}

void busy_lanes_fini(struct busy_lanes *lanes)
{
	for (uint32_t i = 0; lanes->processes && i < lanes->nr_processes; i++)
		fini_process(&lanes->processes[i]);
	for (uint32_t i = 0; lanes->timelines && i < lanes->nr_devices; i++)
		stream_timeline_destroy(lanes->timelines[i]);
	free(lanes->processes);
	free(lanes->timelines);
	free(lanes->users);
	*lanes = (struct busy_lanes){0};
}

/* ---- finding */

/* The store's id, if several processes describe it; else 0. */
static uint32_t shared_device(const struct busy_lanes *lanes, uint32_t process_id,
			      uint32_t device_id)
{
	const uint32_t id =
		roster_process_device(roster_process(lanes->roster, process_id), device_id);

	return id && id <= lanes->nr_devices && lanes->users[id - 1] > 1 ? id : 0;
}

/* *index: of the device, which is made if it is new. */
static int find_device(struct busy_lanes *lanes, uint32_t process_id, uint32_t device_id,
		       uint32_t *index)
{
	struct busy_process *process = &lanes->processes[process_id - 1];

	for (*index = 0; *index < process->nr_devices; ++*index)
		if (process->devices[*index].device_id == device_id)
			return 0;
	if (process->nr_devices == BUSY_LANES_DEVICES)
		return -E2BIG;
	if (array_reserve(&process->devices, &process->room_devices, process->nr_devices + 1ull,
			  sizeof(*process->devices)))
		return -ENOMEM;
	process->devices[process->nr_devices++] = (struct busy_device){
		.device_id = device_id, .shared = shared_device(lanes, process_id, device_id)};
	return 0;
}

static bool is_of(const struct busy_stream *stream, const struct timeline_work *work)
{
	return stream->stream_id == work->stream_id && stream->context_id == work->context_id &&
	       stream->device_id == work->device_id;
}

static int make_stream(struct busy_lanes *lanes, const struct timeline_work *work)
{
	struct busy_process *process = &lanes->processes[work->process_id - 1];
	uint32_t device;
	int error = find_device(lanes, work->process_id, work->device_id, &device);

	if (!error && process->nr_streams == BUSY_LANES_STREAMS)
		error = -E2BIG;
	if (!error)
		error = array_reserve(&process->streams, &process->room_streams,
				      process->nr_streams + 1ull, sizeof(*process->streams));
	if (error)
		return error;
	process->last = process->nr_streams;
	process->streams[process->nr_streams++] = (struct busy_stream){
		work->device_id, work->context_id, work->stream_id, device, NULL};
	return 0;
}

/* Work of a stream mostly follows work of the same, or of the next one. */
static int find_stream(struct busy_lanes *lanes, const struct timeline_work *work)
{
	struct busy_process *process = &lanes->processes[work->process_id - 1];
	const uint32_t nr = process->nr_streams;

	for (uint32_t i = 0; i < nr; i++) {
		const uint32_t at =
			process->last + i < nr ? process->last + i : process->last + i - nr;

		if (is_of(&process->streams[at], work)) {
			process->last = at;
			return 0;
		}
	}
	return make_stream(lanes, work);
}

/* ---- adding */

/* 0; -ERANGE: it is late; -ENOMEM. */
static int add_to(const struct busy_lanes *lanes, struct stream_timeline **timeline,
		  const struct timeline_work *work)
{
	if (!*timeline)
		*timeline = stream_timeline_create(lanes->intervals_max);
	if (!*timeline || stream_timeline_add(*timeline, work->start_ns, work->end_ns))
		return -ENOMEM;
	return stream_timeline_late(*timeline) ? -ERANGE : 0;
}

/* As timeline_table_add_kernel(): the first kernel of NCCL begins the timeline of all kernels. */
static int add_kernel(const struct busy_lanes *lanes, struct busy_device *device,
		      const struct timeline_work *work, bool is_nccl)
{
	int error = 0;

	if (is_nccl && !device->kernels) {
		device->kernels = stream_timeline_create(lanes->intervals_max);
		error = device->kernels ? 0 : -ENOMEM;
		if (!error && device->computation)
			error = stream_timeline_copy(device->kernels, device->computation);
	}
	if (!error)
		error = add_to(lanes, is_nccl ? &device->communication : &device->computation,
			       work);
	return error || !device->kernels ? error : add_to(lanes, &device->kernels, work);
}

int busy_lanes_add(struct busy_lanes *lanes, const struct timeline_work *work, bool is_nccl)
{
	struct busy_process *process = &lanes->processes[work->process_id - 1];

	if (work->kind > RECORD_GPU_GRAPH || work->start_ns == 0)
		return 0;
	int error = find_stream(lanes, work);
	if (error)
		return error;
	struct busy_stream *stream = &process->streams[process->last];
	struct busy_device *device = &process->devices[stream->device];

	error = add_to(lanes, &stream->timeline, work);
	if (!error)
		error = add_to(lanes, &device->work, work);
	if (!error && work->kind == RECORD_GPU_KERNEL)
		error = add_kernel(lanes, device, work, is_nccl);
	return error || !device->shared
		       ? error
		       : add_to(lanes, &lanes->timelines[device->shared - 1], work);
}

static void prefetch(const struct stream_timeline *timeline, bool ends)
{
	if (timeline && ends)
		stream_timeline_prefetch_end(timeline);
	else if (timeline)
		stream_timeline_prefetch(timeline);
}

void busy_lanes_prefetch(const struct busy_lanes *lanes, const struct timeline_work *work,
			 bool ends)
{
	const struct busy_process *process = &lanes->processes[work->process_id - 1];

	for (uint32_t i = 0; i < process->nr_streams; i++) {
		const struct busy_stream *stream = &process->streams[i];
		const struct busy_device *device = &process->devices[stream->device];

		if (!is_of(stream, work))
			continue;
		prefetch(stream->timeline, ends);
		prefetch(device->work, ends);
		prefetch(device->computation, ends);
		prefetch(device->communication, ends);
		prefetch(device->kernels, ends);
		break;
	}
}

int busy_lanes_note(struct busy_lanes *lanes, const struct timeline_work *work)
{
	uint32_t device;

	return work->kind > RECORD_GPU_GRAPH
		       ? 0
		       : find_device(lanes, work->process_id, work->device_id, &device);
}

/* ---- cells of time */

struct stream_timeline **busy_device_timeline(struct busy_device *device, enum busy_kind kind)
{
	struct stream_timeline **const timelines[BUSY_KINDS] = {
		&device->work, &device->computation, &device->communication, &device->kernels};

	return timelines[kind];
}

static void begin_cell(struct stream_timeline *timeline, uint64_t at_ns)
{
	if (timeline)
		stream_timeline_begin_cell(timeline, at_ns);
}

void busy_lanes_begin_cell(struct busy_lanes *lanes, uint64_t at_ns)
{
	for (uint32_t i = 0; i < lanes->nr_processes; i++) {
		const struct busy_process *process = &lanes->processes[i];

		for (uint32_t k = 0; k < process->nr_streams; k++)
			begin_cell(process->streams[k].timeline, at_ns);
		for (uint32_t k = 0; k < process->nr_devices; k++)
			for (enum busy_kind kind = 0; kind < BUSY_KINDS; kind++)
				begin_cell(*busy_device_timeline(&process->devices[k], kind),
					   at_ns);
	}
	for (uint32_t i = 0; i < lanes->nr_devices; i++)
		begin_cell(lanes->timelines[i], at_ns);
}

static int add_cell(const struct busy_lanes *lanes, struct stream_timeline **timeline,
		    const struct timeline_cell *cell, const struct busy_place *place)
{
	if (!*timeline)
		*timeline = stream_timeline_create(lanes->intervals_max);
	return *timeline ? stream_timeline_add_cell(*timeline, cell, place->at_ns, place->to_ns)
			 : -ENOMEM;
}

int busy_lanes_add_stream_cell(struct busy_lanes *lanes, const struct busy_place *place,
			       const struct timeline_cell *cell)
{
	const struct timeline_work work = {.process_id = place->process_id,
					   .device_id = place->device_id,
					   .context_id = place->context_id,
					   .stream_id = place->stream_id};
	struct busy_process *process = &lanes->processes[place->process_id - 1];
	const int error = find_stream(lanes, &work);

	return error ? error
		     : add_cell(lanes, &process->streams[process->last].timeline, cell, place);
}

/* As add_kernel(): without a kernel of NCCL in the time, a device has no timeline of all kernels, whatever was before.
 */
static int begin_kernels(const struct busy_lanes *lanes, struct busy_device *device)
{
	device->kernels = stream_timeline_create(lanes->intervals_max);
	if (!device->kernels)
		return -ENOMEM;
	return device->computation ? stream_timeline_copy(device->kernels, device->computation) : 0;
}

int busy_lanes_add_device_cell(struct busy_lanes *lanes, const struct busy_place *place,
			       const struct timeline_cell cells[static BUSY_KINDS])
{
	uint32_t index;
	int error = find_device(lanes, place->process_id, place->device_id, &index);
	if (error)
		return error;
	struct busy_device *device = &lanes->processes[place->process_id - 1].devices[index];

	if (!device->kernels && cells[BUSY_COMMUNICATION].records)
		error = begin_kernels(lanes, device);
	for (enum busy_kind kind = 0; kind < BUSY_KINDS && !error; kind++)
		if (cells[kind].records && (kind != BUSY_KERNELS || device->kernels))
			error = add_cell(lanes, busy_device_timeline(device, kind), &cells[kind],
					 place);
	return error;
}

int busy_lanes_add_shared_cell(struct busy_lanes *lanes, const struct busy_place *place,
			       const struct timeline_cell *cell)
{
	return add_cell(lanes, &lanes->timelines[place->device_id - 1], cell, place);
}

/* ---- the end */

static void close_timeline(struct stream_timeline *timeline)
{
	if (timeline)
		stream_timeline_close(timeline);
}

void busy_lanes_close(struct busy_lanes *lanes)
{
	for (uint32_t i = 0; i < lanes->nr_processes; i++) {
		const struct busy_process *process = &lanes->processes[i];

		for (uint32_t k = 0; k < process->nr_streams; k++)
			close_timeline(process->streams[k].timeline);
		for (uint32_t k = 0; k < process->nr_devices; k++) {
			close_timeline(process->devices[k].work);
			close_timeline(process->devices[k].computation);
			close_timeline(process->devices[k].communication);
			close_timeline(process->devices[k].kernels);
		}
	}
	for (uint32_t i = 0; i < lanes->nr_devices; i++)
		close_timeline(lanes->timelines[i]);
}

/* Moves a timeline. */
static int put(struct timeline_table *table, const struct timeline_key *key,
	       struct stream_timeline **timeline)
{
	struct timeline_entry *entry = *timeline ? timeline_table_get(table, key) : NULL;

	if (!*timeline)
		return 0;
	if (!entry)
		return -ENOMEM;
	stream_timeline_destroy(entry->timeline);
	entry->timeline = *timeline;
	entry->changed = true;
	*timeline = NULL;
	return 0;
}

/* The device's own timeline is that of the one process that uses it. */
static int put_copy(const struct busy_lanes *lanes, struct timeline_table *table,
		    const struct timeline_key *key, struct stream_timeline *work)
{
	struct stream_timeline *copy = work ? stream_timeline_create(lanes->intervals_max) : NULL;
	int error = work && !copy ? -ENOMEM : 0;

	if (copy)
		error = stream_timeline_copy(copy, work);
	if (!error)
		error = put(table, key, &copy);
	stream_timeline_destroy(copy);
	return error;
}

static int put_device(struct busy_lanes *lanes, struct timeline_table *table, uint32_t process_id,
		      struct busy_device *device)
{
	struct timeline_key key = {.level = TIMELINE_ORDINAL,
				   .process_id = process_id,
				   .device_id = device->device_id};
	const struct timeline_key all = {
		.level = TIMELINE_DEVICE,
		.process_id = ROSTER_WRITER,
		.device_id = roster_process_device(roster_process(lanes->roster, process_id),
						   device->device_id)};
	int error = device->shared
			    ? 0
			    : put_copy(lanes, table, all.device_id ? &all : &key, device->work);

	key.level = TIMELINE_WORK;
	if (!error)
		error = put(table, &key, &device->work);
	key.level = TIMELINE_COMPUTATION;
	if (!error)
		error = put(table, &key, &device->computation);
	key.level = TIMELINE_COMMUNICATION;
	if (!error)
		error = put(table, &key, &device->communication);
	key.level = TIMELINE_KERNELS;
	return error ? error : put(table, &key, &device->kernels);
}

static int put_stream(struct timeline_table *table, uint32_t process_id, struct busy_stream *stream)
{
	const struct timeline_key key = {.level = TIMELINE_STREAM,
					 .process_id = process_id,
					 .device_id = stream->device_id,
					 .context_id = stream->context_id,
					 .stream_id = stream->stream_id};

	return put(table, &key, &stream->timeline);
}

int busy_lanes_put(struct busy_lanes *lanes, struct timeline_table *table)
{
	int error = 0;

	for (uint32_t i = 0; i < lanes->nr_processes && !error; i++) {
		struct busy_process *process = &lanes->processes[i];

		for (uint32_t k = 0; k < process->nr_streams && !error; k++)
			error = put_stream(table, i + 1, &process->streams[k]);
		for (uint32_t k = 0; k < process->nr_devices && !error; k++)
			error = put_device(lanes, table, i + 1, &process->devices[k]);
	}
	for (uint32_t i = 0; i < lanes->nr_devices && !error; i++) {
		const struct timeline_key key = {
			.level = TIMELINE_DEVICE, .process_id = ROSTER_WRITER, .device_id = i + 1};

		error = put(table, &key, &lanes->timelines[i]);
	}
	return error;
}
