#include "timeline_events.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "process_sort.h"

#include "base/array.h"

/* A call of the runtime and the launch within it have one correlation id. */
#define NEIGHBOURS 4u

/* ---- what comes */

static bool is_full(const struct timeline_events *events)
{
	return events->events_max &&
	       (uint64_t)events->nr_launches + events->nr_marks + events->nr_work >=
		       events->events_max;
}

static int take_launch(void *context, const struct timeline_launch *launch)
{
	struct timeline_events *events = context;
	const bool is_mark = launch->flags & RECORD_LAUNCH_MARK;
	struct timeline_launch **list = is_mark ? &events->marks : &events->launches;
	uint32_t *nr = is_mark ? &events->nr_marks : &events->nr_launches;
	uint32_t *room = is_mark ? &events->room_marks : &events->room_launches;

	if (is_full(events))
		return -EFBIG;
	if (array_reserve(list, room, *nr + 1ull, sizeof(**list)))
		return -ENOMEM;
	(*list)[(*nr)++] = *launch;
	return 0;
}

static int take_work(void *context, const struct timeline_work *work)
{
	struct timeline_events *events = context;

	if (is_full(events))
		return -EFBIG;
	if (array_reserve(&events->work, &events->room_work, events->nr_work + 1ull, sizeof(*work)))
		return -ENOMEM;
	events->work[events->nr_work++] = *work;
	return 0;
}

/* ---- order and flows */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_time(const void *a, const void *b)
{
	const struct timeline_launch *left = a, *right = b;
	int order = COMPARE(left->time_ns, right->time_ns);

	return order ? order : COMPARE(left->correlation_id, right->correlation_id);
}

static int by_start(const void *a, const void *b)
{
	const struct timeline_work *left = a, *right = b;
	int order = COMPARE(left->start_ns, right->start_ns);

	order = order ? order : COMPARE(left->end_ns, right->end_ns);
	return order ? order : COMPARE(left->correlation_id, right->correlation_id);
}

/* A launch in the order of what its GPU work names. Equal ids come again when the counter wraps. */
struct place {
	uint64_t key, time_ns; /* key: window and correlation id */
	uint32_t process_id, launch;
};

static uint64_t key_of(uint16_t window, uint32_t correlation_id)
{
	return (uint64_t)window << 32 | correlation_id;
}

static int by_key(const void *a, const void *b)
{
	const struct place *left = a, *right = b;
	int order = COMPARE(left->key, right->key);

	return order ? order : COMPARE(left->time_ns, right->time_ns);
}

/* A wait may be of a host call alone; GPU work is of a launch. */
static bool can_be_of(const struct timeline_launch *launch, const struct timeline_work *work)
{
	return launch->window == work->window && launch->correlation_id == work->correlation_id &&
	       (work->kind == RECORD_GPU_SYNC || !(launch->flags & RECORD_LAUNCH_HOST));
}

struct own_places {               /* of one process */
	const struct place *list; /* borrowed */
	uint32_t nr;
	uint32_t found; /* where the last key was: those of the next work mostly follow */
};

/* Returns the index of the first place behind the key. */
static uint32_t find_behind(const struct own_places *places, const struct place *key)
{
	uint32_t low = 0, high = places->nr;

	if (places->found && by_key(&places->list[places->found - 1], key) <= 0) {
		low = places->found;
		for (uint32_t step = 1; low + step < high; step *= 2)
			if (by_key(&places->list[low + step], key) > 0)
				high = low + step;
			else
				low += step;
	}
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (by_key(&places->list[middle], key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Finds the last launch with the work's key from before its end; else, since clocks differ by a little, the next. */
static uint32_t find_launch(const struct timeline_events *events, struct own_places *places,
			    const struct timeline_work *work)
{
	const struct place key = {.key = key_of(work->window, work->correlation_id),
				  .time_ns = work->end_ns};
	const uint32_t behind = places->found = find_behind(places, &key);

	for (uint32_t back = 1; back <= NEIGHBOURS && back <= behind; back++) {
		const uint32_t launch = places->list[behind - back].launch;

		if (can_be_of(&events->launches[launch], work))
			return launch;
	}
	if (behind < places->nr && can_be_of(&events->launches[places->list[behind].launch], work))
		return places->list[behind].launch;
	return TIMELINE_SOURCE_NONE;
}

static void join_work(struct timeline_events *events, struct own_places *places,
		      struct timeline_work *work)
{
	const uint32_t launch = find_launch(events, places, work);

	work->launch = launch;
	events->nr_launchless += launch == TIMELINE_SOURCE_NONE && work->kind != RECORD_GPU_SYNC;
	if (launch != TIMELINE_SOURCE_NONE && work->kind != RECORD_GPU_SYNC &&
	    !events->launches[launch].flow)
		events->launches[launch].flow = ++events->nr_flows;
}

/* Launches and work are in order of their processes. */
static void join_all(struct timeline_events *events, const struct place *list)
{
	uint32_t first = 0, end = 0;
	struct own_places places = {0};

	for (uint32_t i = 0; i < events->nr_work; i++) {
		struct timeline_work *work = &events->work[i];

		if (i == 0 || work->process_id != work[-1].process_id) {
			for (first = end; first < events->nr_launches &&
					  list[first].process_id < work->process_id;
			     first++)
				;
			for (end = first;
			     end < events->nr_launches && list[end].process_id == work->process_id;
			     end++)
				;
			places = (struct own_places){.list = list + first, .nr = end - first};
		}
		join_work(events, &places, work);
	}
}

static int join(struct timeline_events *events)
{
	struct place *list = malloc((events->nr_launches + 1ull) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < events->nr_launches; i++) {
		const struct timeline_launch *launch = &events->launches[i];

		list[i] = (struct place){.key = key_of(launch->window, launch->correlation_id),
					 .time_ns = launch->time_ns,
					 .process_id = launch->process_id,
					 .launch = i};
	}
	int error = process_sort((void **)&list, events->nr_launches, sizeof(*list),
				 offsetof(struct place, process_id), by_key);
	if (!error)
		join_all(events, list);
	for (uint32_t i = 0; i < events->nr_launches; i++)
		events->nr_workless += !events->launches[i].flow &&
				       !(events->launches[i].flags & RECORD_LAUNCH_HOST);
	free(list);
	return error;
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

/* ---- the time of a step */

/* Returns the end of the last work that its launches have caused. */
static uint64_t find_end(const struct timeline_events *events, const struct timeline_request *range)
{
	uint64_t end_ns = range->to_ns;

	for (uint32_t i = 0; i < events->nr_work; i++) {
		const struct timeline_work *work = &events->work[i];

		if (work->launch != TIMELINE_SOURCE_NONE && work->end_ns > end_ns &&
		    events->launches[work->launch].time_ns < range->to_ns)
			end_ns = work->end_ns;
	}
	return end_ns;
}

static void trim_launches(struct timeline_launch *launches, uint32_t *nr, uint64_t end_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < *nr; i++)
		if (launches[i].time_ns < end_ns)
			launches[kept++] = launches[i];
	*nr = kept;
}

/* Returns how many pieces of GPU work until the end were launched behind the time of host work. */
static uint64_t count_later(const struct timeline_events *events)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < events->nr_work; i++) {
		const struct timeline_work *work = &events->work[i];

		nr += work->kind != RECORD_GPU_SYNC && work->start_ns < events->to_ns &&
		      work->launch != TIMELINE_SOURCE_NONE &&
		      events->launches[work->launch].time_ns >= events->host_to_ns;
	}
	return nr;
}

static void trim(struct timeline_events *events)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < events->nr_work; i++)
		if (events->work[i].start_ns < events->to_ns)
			events->work[kept++] = events->work[i];
	events->nr_work = kept;
	trim_launches(events->launches, &events->nr_launches, events->host_to_ns);
	trim_launches(events->marks, &events->nr_marks, events->host_to_ns);
	for (uint32_t i = 0; i < events->nr_launches; i++)
		events->launches[i].flow = 0;
	events->nr_flows = 0;
	events->nr_launchless = events->nr_workless = 0;
}

/* The list has room for so many then. */
static int sort_launches(struct timeline_launch **launches, uint32_t nr_launches, uint32_t *room)
{
	*room = nr_launches;
	return process_sort((void **)launches, nr_launches, sizeof(**launches),
			    offsetof(struct timeline_launch, process_id), by_time);
}

static int arrange(struct timeline_events *events)
{
	int error = sort_launches(&events->launches, events->nr_launches, &events->room_launches);

	if (!error)
		error = sort_launches(&events->marks, events->nr_marks, &events->room_marks);
	events->room_work = events->nr_work;
	if (!error)
		error = process_sort((void **)&events->work, events->nr_work, sizeof(*events->work),
				     offsetof(struct timeline_work, process_id), by_start);
	return error ? error : join(events);
}

int timeline_events_read(struct timeline_source *source, const struct timeline_request *range,
			 bool reaches, struct timeline_events *events)
{
	const struct timeline_sink sink = {take_launch, take_work, events};
	struct timeline_request request = *range;

	*events = (struct timeline_events){.from_ns = range->from_ns,
					   .to_ns = range->to_ns,
					   .host_to_ns = range->to_ns,
					   .events_max = range->events_max};
	if (reaches && request.to_ns < UINT64_MAX - TIMELINE_EVENTS_REACH_NS)
		request.to_ns += TIMELINE_EVENTS_REACH_NS;
	int error = timeline_source_read(source, &request, &sink, &events->counts);
	if (!error)
		error = arrange(events);
	if (!error && reaches) {
		events->to_ns = find_end(events, range);
		const uint64_t nr_later = count_later(events);
		trim(events);
		error = arrange(events);
		events->nr_launchless -=
			nr_later < events->nr_launchless ? nr_later : events->nr_launchless;
	}
	if (!error)
		count_ranks(events);
	return error;
}

static int take_mark_alone(void *context, const struct timeline_launch *launch)
{
	struct timeline_events *events = context;

	if (!(launch->flags & RECORD_LAUNCH_MARK))
		return 0;
	if (array_reserve(&events->marks, &events->room_marks, events->nr_marks + 1ull,
			  sizeof(*events->marks)))
		return -ENOMEM;
	events->marks[events->nr_marks++] = *launch;
	return 0;
}

static int leave_work(void *context, const struct timeline_work *work)
{
	(void)context;
	(void)work;
	return 0;
}

int timeline_events_marks_around(struct timeline_source *source,
				 const struct timeline_request *range,
				 struct timeline_events *events)
{
	const struct timeline_sink sink = {take_mark_alone, leave_work, events};
	struct timeline_request request = *range;
	struct timeline_counts counts;

	if (!range->from_ns && range->to_ns == UINT64_MAX)
		return 0;
	request.marks_alone = true;
	request.from_ns = range->from_ns > TIMELINE_EVENTS_MARKS_NS
				  ? range->from_ns - TIMELINE_EVENTS_MARKS_NS
				  : 0;
	if (request.to_ns < UINT64_MAX - TIMELINE_EVENTS_MARKS_NS)
		request.to_ns += TIMELINE_EVENTS_MARKS_NS;
	events->nr_marks = 0;
	int error = timeline_source_read(source, &request, &sink, &counts);
	return error ? error : sort_launches(&events->marks, events->nr_marks, &events->room_marks);
}

struct fold_key timeline_events_key(const struct timeline_events *events,
				    const struct timeline_work *work)
{
	const struct timeline_launch *launch =
		work->launch == TIMELINE_SOURCE_NONE ? NULL : &events->launches[work->launch];

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

void timeline_events_fini(struct timeline_events *events)
{
	free(events->launches);
	free(events->marks);
	free(events->work);
	*events = (struct timeline_events){0};
}
