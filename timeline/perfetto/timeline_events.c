#include "timeline_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/roster.h"
#include "base/array.h"

/* The offset of a process's clocks is measured again and again. A difference above this is a clock that was set. */
#define STEP_NS 1000000
/* A call of the runtime and the launch within it have one correlation id. */
#define NEIGHBOURS 4u

struct process {
	int64_t clock_offset_ns; /* CLOCK_MONOTONIC - CUPTI's clock, as it is used */
	bool has_offset;
};

struct loader {
	const struct profile *profile;
	const struct clock_map *map;
	const struct timeline_range *range;
	struct timeline_events *events;
	struct process *processes; /* owns; [id - 1] */
	uint32_t nr_processes, nr_hosts;
	uint64_t from_ns, to_ns; /* on the common clock; used in the second pass */
	bool selects;            /* the second pass */
};

/* Finds the state of a host's clock. Nodes that share a kernel, as its boot id says, share its clock. */
static bool find_clock(const struct loader *loader, uint32_t host, uint64_t time_ns,
		       struct clock_map_place *found)
{
	const struct roster *roster = loader->profile->collection->roster;
	const struct roster_host *known = roster_host(roster, host);

	if (!loader->map)
		return false;
	if (clock_map_find(loader->map, host, time_ns, found))
		return true;
	for (uint32_t id = 1; known && known->boot_id && id <= loader->nr_hosts; id++)
		if (roster_host(roster, id)->boot_id == known->boot_id &&
		    clock_map_find(loader->map, id, time_ns, found))
			return true;
	return false;
}

/* Puts a time of a host's CLOCK_MONOTONIC on the common clock. false: nobody knows how. */
static bool place(const struct loader *loader, uint32_t host, uint64_t *time_ns)
{
	struct clock_map_place found;

	if (!find_clock(loader, host, *time_ns, &found))
		return loader->nr_hosts == 1;
	*time_ns -= (uint64_t)found.offset_ns;
	return true;
}

static bool is_wanted(const struct loader *loader, const struct roster_process *process)
{
	const struct timeline_range *range = loader->range;

	return !range->ranks || (process->rank >= 0 && (uint32_t)process->rank < range->nr_ranks &&
				 range->ranks[process->rank]);
}

static void note_time(struct loader *loader, uint64_t start_ns, uint64_t end_ns)
{
	struct timeline_events *events = loader->events;

	if (start_ns < events->first_ns)
		events->first_ns = start_ns;
	if (end_ns > events->last_ns)
		events->last_ns = end_ns;
}

/* ---- launches */

static int take_launches(struct loader *loader, const struct message_events *from, uint32_t host)
{
	struct timeline_events *events = loader->events;

	if (loader->selects && array_reserve(&events->launches, &events->room_launches,
					     (uint64_t)events->nr_launches + from->nr_launches,
					     sizeof(*events->launches)))
		return -ENOMEM;
	for (uint32_t i = 0; i < from->nr_launches; i++) {
		const struct launch_record *launch = &from->launches[i];
		uint64_t time_ns = launch->time_ns;

		if (launch->flags & RECORD_LAUNCH_FAILED)
			continue;
		if (!place(loader, host, &time_ns)) {
			events->unclocked += loader->selects;
			continue;
		}
		if (!loader->selects)
			note_time(loader, time_ns, time_ns);
		else if (time_ns >= loader->from_ns && time_ns < loader->to_ns)
			events->launches[events->nr_launches++] = (struct timeline_launch){
				.time_ns = time_ns,
				.process_id = from->process_id,
				.tid = launch->tid,
				.stack_id = launch->stack_id,
				.correlation_id = launch->correlation_id,
				.window = launch->window,
				.flags = (uint16_t)launch->flags,
			};
	}
	return 0;
}

/* ---- GPU work */

static int64_t offset_of(struct loader *loader, const struct message_events *from)
{
	struct process *process = &loader->processes[from->process_id - 1];
	const int64_t change_ns = from->clock_offset_ns - process->clock_offset_ns;

	if (!process->has_offset || change_ns > STEP_NS || change_ns < -STEP_NS)
		process->clock_offset_ns = from->clock_offset_ns;
	process->has_offset = true;
	return process->clock_offset_ns;
}

static int take_work(struct loader *loader, const struct message_events *from, uint32_t host)
{
	struct timeline_events *events = loader->events;
	const uint64_t offset_ns = from->clock_valid ? (uint64_t)offset_of(loader, from) : 0;

	if (loader->selects &&
	    array_reserve(&events->work, &events->room_work,
			  (uint64_t)events->nr_work + from->nr_gpu, sizeof(*events->work)))
		return -ENOMEM;
	for (uint32_t i = 0; i < from->nr_gpu; i++) {
		const struct gpu_record *record = &from->gpu[i];
		uint64_t start_ns = record->start_ns + offset_ns;

		if (record->kind > RECORD_GPU_SYNC) {
			events->others += loader->selects;
			continue;
		}
		if (!from->clock_valid || !place(loader, host, &start_ns)) {
			events->unclocked += loader->selects;
			continue;
		}
		const uint64_t end_ns = start_ns + (record->end_ns - record->start_ns);
		if (!loader->selects)
			note_time(loader, start_ns, end_ns);
		else if (end_ns >= loader->from_ns && start_ns < loader->to_ns)
			events->work[events->nr_work++] = (struct timeline_work){
				.start_ns = start_ns,
				.end_ns = end_ns,
				.bytes = record->bytes,
				.process_id = from->process_id,
				.device_id = record->device_id,
				.context_id = record->context_id,
				.stream_id = record->stream_id,
				.name_id = record->name_id,
				.correlation_id = record->correlation_id,
				.window = record->window,
				.kind = record->kind,
				.copy_kind = record->copy_kind,
				.launch = TIMELINE_EVENTS_NONE,
			};
	}
	return 0;
}

static int take(void *context, const struct message_events *from)
{
	struct loader *loader = context;
	const struct roster_process *process =
		roster_process(loader->profile->collection->roster, from->process_id);

	if (!process) {
		loader->events->unknown +=
			loader->selects ? (uint64_t)from->nr_launches + from->nr_gpu : 0;
		return 0;
	}
	if (loader->selects && !is_wanted(loader, process))
		return 0;
	int error = take_launches(loader, from, process->identity.host);
	return error ? error : take_work(loader, from, process->identity.host);
}

/* ---- order and flows */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_time(const void *a, const void *b)
{
	const struct timeline_launch *left = a, *right = b;
	int order = COMPARE(left->process_id, right->process_id);

	order = order ? order : COMPARE(left->time_ns, right->time_ns);
	return order ? order : COMPARE(left->correlation_id, right->correlation_id);
}

static int by_start(const void *a, const void *b)
{
	const struct timeline_work *left = a, *right = b;
	int order = COMPARE(left->process_id, right->process_id);

	order = order ? order : COMPARE(left->start_ns, right->start_ns);
	order = order ? order : COMPARE(left->end_ns, right->end_ns);
	return order ? order : COMPARE(left->correlation_id, right->correlation_id);
}

/* Compares (process, window, correlation id, time); equal ids come again when the counter wraps. */
static int compare_keys(const struct timeline_launch *a, const struct timeline_launch *b)
{
	int order = COMPARE(a->process_id, b->process_id);

	order = order ? order : COMPARE(a->window, b->window);
	order = order ? order : COMPARE(a->correlation_id, b->correlation_id);
	return order ? order : COMPARE(a->time_ns, b->time_ns);
}

static int by_key(const void *a, const void *b, void *launches)
{
	const struct timeline_launch *list = launches;

	return compare_keys(&list[*(const uint32_t *)a], &list[*(const uint32_t *)b]);
}

/* A wait may be of a host call alone; GPU work is of a launch. */
static bool can_be_of(const struct timeline_launch *launch, const struct timeline_work *work)
{
	return launch->process_id == work->process_id && launch->window == work->window &&
	       launch->correlation_id == work->correlation_id &&
	       (work->kind == RECORD_GPU_SYNC || !(launch->flags & RECORD_LAUNCH_HOST));
}

/* Finds the last launch with the work's key from before its end; else, since clocks differ by a little, the next. */
static uint32_t find_launch(const struct timeline_events *events, const uint32_t *order,
			    const struct timeline_work *work)
{
	const struct timeline_launch key = {.process_id = work->process_id,
					    .window = work->window,
					    .correlation_id = work->correlation_id,
					    .time_ns = work->end_ns};
	uint32_t low = 0, high = events->nr_launches;

	while (low < high) { /* the first one behind the key */
		const uint32_t middle = low + (high - low) / 2;

		if (compare_keys(&events->launches[order[middle]], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t back = 1; back <= NEIGHBOURS && back <= low; back++)
		if (can_be_of(&events->launches[order[low - back]], work))
			return order[low - back];
	return low < events->nr_launches && can_be_of(&events->launches[order[low]], work)
		       ? order[low]
		       : TIMELINE_EVENTS_NONE;
}

static int join(struct timeline_events *events)
{
	uint32_t *order = malloc((events->nr_launches + 1ull) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < events->nr_launches; i++)
		order[i] = i;
	qsort_r(order, events->nr_launches, sizeof(*order), by_key, events->launches);
	for (uint32_t i = 0; i < events->nr_work; i++) {
		struct timeline_work *work = &events->work[i];
		const uint32_t launch = find_launch(events, order, work);

		work->launch = launch;
		if (launch != TIMELINE_EVENTS_NONE && work->kind != RECORD_GPU_SYNC &&
		    !events->launches[launch].flow)
			events->launches[launch].flow = ++events->nr_flows;
	}
	free(order);
	return 0;
}

static void count_ranks(struct timeline_events *events)
{
	uint32_t launch = 0, work = 0;

	while (launch < events->nr_launches || work < events->nr_work) {
		uint32_t process = UINT32_MAX;

		if (launch < events->nr_launches)
			process = events->launches[launch].process_id;
		if (work < events->nr_work && events->work[work].process_id < process)
			process = events->work[work].process_id;
		while (launch < events->nr_launches &&
		       events->launches[launch].process_id == process)
			launch++;
		while (work < events->nr_work && events->work[work].process_id == process)
			work++;
		events->nr_ranks++;
	}
}

static int arrange(struct timeline_events *events)
{
	if (events->nr_launches)
		qsort(events->launches, events->nr_launches, sizeof(*events->launches), by_time);
	if (events->nr_work)
		qsort(events->work, events->nr_work, sizeof(*events->work), by_start);
	count_ranks(events);
	return join(events);
}

static int read_twice(struct loader *loader, const char *store_path)
{
	struct timeline_events *events = loader->events;
	const struct timeline_range *range = loader->range;
	int error = event_reader_read(store_path, take, loader, &events->sums);

	if (events->first_ns == UINT64_MAX)
		events->first_ns = events->last_ns;
	loader->from_ns = events->first_ns + range->from_ns;
	loader->to_ns = range->to_ns ? events->first_ns + range->to_ns : UINT64_MAX;
	loader->selects = true;
	memset(loader->processes, 0, loader->nr_processes * sizeof(*loader->processes));
	events->sums = (struct event_sums){0};
	return error ? error : event_reader_read(store_path, take, loader, &events->sums);
}

int timeline_events_read(const char *store_path, const struct profile *profile,
			 const struct clock_map *map, const struct timeline_range *range,
			 struct timeline_events *events)
{
	const struct roster_size size = roster_size(profile->collection->roster);
	struct loader loader = {
		.profile = profile,
		.map = map,
		.range = range,
		.events = events,
		.nr_processes = size.processes,
		.nr_hosts = size.hosts,
		.processes = calloc(size.processes + 1ull, sizeof(*loader.processes)),
	};

	*events = (struct timeline_events){.first_ns = UINT64_MAX};
	int error = loader.processes ? read_twice(&loader, store_path) : -ENOMEM;
	if (!error)
		error = arrange(events);
	free(loader.processes);
	return error;
}

void timeline_events_fini(struct timeline_events *events)
{
	free(events->launches);
	free(events->work);
	*events = (struct timeline_events){0};
}
