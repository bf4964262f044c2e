/* The time in which a stream or a whole device was busy: the union of its activities' intervals. It is exact for
 * intervals that overlap and arrive in any order, within a bound. A record is late only
 *   - if more than intervals_max / 2 separate busy intervals lie after its start, or
 *   - if more than STREAM_TIMELINE_KEEP of them do, and it began over STREAM_TIMELINE_SPAN_NS before the latest end.
 * Late records are counted, and the union lacks their time before the horizon. The disorder comes from CUPTI's buffers:
 * each launching thread fills its own, with some 10,000 records over up to a second.
 *
 * The records alone decide which intervals are closed, and when. Reading and saving change nothing, so a restored
 * timeline goes on exactly as the original would have. Pure; one timeline is used by one thread. */
#ifndef STREAM_TIMELINE_H
#define STREAM_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline_interval.h"

/* intervals_max of a stream, 2 MiB at most, and of a device, 8 MiB. Several threads may launch into one
 * stream, as a training step and its autograd thread do. */
#define STREAM_TIMELINE_INTERVALS        (1u << 17)
#define STREAM_TIMELINE_DEVICE_INTERVALS (1u << 19)
#define STREAM_TIMELINE_KEEP             4096u /* this many intervals stay open, however old */
#define STREAM_TIMELINE_SPAN_NS          5000000000u

struct stream_timeline;

/* All values but the open intervals. busy = closed_ns + the open intervals; idle = last_ns - first_ns - busy -
 * uncaptured_ns; overlap = sum_ns - late_ns - busy. */
struct timeline_sums {
	uint64_t records;
	uint64_t sum_ns;            /* of all durations */
	uint64_t closed_ns;         /* busy time before horizon_ns */
	uint64_t horizon_ns;        /* all intervals before it are closed */
	uint64_t first_ns, last_ns; /* earliest start, latest end; 0: no record yet */
	uint64_t late;              /* records that began before the horizon */
	uint64_t late_ns;           /* their time before the horizon */
	uint64_t close_at;          /* number of records at which old intervals are closed next */
	/* time from first_ns to last_ns in which nothing ran that is known, because nothing was captured
	 * (timeline_pauses.h) */
	uint64_t uncaptured_ns;
};

/* intervals_max: at least 2, asserted. It takes memory as needed, up to about twice intervals_max. NULL: out of memory.
 * stream_timeline_destroy() accepts NULL. */
struct stream_timeline *stream_timeline_create(uint32_t intervals_max);
void stream_timeline_destroy(struct stream_timeline *timeline);

/* start_ns <= end_ns, asserted. Amortised O(1) for sorted records and long runs of them; O(log n) for n open intervals
 * in random order. 0 or -ENOMEM: unchanged. */
int stream_timeline_add(struct stream_timeline *timeline, uint64_t start_ns, uint64_t end_ns);

/* Makes the span from first_ns to last_ns reach from from_ns to to_ns at least, because it was watched that long. So
 * what is not busy is idle. from_ns <= to_ns, asserted. A timeline without records stays as it is. */
void stream_timeline_span(struct stream_timeline *timeline, uint64_t from_ns, uint64_t to_ns);

/* Says how much of the span was not captured; records count nowhere in it. ns: no more than what is not busy,
 * asserted. Records and spans that come later do not change it. */
void stream_timeline_uncaptured(struct stream_timeline *timeline, uint64_t ns);

/* Fetch a timeline, and then the place of its next interval, into the processor's cache. Change nothing. */
void stream_timeline_prefetch(const struct stream_timeline *timeline);
void stream_timeline_prefetch_end(const struct stream_timeline *timeline);

/* Copies a timeline into a fresh one with the same intervals_max. All of the copy is unsaved. 0; -ENOMEM: `to` is
 * unchanged. */
int stream_timeline_copy(struct stream_timeline *to, struct stream_timeline *from);

/* Gives `to` all that `from` has but its uncaptured time, because both are of one device, and empties `from`. Both have
 * the same intervals_max. What `from` has closed is busy time too if all of `to` follows it, or if `to` has no records;
 * otherwise it is late. 0; -ENOMEM: both are unchanged. */
int stream_timeline_take(struct stream_timeline *to, struct stream_timeline *from);

void stream_timeline_sums(const struct stream_timeline *timeline, struct timeline_sums *sums);
/* Returns how many records were late so far. */
uint64_t stream_timeline_late(const struct stream_timeline *timeline);
uint64_t stream_timeline_busy_ns(struct stream_timeline *timeline);
/* Returns the busy time between two times, as far as the open intervals have it: behind horizon_ns. */
uint64_t stream_timeline_busy_between_ns(struct stream_timeline *timeline, uint64_t from_ns,
					 uint64_t to_ns);
/* Returns for how much of the span nothing ran though it was captured. */
uint64_t stream_timeline_idle_ns(struct stream_timeline *timeline);

/* Returns the open intervals, sorted. Borrowed until the next call. */
const struct timeline_interval *stream_timeline_open(struct stream_timeline *timeline,
						     uint32_t *nr_open);

/* Returns the open intervals, sorted, from the first one on that is not as it was at stream_timeline_saved(). *whole:
 * these are all open ones, and they replace all that was saved before. Borrowed until the next call. */
const struct timeline_interval *stream_timeline_unsaved(struct stream_timeline *timeline,
							uint32_t *count, bool *whole);
void stream_timeline_saved(struct stream_timeline *timeline);

/* What the records of a cell of time add up to: those that begin in it. */
struct timeline_cell {
	uint64_t records, sum_ns;
	uint64_t busy_ns;           /* but for the time in which records of before the cell run */
	uint64_t first_ns, last_ns; /* earliest start, latest end */
	uint64_t carry_ns; /* latest end of all records of before the cell; 0: there is none */
};

/* Begins a cell at at_ns, and forgets the records of before but for their latest end. All of these began before at_ns,
 * and all that come begin no earlier. */
void stream_timeline_begin_cell(struct stream_timeline *timeline, uint64_t at_ns);
/* Returns the sums since then. */
struct timeline_cell stream_timeline_cell(struct stream_timeline *timeline);

/* Adds a cell in place of its records. The timeline's own began before at_ns, where the cell begins, and what comes
 * begins at to_ns, its end, or later. 0; -ESTALE: other records run on into the cell than those it knows; -EPROTO: no
 * records have such sums; -ENOMEM. After an error the timeline is unchanged. */
int stream_timeline_add_cell(struct stream_timeline *timeline, const struct timeline_cell *cell,
			     uint64_t at_ns, uint64_t to_ns);

/* Closes all intervals and frees their memory, because no more records are expected. Later ones count as late. */
void stream_timeline_close(struct stream_timeline *timeline);

/* Restore a saved timeline. First call load for each list of stream_timeline_unsaved(), in any order. Then call restore
 * with the values of _sums(), _open() and _busy_ns() from the last save. Nothing is unsaved afterwards. 0; -EINVAL: no
 * such values were saved; -ENOMEM. After an error only stream_timeline_destroy() may be called. */
int stream_timeline_load(struct stream_timeline *timeline,
			 const struct timeline_interval *intervals, uint32_t count);
int stream_timeline_restore(struct stream_timeline *timeline, const struct timeline_sums *sums,
			    uint32_t nr_open, uint64_t busy_ns);

#endif
