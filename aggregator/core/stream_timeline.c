#include "stream_timeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define STEP_MIN   1024u
#define CACHE_LINE 64u

struct interval_list {
	struct timeline_interval *at;
	uint32_t count, room;
};

/* A record that does not begin before the last open interval joins it, or follows it. A record that does begin before
 * it goes to the end of open, and so do all after that one. From time to time, and before each reading, these are
 * sorted and merged. Room for that always exists, so only adding can fail. */
struct stream_timeline {
	struct timeline_sums sums;
	struct interval_list open;
	uint32_t nr_merged; /* the first ones of open, in order */
	uint32_t nr_saved;  /* the first ones of these, which are as at the last saved() */
	uint64_t open_ns;   /* sum of the merged ones */
	struct interval_list scratch; /* room for all that are not merged */
	uint32_t intervals_max;
	uint64_t carry_ns; /* of the cell that has begun */
};

static uint32_t spare_of(const struct stream_timeline *timeline)
{
	return timeline->intervals_max < 8 ? 1 : timeline->intervals_max / 8;
}

/* Returns the number of records until the next closing. It grows with open, so that the merge costs little for each
 * record. */
static uint32_t step_of(const struct stream_timeline *timeline)
{
	uint32_t spare = spare_of(timeline), step = timeline->open.count / 4;

	if (step < STEP_MIN)
		step = STEP_MIN;
	return step < spare ? step : spare;
}

struct stream_timeline *stream_timeline_create(uint32_t intervals_max)
{
	struct stream_timeline *timeline = calloc(1, sizeof(*timeline));

	assert(intervals_max >= 2);
	if (!timeline)
		return NULL;
	timeline->intervals_max = intervals_max;
	timeline->sums.close_at = step_of(timeline);
	return timeline;
}

static void free_lists(struct stream_timeline *timeline)
{
	free(timeline->open.at);
	free(timeline->scratch.at);
}

void stream_timeline_destroy(struct stream_timeline *timeline)
{
	if (!timeline)
		return;
	free_lists(timeline);
	free(timeline);
}

static int reserve(struct interval_list *list, uint32_t count)
{
	return array_reserve(&list->at, &list->room, count, sizeof(*list->at));
}

/* Returns whether a record needs no merging. */
static bool in_order(const struct stream_timeline *timeline, uint64_t start_ns)
{
	const struct interval_list *open = &timeline->open;

	return open->count == timeline->nr_merged &&
	       (open->count == 0 || start_ns >= open->at[open->count - 1].start_ns);
}

static int reserve_one(struct stream_timeline *timeline, uint64_t start_ns)
{
	uint32_t nr_open = timeline->open.count + 1;

	if (nr_open > timeline->open.room && reserve(&timeline->open, nr_open))
		return -ENOMEM;
	if (in_order(timeline, start_ns))
		return 0;
	return reserve(&timeline->scratch, nr_open - timeline->nr_merged);
}

static uint64_t length_ns(const struct timeline_interval *interval)
{
	return interval->end_ns - interval->start_ns;
}

static void note_changed(struct stream_timeline *timeline, uint32_t first)
{
	if (first < timeline->nr_saved)
		timeline->nr_saved = first;
}

/* Joins intervals in open that touch, from nr_joined on. Those before are as they should be. */
static void join_open(struct stream_timeline *timeline, uint32_t nr_joined)
{
	struct timeline_interval *open = timeline->open.at;

	note_changed(timeline, nr_joined);
	for (uint32_t i = nr_joined; i < timeline->open.count; i++) {
		struct timeline_interval *last = nr_joined ? &open[nr_joined - 1] : NULL;

		if (!last || open[i].start_ns > last->end_ns) {
			timeline->open_ns += length_ns(&open[i]);
			open[nr_joined++] = open[i];
		} else if (open[i].end_ns > last->end_ns) {
			timeline->open_ns += open[i].end_ns - last->end_ns;
			last->end_ns = open[i].end_ns;
			note_changed(timeline, nr_joined - 1);
		}
	}
	timeline->open.count = timeline->nr_merged = nr_joined;
}

/* The last `count` of open are sorted. Merging from the end moves only intervals that they overlap. */
static void merge_run(struct stream_timeline *timeline, uint32_t count)
{
	struct timeline_interval *open = timeline->open.at, *run = timeline->scratch.at;
	uint32_t left = timeline->nr_merged, out = left + count;

	timeline->open.count = out;
	if (left == 0 || open[left - 1].start_ns <= open[left].start_ns)
		count = 0;
	else
		memcpy(run, open + left, count * sizeof(*run));
	while (count > 0) {
		if (left > 0 && open[left - 1].start_ns > run[count - 1].start_ns) {
			open[--out] = open[--left];
			timeline->open_ns -= length_ns(&open[out]);
		} else {
			open[--out] = run[--count];
		}
	}
	join_open(timeline, left);
}

static void merge_open(struct stream_timeline *timeline)
{
	uint32_t count = timeline->open.count - timeline->nr_merged;

	if (count == 0)
		return;
	struct timeline_interval *run = timeline->open.at + timeline->nr_merged;
	if (!timeline_interval_ordered(run, count))
		count = timeline_interval_order(run, count, timeline->scratch.at);
	merge_run(timeline, count);
}

static void close_oldest(struct stream_timeline *timeline, uint32_t count)
{
	struct interval_list *open = &timeline->open;
	uint64_t closed_ns = 0;

	for (uint32_t i = 0; i < count; i++)
		closed_ns += length_ns(&open->at[i]);
	timeline->sums.horizon_ns = open->at[count - 1].end_ns;
	timeline->sums.closed_ns += closed_ns;
	timeline->open_ns -= closed_ns;
	open->count -= count;
	timeline->nr_merged = open->count;
	timeline->nr_saved -= count < timeline->nr_saved ? count : timeline->nr_saved;
	memmove(open->at, open->at + count, open->count * sizeof(*open->at));
}

static uint32_t nr_aged(const struct stream_timeline *timeline)
{
	uint64_t last_ns = timeline->sums.last_ns;
	uint32_t nr_open = timeline->open.count;

	if (nr_open <= STREAM_TIMELINE_KEEP || last_ns < STREAM_TIMELINE_SPAN_NS)
		return 0;
	return timeline_interval_after(timeline->open.at, nr_open - STREAM_TIMELINE_KEEP,
				       last_ns - STREAM_TIMELINE_SPAN_NS);
}

/* It runs at fixed numbers of records, so that readings and saves do not matter. */
static void close_old(struct stream_timeline *timeline)
{
	merge_open(timeline);

	uint32_t nr_closed = nr_aged(timeline), nr_open = timeline->open.count;
	uint32_t nr_kept = timeline->intervals_max / 2;
	if (nr_open > timeline->intervals_max - spare_of(timeline) && nr_closed < nr_open - nr_kept)
		nr_closed = nr_open - nr_kept;
	if (nr_closed)
		close_oldest(timeline, nr_closed);
	timeline->sums.close_at = timeline->sums.records + step_of(timeline);
}

/* Adds a record that needs no merging. The caller has made room. */
static void extend(struct stream_timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
	struct interval_list *open = &timeline->open;
	struct timeline_interval *last = open->at + open->count;

	if (open->count == 0 || start_ns > last[-1].end_ns) {
		*last = (struct timeline_interval){start_ns, end_ns};
		timeline->open_ns += end_ns - start_ns;
		timeline->nr_merged = ++open->count;
	} else if (end_ns > last[-1].end_ns) {
		timeline->open_ns += end_ns - last[-1].end_ns;
		last[-1].end_ns = end_ns;
		note_changed(timeline, open->count - 1);
	}
}

/* The caller has made room. */
static void append(struct stream_timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
	struct interval_list *open = &timeline->open;
	struct timeline_interval *last = open->at + open->count;

	if (open->count > timeline->nr_merged && start_ns <= last[-1].end_ns &&
	    end_ns >= last[-1].start_ns) {
		last--;
		last->start_ns = start_ns < last->start_ns ? start_ns : last->start_ns;
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return;
	}
	*last = (struct timeline_interval){start_ns, end_ns};
	open->count++;
}

int stream_timeline_add(struct stream_timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
	struct timeline_sums *sums = &timeline->sums;

	assert(start_ns <= end_ns);
	if (reserve_one(timeline, start_ns))
		return -ENOMEM;

	if (sums->records == 0 || start_ns < sums->first_ns)
		sums->first_ns = start_ns;
	if (end_ns > sums->last_ns)
		sums->last_ns = end_ns;
	sums->records++;
	sums->sum_ns += end_ns - start_ns;
	if (start_ns < sums->horizon_ns) {
		uint64_t late_end_ns = end_ns < sums->horizon_ns ? end_ns : sums->horizon_ns;

		sums->late++;
		sums->late_ns += late_end_ns - start_ns;
		start_ns = late_end_ns;
	}
	if (start_ns < end_ns && in_order(timeline, start_ns))
		extend(timeline, start_ns, end_ns);
	else if (start_ns < end_ns)
		append(timeline, start_ns, end_ns);
	if (sums->records >= sums->close_at)
		close_old(timeline);
	return 0;
}

void stream_timeline_span(struct stream_timeline *timeline, uint64_t from_ns, uint64_t to_ns)
{
	struct timeline_sums *sums = &timeline->sums;

	assert(from_ns <= to_ns);
	if (sums->records == 0)
		return;
	if (from_ns < sums->first_ns)
		sums->first_ns = from_ns;
	if (to_ns > sums->last_ns)
		sums->last_ns = to_ns;
}

void stream_timeline_uncaptured(struct stream_timeline *timeline, uint64_t ns)
{
	timeline->sums.uncaptured_ns = 0;
	assert(ns <= stream_timeline_idle_ns(timeline));
	timeline->sums.uncaptured_ns = ns;
}

void stream_timeline_prefetch(const struct stream_timeline *timeline)
{
	for (size_t at = 0; at < sizeof(*timeline); at += CACHE_LINE)
		__builtin_prefetch((const char *)timeline + at, 1);
}

void stream_timeline_prefetch_end(const struct stream_timeline *timeline)
{
	if (timeline->open.count < timeline->open.room)
		__builtin_prefetch(&timeline->open.at[timeline->open.count], 1);
}

int stream_timeline_copy(struct stream_timeline *to, struct stream_timeline *from)
{
	assert(to->intervals_max == from->intervals_max && to->sums.records == 0);
	merge_open(from);
	if (reserve(&to->open, from->open.count))
		return -ENOMEM;
	if (from->open.count)
		memcpy(to->open.at, from->open.at, from->open.count * sizeof(*to->open.at));
	to->open.count = to->nr_merged = from->open.count;
	to->open_ns = from->open_ns;
	to->sums = from->sums;
	to->carry_ns = from->carry_ns;
	return 0;
}

/* Counts what lies before the horizon as late. Returns how many of the intervals lie behind it, at least in part. */
static uint32_t cut_late(struct timeline_sums *sums, struct timeline_interval *intervals,
			 uint32_t count)
{
	const uint32_t first = timeline_interval_after(intervals, count, sums->horizon_ns);

	for (uint32_t i = 0; i < first; i++)
		sums->late_ns += length_ns(&intervals[i]);
	sums->late += first;
	if (first < count && intervals[first].start_ns < sums->horizon_ns) {
		sums->late++;
		sums->late_ns += sums->horizon_ns - intervals[first].start_ns;
		intervals[first].start_ns = sums->horizon_ns;
	}
	return count - first;
}

static void add_sums(struct timeline_sums *sums, const struct timeline_sums *from)
{
	const bool is_before = sums->records == 0 || from->horizon_ns <= sums->first_ns;

	if (sums->records == 0 || from->first_ns < sums->first_ns)
		sums->first_ns = from->first_ns;
	if (from->last_ns > sums->last_ns)
		sums->last_ns = from->last_ns;
	sums->records += from->records;
	sums->sum_ns += from->sum_ns;
	sums->late += from->late + (!is_before && from->closed_ns);
	sums->late_ns += from->late_ns + (is_before ? 0 : from->closed_ns);
	sums->closed_ns += is_before ? from->closed_ns : 0;
	if (is_before && from->horizon_ns > sums->horizon_ns)
		sums->horizon_ns = from->horizon_ns;
}

int stream_timeline_take(struct stream_timeline *to, struct stream_timeline *from)
{
	assert(to->intervals_max == from->intervals_max);
	merge_open(to);
	merge_open(from);
	const uint32_t nr_open = from->open.count;

	if (from->sums.records == 0)
		return 0;
	if (reserve(&to->open, to->open.count + nr_open) || reserve(&to->scratch, nr_open))
		return -ENOMEM;
	add_sums(&to->sums, &from->sums);
	const uint32_t count = cut_late(&to->sums, from->open.at, nr_open);
	if (count) {
		memcpy(to->open.at + to->open.count, from->open.at + nr_open - count,
		       count * sizeof(*to->open.at));
		merge_run(to, count);
	}
	close_old(to);
	const uint64_t uncaptured_ns = to->sums.uncaptured_ns;
	to->sums.uncaptured_ns = 0;
	const uint64_t idle_ns = stream_timeline_idle_ns(to);
	to->sums.uncaptured_ns = uncaptured_ns < idle_ns ? uncaptured_ns : idle_ns;
	free_lists(from);
	*from = (struct stream_timeline){.intervals_max = from->intervals_max};
	from->sums.close_at = step_of(from);
	return 0;
}

void stream_timeline_sums(const struct stream_timeline *timeline, struct timeline_sums *sums)
{
	*sums = timeline->sums;
}

uint64_t stream_timeline_late(const struct stream_timeline *timeline)
{
	return timeline->sums.late;
}

uint64_t stream_timeline_busy_ns(struct stream_timeline *timeline)
{
	merge_open(timeline);
	return timeline->sums.closed_ns + timeline->open_ns;
}

uint64_t stream_timeline_busy_between_ns(struct stream_timeline *timeline, uint64_t from_ns,
					 uint64_t to_ns)
{
	uint32_t nr_open;
	const struct timeline_interval *open = stream_timeline_open(timeline, &nr_open);
	uint64_t ns = 0;

	for (uint32_t i = timeline_interval_after(open, nr_open, from_ns);
	     i < nr_open && open[i].start_ns < to_ns; i++)
		ns += (open[i].end_ns < to_ns ? open[i].end_ns : to_ns) -
		      (open[i].start_ns > from_ns ? open[i].start_ns : from_ns);
	return ns;
}

uint64_t stream_timeline_idle_ns(struct stream_timeline *timeline)
{
	const struct timeline_sums *sums = &timeline->sums;

	return sums->last_ns - sums->first_ns - stream_timeline_busy_ns(timeline) -
	       sums->uncaptured_ns;
}

const struct timeline_interval *stream_timeline_open(struct stream_timeline *timeline,
						     uint32_t *nr_open)
{
	merge_open(timeline);
	*nr_open = timeline->open.count;
	return timeline->open.at;
}

const struct timeline_interval *stream_timeline_unsaved(struct stream_timeline *timeline,
							uint32_t *count, bool *whole)
{
	merge_open(timeline);
	*whole = timeline->nr_saved == 0;
	*count = timeline->open.count - timeline->nr_saved;
	return timeline->nr_saved ? timeline->open.at + timeline->nr_saved : timeline->open.at;
}

void stream_timeline_saved(struct stream_timeline *timeline)
{
	merge_open(timeline);
	timeline->nr_saved = timeline->open.count;
}

/* ---- cells of time */

static uint64_t later_of(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* Of what is before at_ns only the part behind it can touch what comes, so that alone stays open. There is room for one
 * interval. */
static void keep_open(struct stream_timeline *timeline, uint64_t at_ns, uint64_t end_ns,
		      uint64_t busy_ns)
{
	const uint32_t nr_open = end_ns > at_ns;

	if (nr_open)
		timeline->open.at[0] = (struct timeline_interval){at_ns, end_ns};
	timeline->open.count = timeline->nr_merged = nr_open;
	timeline->nr_saved = 0;
	timeline->open_ns = nr_open ? end_ns - at_ns : 0;
	timeline->sums.closed_ns = busy_ns - timeline->open_ns; /* modulo 2^64 */
	timeline->sums.horizon_ns = at_ns;
	timeline->sums.close_at = timeline->sums.records + step_of(timeline);
}

void stream_timeline_begin_cell(struct stream_timeline *timeline, uint64_t at_ns)
{
	timeline->carry_ns = later_of(timeline->carry_ns, timeline->sums.last_ns);
	timeline->sums = (struct timeline_sums){0};
	keep_open(timeline, at_ns, timeline->carry_ns, 0);
}

struct timeline_cell stream_timeline_cell(struct stream_timeline *timeline)
{
	const struct timeline_sums *sums = &timeline->sums;

	return (struct timeline_cell){
		.records = sums->records,
		.sum_ns = sums->sum_ns,
		.busy_ns = stream_timeline_busy_ns(timeline),
		.first_ns = sums->first_ns,
		.last_ns = sums->last_ns,
		.carry_ns = timeline->carry_ns,
	};
}

int stream_timeline_add_cell(struct stream_timeline *timeline, const struct timeline_cell *cell,
			     uint64_t at_ns, uint64_t to_ns)
{
	struct timeline_sums *sums = &timeline->sums;
	const uint64_t last_ns = later_of(sums->last_ns, cell->last_ns);
	const uint64_t rest_ns = last_ns > to_ns ? last_ns - to_ns : 0;

	if (cell->records == 0 || cell->first_ns < at_ns || cell->first_ns >= to_ns ||
	    cell->last_ns < cell->first_ns || cell->busy_ns > cell->last_ns - cell->first_ns ||
	    cell->busy_ns > cell->sum_ns)
		return -EPROTO;
	if (later_of(sums->last_ns, at_ns) != later_of(cell->carry_ns, at_ns))
		return -ESTALE;
	const uint64_t busy_ns = stream_timeline_busy_ns(timeline) + cell->busy_ns;
	if (busy_ns < rest_ns)
		return -EPROTO;
	if (reserve(&timeline->open, 1))
		return -ENOMEM;
	if (sums->records == 0)
		sums->first_ns = cell->first_ns;
	sums->last_ns = last_ns;
	sums->records += cell->records;
	sums->sum_ns += cell->sum_ns;
	keep_open(timeline, to_ns, last_ns, busy_ns);
	return 0;
}

void stream_timeline_close(struct stream_timeline *timeline)
{
	timeline->sums.closed_ns = stream_timeline_busy_ns(timeline);
	timeline->sums.horizon_ns = timeline->sums.last_ns;
	free_lists(timeline);
	timeline->open = timeline->scratch = (struct interval_list){0};
	timeline->open_ns = 0;
	timeline->nr_merged = timeline->nr_saved = 0;
}

int stream_timeline_load(struct stream_timeline *timeline,
			 const struct timeline_interval *intervals, uint32_t count)
{
	if (!timeline_interval_ordered(intervals, count) || count > timeline->intervals_max)
		return -EINVAL;
	if (count == 0)
		return 0;
	if (reserve(&timeline->open, timeline->open.count + count) ||
	    (!in_order(timeline, intervals[0].start_ns) && reserve(&timeline->scratch, count)))
		return -ENOMEM;
	memcpy(timeline->open.at + timeline->open.count, intervals, count * sizeof(*intervals));
	merge_run(timeline, count);
	return 0;
}

/* Drops intervals that were saved before they were closed. */
static void drop_closed(struct stream_timeline *timeline)
{
	struct interval_list *open = &timeline->open;
	uint64_t horizon_ns = timeline->sums.horizon_ns;
	uint32_t first = timeline_interval_after(open->at, open->count, horizon_ns);

	for (uint32_t i = 0; i < first; i++)
		timeline->open_ns -= length_ns(&open->at[i]);
	open->count -= first;
	timeline->nr_merged = open->count;
	if (open->count == 0)
		return;
	memmove(open->at, open->at + first, open->count * sizeof(*open->at));
	if (open->at[0].start_ns < horizon_ns) {
		timeline->open_ns -= horizon_ns - open->at[0].start_ns;
		open->at[0].start_ns = horizon_ns;
	}
}

int stream_timeline_restore(struct stream_timeline *timeline, const struct timeline_sums *sums,
			    uint32_t nr_open, uint64_t busy_ns)
{
	timeline->sums = *sums;
	drop_closed(timeline);
	if (timeline->open.count != nr_open || nr_open > timeline->intervals_max ||
	    sums->closed_ns + timeline->open_ns != busy_ns)
		return -EINVAL;
	if (sums->close_at <= sums->records || sums->close_at - sums->records > spare_of(timeline))
		return -EINVAL;
	if (sums->uncaptured_ns &&
	    (sums->last_ns < sums->first_ns || sums->last_ns - sums->first_ns < busy_ns ||
	     sums->last_ns - sums->first_ns - busy_ns < sums->uncaptured_ns))
		return -EINVAL;
	timeline->nr_saved = nr_open;
	return 0;
}
