#include "timeline_lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct item {
	struct timeline_lane lane; /* without its number */
	uint64_t start_ns, end_ns;
	uint32_t event;
	enum timeline_point_kind kind;
};

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int compare_lanes(const struct timeline_lane *a, const struct timeline_lane *b)
{
	int order = COMPARE(a->kind, b->kind);

	for (uint32_t i = 0; i < 3 && order == 0; i++)
		order = COMPARE(a->ids[i], b->ids[i]);
	return order;
}

static int by_lane(const void *a, const void *b)
{
	const struct item *left = a, *right = b;
	int order = compare_lanes(&left->lane, &right->lane);

	order = order ? order : COMPARE(left->start_ns, right->start_ns);
	order = order ? order : COMPARE(left->kind, right->kind);
	order = order ? order : COMPARE(left->end_ns, right->end_ns);
	return order ? order : COMPARE(left->event, right->event);
}

static int by_time(const void *a, const void *b)
{
	const struct timeline_point *left = a, *right = b;
	int order = COMPARE(left->time_ns, right->time_ns);

	order = order ? order : COMPARE(left->type != TRACE_END, right->type != TRACE_END);
	order = order ? order : COMPARE(left->kind, right->kind);
	/* Ranges that begin or end together nest. */
	if (!order && left->type == TRACE_END && left->kind == TIMELINE_RANGE)
		return COMPARE(right->event, left->event);
	return order ? order : COMPARE(left->event, right->event);
}

static struct item launch_item(const struct timeline_events *events, uint32_t i)
{
	const struct timeline_launch *launch = &events->launches[i];

	return (struct item){.lane = {.kind = TIMELINE_THREAD, .ids = {launch->tid}},
			     .start_ns = launch->time_ns,
			     .end_ns = launch->time_ns,
			     .event = i,
			     .kind = TIMELINE_LAUNCH};
}

static struct item work_item(const struct timeline_events *events, uint32_t i)
{
	const struct timeline_work *work = &events->work[i];
	struct item item = {.lane = {.kind = TIMELINE_STREAM,
				     .ids = {work->device_id, work->context_id, work->stream_id}},
			    .start_ns = work->start_ns,
			    .end_ns = work->end_ns,
			    .event = i};

	if (work->kind != RECORD_GPU_SYNC)
		return item;
	item.lane = (struct timeline_lane){.kind = TIMELINE_WAITS};
	if (work->launch != TIMELINE_SOURCE_NONE)
		item.lane = (struct timeline_lane){.kind = TIMELINE_THREAD,
						   .ids = {events->launches[work->launch].tid}};
	return item;
}

static struct item call_item(const struct timeline_calls *calls, uint32_t i)
{
	const struct timeline_call *call = &calls->calls[i];

	return (struct item){.lane = {.kind = TIMELINE_CALLS, .ids = {call->tid}},
			     .start_ns = call->begin_ns,
			     .end_ns = call->end_ns,
			     .event = i,
			     .kind = TIMELINE_CALL};
}

/* Finds the lane of an item, whose first lane is *first. A launch takes no time, so it is always on the first. */
static int find_lane(struct timeline_lanes *lanes, const struct item *item, uint32_t *first,
		     uint32_t *found)
{
	struct timeline_lane lane = item->lane;

	if (lanes->nr_lanes == 0 || compare_lanes(&lanes->lanes[*first], &lane) != 0)
		*first = lanes->nr_lanes;
	for (uint32_t i = *first; i < lanes->nr_lanes; i++)
		if (item->kind == TIMELINE_LAUNCH || lanes->lanes[i].last_ns <= item->start_ns) {
			if (item->kind != TIMELINE_LAUNCH)
				lanes->lanes[i].last_ns = item->end_ns;
			*found = i;
			return 0;
		}
	if (array_reserve(&lanes->lanes, &lanes->room_lanes, lanes->nr_lanes + 1ull, sizeof(lane)))
		return -ENOMEM;
	lane.number = lanes->nr_lanes - *first;
	lane.last_ns = item->end_ns;
	*found = lanes->nr_lanes++;
	lanes->lanes[*found] = lane;
	return 0;
}

static void add_point(struct timeline_lanes *lanes, const struct item *item, uint32_t lane,
		      enum trace_type type)
{
	lanes->points[lanes->nr_points++] = (struct timeline_point){
		.time_ns = type == TRACE_END ? item->end_ns : item->start_ns,
		.lane = lane,
		.event = item->event,
		.type = type,
		.kind = item->kind,
	};
}

/* What takes no time is no slice: its end would come before its begin. */
static int add_items(struct timeline_lanes *lanes, const struct item *items, uint32_t nr_items)
{
	uint32_t first = 0, lane;

	for (uint32_t i = 0; i < nr_items; i++) {
		if (find_lane(lanes, &items[i], &first, &lane))
			return -ENOMEM;
		if (items[i].start_ns == items[i].end_ns) {
			add_point(lanes, &items[i], lane, TRACE_INSTANT);
			continue;
		}
		add_point(lanes, &items[i], lane, TRACE_BEGIN);
		add_point(lanes, &items[i], lane, TRACE_END);
	}
	return 0;
}

static int add_ranges(struct timeline_lanes *lanes, const struct timeline_ranges *ranges)
{
	for (uint32_t i = 0; i < ranges->nr_ranges; i++) {
		const struct timeline_range *range = &ranges->ranges[i];
		const struct timeline_lane lane = {.kind = TIMELINE_RANGES, .ids = {range->tid}};
		struct timeline_point point = {
			.time_ns = range->begin_ns, .event = i, .kind = TIMELINE_RANGE};

		if (i == 0 || ranges->ranges[i - 1].tid != range->tid) {
			if (array_reserve(&lanes->lanes, &lanes->room_lanes, lanes->nr_lanes + 1ull,
					  sizeof(lane)))
				return -ENOMEM;
			lanes->lanes[lanes->nr_lanes++] = lane;
		}
		point.lane = lanes->nr_lanes - 1;
		point.type = range->begin_ns < range->end_ns ? TRACE_BEGIN : TRACE_INSTANT;
		lanes->points[lanes->nr_points++] = point;
		if (point.type == TRACE_INSTANT)
			continue;
		point.time_ns = range->end_ns;
		point.type = TRACE_END;
		lanes->points[lanes->nr_points++] = point;
	}
	return 0;
}

/* Finds the one lane of a device and gauge. */
static int device_lane(struct timeline_lanes *lanes, enum timeline_lane_kind kind,
		       uint32_t device_id, uint32_t gauge, uint32_t *lane)
{
	const struct timeline_lane made = {.kind = kind, .ids = {device_id, gauge}};

	if (lanes->nr_lanes && compare_lanes(&lanes->lanes[lanes->nr_lanes - 1], &made) == 0) {
		*lane = lanes->nr_lanes - 1;
		return 0;
	}
	if (array_reserve(&lanes->lanes, &lanes->room_lanes, lanes->nr_lanes + 1ull, sizeof(made)))
		return -ENOMEM;
	*lane = lanes->nr_lanes++;
	lanes->lanes[*lane] = made;
	return 0;
}

static int add_busy(struct timeline_lanes *lanes, const struct timeline_busy *busy)
{
	uint32_t lane;

	for (uint32_t i = 0; i < busy->nr_idle; i++) {
		struct timeline_point point = {.time_ns = busy->idle[i].begin_ns,
					       .event = i,
					       .type = TRACE_BEGIN,
					       .kind = TIMELINE_IDLE_TIME};

		if (device_lane(lanes, TIMELINE_IDLE, busy->idle[i].device_id, 0, &lane))
			return -ENOMEM;
		point.lane = lane;
		lanes->points[lanes->nr_points++] = point;
		point.time_ns = busy->idle[i].end_ns;
		point.type = TRACE_END;
		lanes->points[lanes->nr_points++] = point;
	}
	for (uint32_t i = 0; i < busy->nr_loads; i++) {
		if (device_lane(lanes, TIMELINE_LOAD, busy->loads[i].device_id, 0, &lane))
			return -ENOMEM;
		lanes->points[lanes->nr_points++] =
			(struct timeline_point){.time_ns = busy->loads[i].time_ns,
						.lane = lane,
						.event = i,
						.type = TRACE_COUNTER,
						.kind = TIMELINE_BUSY_TIME};
	}
	return 0;
}

static int add_gauges(struct timeline_lanes *lanes, const struct timeline_gauges *gauges,
		      const struct timeline_part *part)
{
	uint32_t lane;

	for (uint32_t i = part->first_gauge; i < part->end_gauge; i++) {
		const struct timeline_gauge *gauge = &gauges->gauges[i];

		if (device_lane(lanes, TIMELINE_GAUGE, gauge->device_id, (uint32_t)gauge->kind,
				&lane))
			return -ENOMEM;
		lanes->points[lanes->nr_points++] =
			(struct timeline_point){.time_ns = gauge->time_ns,
						.lane = lane,
						.event = i,
						.type = TRACE_COUNTER,
						.kind = TIMELINE_GAUGE_VALUE};
	}
	return 0;
}

static uint32_t fill_items(const struct timeline_shown *shown, const struct timeline_part *part,
			   struct item *items)
{
	uint32_t nr = 0;

	for (uint32_t i = part->first_launch; i < part->end_launch; i++)
		items[nr++] = launch_item(shown->events, i);
	for (uint32_t i = part->first_work; i < part->end_work; i++)
		items[nr++] = work_item(shown->events, i);
	for (uint32_t i = part->first_call; i < part->end_call; i++)
		items[nr++] = call_item(shown->calls, i);
	return nr;
}

int timeline_lanes_init(struct timeline_lanes *lanes, const struct timeline_shown *shown,
			const struct timeline_part *part)
{
	const uint64_t nr_launches = part->end_launch - part->first_launch;
	const uint64_t nr_items = nr_launches + (part->end_work - part->first_work) +
				  (part->end_call - part->first_call);
	const uint64_t nr_points = 2 * nr_items - nr_launches + 2ull * shown->ranges->nr_ranges +
				   2ull * shown->busy->nr_idle + shown->busy->nr_loads +
				   (part->end_gauge - part->first_gauge);
	struct item *items =
		nr_points < UINT32_MAX ? malloc((nr_items + 1) * sizeof(*items)) : NULL;
	int error = -ENOMEM;

	*lanes = (struct timeline_lanes){0};
	if (items)
		lanes->points = malloc((nr_points + 1) * sizeof(*lanes->points));
	if (lanes->points) {
		const uint32_t nr = fill_items(shown, part, items);

		qsort(items, nr, sizeof(*items), by_lane);
		error = add_items(lanes, items, nr);
		if (!error)
			error = add_ranges(lanes, shown->ranges);
		if (!error)
			error = add_busy(lanes, shown->busy);
		if (!error)
			error = add_gauges(lanes, shown->gauges, part);
		qsort(lanes->points, lanes->nr_points, sizeof(*lanes->points), by_time);
	}
	free(items);
	return error;
}

void timeline_lanes_fini(struct timeline_lanes *lanes)
{
	free(lanes->lanes);
	free(lanes->points);
	*lanes = (struct timeline_lanes){0};
}
