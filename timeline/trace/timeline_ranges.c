#include "timeline_ranges.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mark_runs.h"

#include "aggregator/core/fold_table.h"
#include "base/array.h"

#define RANGE_PREFIX "[NVTX]"
#define STEP_NAME    RANGE_PREFIX "step" /* of flamegrid_step() */
#define DEPTH        128u                /* a guest knows fewer open ranges of a thread */

struct open_ranges {
	uint32_t names[DEPTH];  /* texts, outermost first */
	uint32_t ranges[DEPTH]; /* their indexes */
	uint32_t nr;
};

struct maker {
	struct timeline_ranges *made;
	const struct timeline_range_names *names;
	struct open_ranges open;
	uint32_t path[DEPTH], nr_path; /* of the present mark */
	uint32_t step;                 /* the text of the thread's step; UINT32_MAX: none is open */
	const struct timeline_launch *begin; /* of that step */
	const struct timeline_launch *last;  /* mark of the thread; NULL: there was none */
};

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_thread(const void *a, const void *b)
{
	const struct timeline_launch *left = a, *right = b;
	int order = COMPARE(left->tid, right->tid);

	order = order ? order : COMPARE(left->time_ns, right->time_ns);
	order = order ? order : COMPARE(right->mark, left->mark);
	return order ? order : COMPARE(left->correlation_id, right->correlation_id);
}

/* "forward" of "[NVTX]forward". */
static int name_range(struct maker *maker, uint32_t node, uint32_t *name)
{
	const uint32_t text = report_paths_node(maker->names->paths, node)->name;
	const char *label = report_names_get(maker->names->names, text);
	char copy[512];

	*name = text;
	if (strncmp(label, RANGE_PREFIX, strlen(RANGE_PREFIX)) != 0)
		return 0;
	/* The table of names may move while it is added to. */
	snprintf(copy, sizeof(copy), "%s", label + strlen(RANGE_PREFIX));
	return report_names_text(maker->names->names, copy, name);
}

static bool is_step(const struct maker *maker, uint32_t node)
{
	const uint32_t text = report_paths_node(maker->names->paths, node)->name;

	return strcmp(report_names_get(maker->names->names, text), STEP_NAME) == 0;
}

/* Takes the mark's ranges, with the step's name in place of the innermost range "step". */
static int find_path(struct maker *maker, const struct timeline_launch *mark)
{
	const struct fold_key key = {.process_id = mark->process_id,
				     .tid = mark->tid,
				     .stack_id = mark->stack_id,
				     .kind = RECORD_GPU_KERNEL,
				     .matched = 1};
	uint32_t node = REPORT_NODE_ROOT, nr = 0;
	bool has_step = maker->step == UINT32_MAX;
	int error = 0;

	if (mark->stack_id && mark->stack_id <= maker->names->nr_nodes)
		error = report_paths_find(maker->names->paths, &key, &node);
	for (uint32_t at = node; !error && at != REPORT_NODE_ROOT;
	     at = report_paths_node(maker->names->paths, at)->parent)
		nr++;
	maker->nr_path = nr < DEPTH - 1 ? nr : DEPTH - 1;
	for (uint32_t at = node; !error && nr > 0;
	     at = report_paths_node(maker->names->paths, at)->parent) {
		if (--nr >= DEPTH - 1)
			continue;
		if (!has_step && is_step(maker, at)) {
			has_step = true;
			maker->path[nr] = maker->step;
		} else {
			error = name_range(maker, at, &maker->path[nr]);
		}
	}
	if (!has_step)
		maker->path[maker->nr_path++] = maker->step;
	return error;
}

static void close_to(struct maker *maker, uint32_t depth, uint64_t time_ns)
{
	while (maker->open.nr > depth)
		maker->made->ranges[maker->open.ranges[--maker->open.nr]].end_ns = time_ns;
}

/* The ends of open ranges are missing, so they end at the last mark. Those that began there are left out. */
static void cut(struct maker *maker)
{
	for (uint32_t i = 0; i < maker->open.nr; i++) {
		struct timeline_range *range = &maker->made->ranges[maker->open.ranges[i]];

		range->is_left_out = range->begin_ns == maker->last->time_ns;
	}
	close_to(maker, 0, maker->last->time_ns);
	maker->step = UINT32_MAX;
}

static bool is_behind_missing(const struct maker *maker, const struct timeline_launch *mark)
{
	if (!maker->last)
		return false;
	return mark->window != maker->last->window ||
	       (maker->step != UINT32_MAX && mark->mark != RECORD_MARK_RANGES &&
		!mark_runs_end(maker->begin, mark));
}

static int open_path(struct maker *maker, const struct timeline_launch *mark)
{
	struct timeline_ranges *made = maker->made;

	for (uint32_t i = maker->open.nr; i < maker->nr_path; i++) {
		if (array_reserve(&made->ranges, &made->room_ranges, made->nr_ranges + 1ull,
				  sizeof(*made->ranges)))
			return -ENOMEM;
		maker->open.names[i] = maker->path[i];
		maker->open.ranges[i] = made->nr_ranges;
		made->ranges[made->nr_ranges++] = (struct timeline_range){
			.begin_ns = mark->time_ns, .tid = mark->tid, .name = maker->path[i]};
	}
	maker->open.nr = maker->nr_path;
	return 0;
}

static int take_mark(struct maker *maker, const struct timeline_launch *mark)
{
	char label[32];
	uint32_t same = 0;
	int error = 0;

	if (is_behind_missing(maker, mark))
		cut(maker);
	maker->last = mark;
	if (mark->mark == RECORD_MARK_STEP) {
		maker->begin = mark;
		snprintf(label, sizeof(label), "step %" PRIu32, mark->correlation_id);
		error = report_names_text(maker->names->names, label, &maker->step);
	} else if (mark->mark == RECORD_MARK_STEP_END) {
		maker->step = UINT32_MAX;
	}
	if (!error)
		error = find_path(maker, mark);
	while (same < maker->open.nr && same < maker->nr_path &&
	       maker->open.names[same] == maker->path[same])
		same++;
	/* The innermost range may have been closed, and another one of its name opened, only with a mark between. */
	if (!error)
		close_to(maker, same, mark->time_ns);
	return error ? error : open_path(maker, mark);
}

/* Leaves those with a part in the time, whose time is known. */
static void keep_within(struct timeline_ranges *made, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < made->nr_ranges; i++) {
		const struct timeline_range *range = &made->ranges[i];

		if (!range->is_left_out && range->begin_ns < to_ns &&
		    (range->end_ns > from_ns || range->begin_ns >= from_ns))
			made->ranges[kept++] = *range;
	}
	made->nr_ranges = kept;
}

int timeline_ranges_init(struct timeline_ranges *ranges, const struct timeline_range_names *names,
			 const struct timeline_marks *of)
{
	struct timeline_launch *marks = of->marks;
	const uint32_t nr_marks = of->nr_marks;

	struct maker maker = {.made = ranges, .names = names, .step = UINT32_MAX};
	int error = mark_runs_set(marks, nr_marks);

	*ranges = (struct timeline_ranges){0};
	if (nr_marks)
		qsort(marks, nr_marks, sizeof(*marks), by_thread);
	for (uint32_t i = 0; i < nr_marks && !error; i++) {
		if (i > 0 && marks[i].tid != marks[i - 1].tid) {
			close_to(&maker, 0, of->last_ns);
			maker.step = UINT32_MAX;
			maker.last = NULL;
		}
		error = take_mark(&maker, &marks[i]);
	}
	close_to(&maker, 0, of->last_ns);
	keep_within(ranges, of->from_ns, of->to_ns);
	return error;
}

void timeline_ranges_fini(struct timeline_ranges *ranges)
{
	free(ranges->ranges);
	*ranges = (struct timeline_ranges){0};
}
