#include "timeline_pauses.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns the time without known work. from_ns < to_ns. */
static uint64_t quiet_ns(struct stream_timeline *timeline, uint64_t from_ns, uint64_t to_ns)
{
	return to_ns - from_ns - stream_timeline_busy_between_ns(timeline, from_ns, to_ns);
}

/* Returns the time without known work that lies in pauses. */
static uint64_t paused_ns(struct stream_timeline *timeline, struct stream_timeline *pauses,
			  uint64_t from_ns, uint64_t to_ns)
{
	uint32_t nr_open;
	const struct timeline_interval *open = stream_timeline_open(pauses, &nr_open);
	uint64_t ns = 0;

	for (uint32_t i = timeline_interval_after(open, nr_open, from_ns);
	     i < nr_open && open[i].start_ns < to_ns; i++)
		ns += quiet_ns(timeline, later(open[i].start_ns, from_ns),
			       earlier(open[i].end_ns, to_ns));
	return ns;
}

/* A damaged store may have said more than there is. */
static void set(struct stream_timeline *timeline, uint64_t uncaptured_ns)
{
	stream_timeline_uncaptured(timeline, 0);
	stream_timeline_uncaptured(timeline,
				   earlier(uncaptured_ns, stream_timeline_idle_ns(timeline)));
}

/* ---- a pause */

/* pauses: without this one. */
static void leave_out(struct timeline_entry *entry, struct stream_timeline *pauses,
		      uint64_t begin_ns, uint64_t end_ns)
{
	struct timeline_sums sums;

	stream_timeline_sums(entry->timeline, &sums);
	const uint64_t from_ns = later(begin_ns, later(sums.first_ns, sums.horizon_ns));
	const uint64_t to_ns = earlier(end_ns, sums.last_ns);

	if (from_ns >= to_ns)
		return;
	set(entry->timeline, sums.uncaptured_ns + quiet_ns(entry->timeline, from_ns, to_ns) -
				     paused_ns(entry->timeline, pauses, from_ns, to_ns));
	entry->changed = true;
}

static bool has_idle_time(const struct timeline_key *key)
{
	return key->level == TIMELINE_STREAM || key->level == TIMELINE_ORDINAL ||
	       key->level == TIMELINE_WORK;
}

int timeline_pauses_add(struct timeline_table *table, const struct timeline_key *key,
			uint64_t begin_ns, uint64_t end_ns)
{
	struct timeline_key device = *key;
	struct timeline_entry *const pauses = timeline_table_get(table, key), *entry = NULL;

	assert(begin_ns < end_ns);
	if (!pauses)
		return -ENOMEM;
	device.level = TIMELINE_DEVICE;
	if (key->level == TIMELINE_DEVICE_PAUSES) {
		entry = timeline_table_find(table, &device);
		if (entry)
			leave_out(entry, pauses->timeline, begin_ns, end_ns);
	} else {
		while ((entry = timeline_table_next(table, key->process_id, entry)))
			if (has_idle_time(&entry->key))
				leave_out(entry, pauses->timeline, begin_ns, end_ns);
	}
	return timeline_entry_add(pauses, begin_ns, end_ns);
}

/* ---- work */

/* NULL: there are none. */
static struct stream_timeline *pauses_of(struct timeline_table *table,
					 const struct timeline_key *key)
{
	struct timeline_key of = {.level = TIMELINE_PAUSES, .process_id = key->process_id};

	if (key->level == TIMELINE_DEVICE) {
		of = *key;
		of.level = TIMELINE_DEVICE_PAUSES;
	} else if (!has_idle_time(key)) {
		return NULL;
	}
	const struct timeline_entry *entry = timeline_table_find(table, &of);
	return entry ? entry->timeline : NULL;
}

/* Whether all pauses end before the work and before earlier work, as nearly always. */
static bool are_over(struct stream_timeline *pauses, const struct timeline_sums *work,
		     uint64_t start_ns)
{
	struct timeline_sums sums;

	stream_timeline_sums(pauses, &sums);
	return sums.last_ns <= work->last_ns && sums.last_ns <= start_ns;
}

int timeline_pauses_work(struct timeline_table *table, const struct timeline_key *key,
			 uint64_t start_ns, uint64_t end_ns)
{
	struct timeline_entry *entry = timeline_table_get(table, key);
	struct stream_timeline *pauses =
		entry && timeline_table_has_pauses(table) ? pauses_of(table, key) : NULL;
	struct timeline_sums sums;

	if (!entry)
		return -ENOMEM;
	stream_timeline_sums(entry->timeline, &sums);
	if (!pauses || sums.records == 0 || are_over(pauses, &sums, start_ns))
		return timeline_entry_add(entry, start_ns, end_ns);

	const uint64_t from_ns = later(start_ns, later(sums.first_ns, sums.horizon_ns));
	const uint64_t to_ns = earlier(end_ns, sums.last_ns);
	const uint64_t filled_ns =
		from_ns < to_ns ? paused_ns(entry->timeline, pauses, from_ns, to_ns) : 0;
	uint64_t ns = sums.uncaptured_ns - earlier(filled_ns, sums.uncaptured_ns);

	if (start_ns > sums.last_ns)
		ns += paused_ns(entry->timeline, pauses, sums.last_ns, start_ns);
	else if (end_ns < sums.first_ns)
		ns += paused_ns(entry->timeline, pauses, end_ns, sums.first_ns);
	const int error = timeline_entry_add(entry, start_ns, end_ns);
	if (!error && ns != sums.uncaptured_ns)
		set(entry->timeline, ns);
	return error;
}
