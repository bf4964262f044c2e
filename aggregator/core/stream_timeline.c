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

/* Records go to the end of recent, unsorted. From time to time, and before each reading, the unmerged ones are sorted
 * and merged into open. Room for that always exists, so only adding can fail. */
struct stream_timeline {
	struct timeline_sums sums;
	struct interval_list open;    /* in order */
	uint64_t open_ns;             /* sum of the open intervals */
	struct interval_list recent;  /* records since saved() */
	uint32_t nr_merged;           /* number of the first ones of recent that are merged */
	struct interval_list scratch; /* room for half of recent */
	bool all_unsaved;             /* recent was longer than half of open, and was dropped */
	uint32_t intervals_max;
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
	free(timeline->recent.at);
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

static int reserve_one(struct stream_timeline *timeline)
{
	uint32_t nr_recent = timeline->recent.count + 1;
	uint32_t nr_open = timeline->open.count + nr_recent - timeline->nr_merged;

	if (nr_recent <= timeline->recent.room && nr_open <= timeline->open.room)
		return 0;
	/* Room doubles, so nr_recent - 1 is half of the next size. */
	if (reserve(&timeline->scratch, nr_recent - 1) || reserve(&timeline->recent, nr_recent))
		return -ENOMEM;
	return reserve(&timeline->open, nr_open);
}

static uint64_t length_ns(const struct timeline_interval *interval)
{
	return interval->end_ns - interval->start_ns;
}

/* Joins intervals in open that touch, from nr_joined on. Those before are sorted. */
static void join_open(struct stream_timeline *timeline, uint32_t nr_joined)
{
	struct timeline_interval *open = timeline->open.at;

	for (uint32_t i = nr_joined; i < timeline->open.count; i++) {
		struct timeline_interval *last = nr_joined ? &open[nr_joined - 1] : NULL;

		if (!last || open[i].start_ns > last->end_ns) {
			timeline->open_ns += length_ns(&open[i]);
			open[nr_joined++] = open[i];
		} else if (open[i].end_ns > last->end_ns) {
			timeline->open_ns += open[i].end_ns - last->end_ns;
			last->end_ns = open[i].end_ns;
		}
	}
	timeline->open.count = nr_joined;
}

/* run is sorted, and open has room for it. Merging from the end moves only intervals that run overlaps. */
static void merge_run(struct stream_timeline *timeline, const struct timeline_interval *run,
		      uint32_t count)
{
	struct timeline_interval *open = timeline->open.at;
	uint32_t left = timeline->open.count, out = left + count;

	timeline->open.count = out;
	if (count && (left == 0 || open[left - 1].start_ns <= run[0].start_ns)) {
		memcpy(open + left, run, count * sizeof(*run));
		count = 0;
	}
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

static void merge_recent(struct stream_timeline *timeline)
{
	struct interval_list *recent = &timeline->recent;
	uint32_t count = recent->count - timeline->nr_merged;

	if (count == 0)
		return;
	struct timeline_interval *run = recent->at + timeline->nr_merged;
	if (!timeline_interval_ordered(run, count))
		count = timeline_interval_order(run, count, timeline->scratch.at);
	merge_run(timeline, run, count);
	recent->count = timeline->nr_merged =
		timeline->all_unsaved ? 0 : timeline->nr_merged + count;
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
	merge_recent(timeline);

	uint32_t nr_closed = nr_aged(timeline), nr_open = timeline->open.count;
	uint32_t nr_kept = timeline->intervals_max / 2;
	if (nr_open > timeline->intervals_max - spare_of(timeline) && nr_closed < nr_open - nr_kept)
		nr_closed = nr_open - nr_kept;
	if (nr_closed)
		close_oldest(timeline, nr_closed);
	if (timeline->recent.count > timeline->open.count / 2) {
		timeline->all_unsaved = true;
		timeline->recent.count = timeline->nr_merged = 0;
	}
	timeline->sums.close_at = timeline->sums.records + step_of(timeline);
}

/* The caller has made room. */
static void append(struct stream_timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
	struct interval_list *recent = &timeline->recent;
	struct timeline_interval *last = recent->at + recent->count;

	if (recent->count > timeline->nr_merged && start_ns <= last[-1].end_ns &&
	    end_ns >= last[-1].start_ns) {
		last--;
		last->start_ns = start_ns < last->start_ns ? start_ns : last->start_ns;
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return;
	}
	*last = (struct timeline_interval){start_ns, end_ns};
	recent->count++;
}

int stream_timeline_add(struct stream_timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
	struct timeline_sums *sums = &timeline->sums;

	assert(start_ns <= end_ns);
	if (reserve_one(timeline))
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
	if (start_ns < end_ns)
		append(timeline, start_ns, end_ns);
	if (sums->records >= sums->close_at)
		close_old(timeline);
	return 0;
}

void stream_timeline_prefetch(const struct stream_timeline *timeline)
{
	for (size_t at = 0; at < sizeof(*timeline); at += CACHE_LINE)
		__builtin_prefetch((const char *)timeline + at, 1);
}

void stream_timeline_prefetch_end(const struct stream_timeline *timeline)
{
	if (timeline->recent.count < timeline->recent.room)
		__builtin_prefetch(&timeline->recent.at[timeline->recent.count], 1);
}

int stream_timeline_copy(struct stream_timeline *to, struct stream_timeline *from)
{
	assert(to->intervals_max == from->intervals_max && to->sums.records == 0);
	merge_recent(from);
	if (reserve(&to->open, from->open.count))
		return -ENOMEM;
	if (from->open.count)
		memcpy(to->open.at, from->open.at, from->open.count * sizeof(*to->open.at));
	to->open.count = from->open.count;
	to->open_ns = from->open_ns;
	to->sums = from->sums;
	to->all_unsaved = true;
	return 0;
}

void stream_timeline_sums(const struct stream_timeline *timeline, struct timeline_sums *sums)
{
	*sums = timeline->sums;
}

uint64_t stream_timeline_busy_ns(struct stream_timeline *timeline)
{
	merge_recent(timeline);
	return timeline->sums.closed_ns + timeline->open_ns;
}

const struct timeline_interval *stream_timeline_open(struct stream_timeline *timeline,
						     uint32_t *nr_open)
{
	merge_recent(timeline);
	*nr_open = timeline->open.count;
	return timeline->open.at;
}

const struct timeline_interval *stream_timeline_unsaved(struct stream_timeline *timeline,
							uint32_t *count, bool *whole)
{
	struct interval_list *recent = &timeline->recent;

	merge_recent(timeline);
	recent->count = timeline->nr_merged =
		timeline_interval_order(recent->at, recent->count, timeline->scratch.at);
	*whole = timeline->all_unsaved || recent->count >= timeline->open.count;
	*count = *whole ? timeline->open.count : recent->count;
	return *whole ? timeline->open.at : recent->at;
}

void stream_timeline_saved(struct stream_timeline *timeline)
{
	merge_recent(timeline);
	timeline->recent.count = timeline->nr_merged = 0;
	timeline->all_unsaved = false;
}

void stream_timeline_close(struct stream_timeline *timeline)
{
	timeline->sums.closed_ns = stream_timeline_busy_ns(timeline);
	timeline->sums.horizon_ns = timeline->sums.last_ns;
	free_lists(timeline);
	timeline->open = timeline->recent = timeline->scratch = (struct interval_list){0};
	timeline->open_ns = 0;
	timeline->nr_merged = 0;
	timeline->all_unsaved = true;
}

int stream_timeline_load(struct stream_timeline *timeline,
			 const struct timeline_interval *intervals, uint32_t count)
{
	if (!timeline_interval_ordered(intervals, count) || count > timeline->intervals_max)
		return -EINVAL;
	if (reserve(&timeline->open, timeline->open.count + count))
		return -ENOMEM;
	merge_run(timeline, intervals, count);
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
	return 0;
}
