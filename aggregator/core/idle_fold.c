#include "idle_fold.h"

#include <stdlib.h>

struct folding {
	struct fold_table *table;
	uint32_t process, device;
	const struct host_sample *samples;
	uint32_t nr_samples;
	/* Ticks come at least this often between these times. first_ns above last_ns: no ticks are known. */
	uint64_t period_ns, first_ns, last_ns;
};

static uint64_t start_of(const struct host_sample *sample)
{
	return sample->time_ns > sample->duration_ns ? sample->time_ns - sample->duration_ns : 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Sorts by thread, kind and end, then by all other members, so that the order is always the same. */
static int by_place(const void *a, const void *b)
{
	const struct host_sample *x = a, *y = b;
	int order = compare(x->tid, y->tid);

	if (order == 0)
		order = compare(x->kind, y->kind);
	if (order == 0)
		order = compare(x->time_ns, y->time_ns);
	if (order == 0)
		order = compare(x->duration_ns, y->duration_ns);
	if (order == 0)
		order = compare(x->stack_id, y->stack_id);
	return order ? order : compare(x->name_id, y->name_id);
}

static bool same_thread(const struct host_sample *a, const struct host_sample *b)
{
	return a->tid == b->tid && a->kind == b->kind;
}

/* A thread has one wait at a time. Samples are sorted by end, and each wait keeps the part that earlier ones do not
 * cover. */
static void cut_overlaps(struct host_sample *samples, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		const struct host_sample *last = &samples[i - 1];

		if (samples[i].kind == HOST_SAMPLE_OFF_CPU && same_thread(last, &samples[i]) &&
		    start_of(&samples[i]) < last->time_ns)
			samples[i].duration_ns = samples[i].time_ns - last->time_ns;
	}
}

/* Returns the first sample, of this thread and kind or later ones, that ended after time_ns. */
static uint32_t first_after(const struct folding *folding, uint32_t tid, uint8_t kind,
			    uint64_t time_ns)
{
	uint32_t low = 0, high = folding->nr_samples;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct host_sample *sample = &folding->samples[middle];
		int order = compare(sample->tid, tid);

		if (order == 0)
			order = compare(sample->kind, kind);
		if (order < 0 || (order == 0 && sample->time_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_of(const struct folding *folding, uint32_t index, uint32_t tid, uint8_t kind)
{
	return index < folding->nr_samples && folding->samples[index].tid == tid &&
	       folding->samples[index].kind == kind;
}

static int add_row(const struct folding *folding, const struct idle_gap *gap, struct fold_key key,
		   uint64_t ns)
{
	key.process_id = folding->process;
	key.device_id = folding->device;
	key.tid = gap->tid;
	key.kind |= gap->is_pause ? IDLE_PAUSE : 0;
	return ns ? fold_table_add(folding->table, &key, 1, ns, 0) : 0;
}

static int add(const struct folding *folding, const struct idle_gap *gap,
	       const struct host_sample *sample, uint64_t ns)
{
	const struct fold_key key = {
		.stack_id = sample->stack_id, .name_id = sample->name_id, .kind = sample->kind};

	return add_row(folding, gap, key, ns);
}

static int add_unexplained(const struct folding *folding, const struct idle_gap *gap,
			   enum idle_cause cause, uint64_t ns)
{
	return add_row(folding, gap, (struct fold_key){.kind = (uint8_t)cause}, ns);
}

static uint64_t overlap_of(const struct idle_gap *gap, const struct host_sample *sample)
{
	uint64_t start = start_of(sample), end = sample->time_ns;

	start = start > gap->start_ns ? start : gap->start_ns;
	end = end < gap->end_ns ? end : gap->end_ns;
	return end > start ? end - start : 0;
}

/* *rest is the time that no wait covers. */
static int add_waits(const struct folding *folding, const struct idle_gap *gap, uint64_t *rest)
{
	uint32_t i = first_after(folding, gap->tid, HOST_SAMPLE_OFF_CPU, gap->start_ns);
	int error = 0;

	*rest = gap->end_ns - gap->start_ns;
	for (; is_of(folding, i, gap->tid, HOST_SAMPLE_OFF_CPU) && !error; i++) {
		uint64_t ns = overlap_of(gap, &folding->samples[i]);

		error = add(folding, gap, &folding->samples[i], ns);
		*rest -= ns;
		if (folding->samples[i].time_ns >= gap->end_ns)
			break;
	}
	return error;
}

/* Returns the most that a sample may get of a gap: its period. The next sample after the gap has only a part of its
 * period in it. */
static uint64_t room_of(const struct idle_gap *gap, const struct host_sample *sample)
{
	return sample->time_ns <= gap->end_ns ? sample->duration_ns : overlap_of(gap, sample);
}

/* Adds the samples in whole nanoseconds. Each sample gets the sum up to it less the sum before it, so that no
 * nanosecond with room is lost. *rest is the time for which there is no room. */
static int add_samples(const struct folding *folding, const struct idle_gap *gap, uint32_t first,
		       uint32_t count, uint64_t *rest)
{
	unsigned __int128 room = 0, part = 0;
	uint64_t given = 0, whole;
	int error = 0;

	for (uint32_t i = 0; i < count; i++)
		room += room_of(gap, &folding->samples[first + i]);
	whole = room < *rest ? (uint64_t)room : *rest;
	*rest -= whole;
	for (uint32_t i = 0; i < count && !error && whole; i++) {
		const struct host_sample *sample = &folding->samples[first + i];

		/* If the periods are longer than any clock's, the last sample gets all, because the product would not
		 * fit. */
		part += room_of(gap, sample);
		uint64_t sum = room >> 64 ? whole * (uint64_t)(i + 1 == count)
					  : (uint64_t)(part * whole / room);
		error = add(folding, gap, sample, sum - given);
		given = sum;
	}
	return error;
}

static bool ticks_would_see(const struct folding *folding, const struct idle_gap *gap,
			    uint64_t rest)
{
	return rest >= folding->period_ns && gap->start_ns >= folding->first_ns &&
	       gap->end_ns <= folding->last_ns;
}

static int add_gap(const struct folding *folding, const struct idle_gap *gap)
{
	uint32_t first = first_after(folding, gap->tid, HOST_SAMPLE_CPU, gap->start_ns);
	uint32_t end = first_after(folding, gap->tid, HOST_SAMPLE_CPU, gap->end_ns);
	uint64_t rest = 0;
	int error = add_waits(folding, gap, &rest);
	bool seen = ticks_would_see(folding, gap, rest);

	if (is_of(folding, end, gap->tid, HOST_SAMPLE_CPU))
		end++;
	if (!error)
		error = add_samples(folding, gap, first, end - first, &rest);
	if (!error)
		error = add_unexplained(folding, gap, seen ? IDLE_NOT_ON_CPU : IDLE_UNKNOWN, rest);
	return error;
}

/* The longest period is the process's own. Shorter ones were cut by a thread's start or end. */
static void find_ticks(struct folding *folding)
{
	folding->first_ns = UINT64_MAX;
	for (uint32_t i = 0; i < folding->nr_samples; i++) {
		const struct host_sample *sample = &folding->samples[i];

		if (sample->kind != HOST_SAMPLE_CPU)
			continue;
		if (sample->duration_ns > folding->period_ns)
			folding->period_ns = sample->duration_ns;
		if (sample->time_ns < folding->first_ns)
			folding->first_ns = sample->time_ns;
		if (sample->time_ns > folding->last_ns)
			folding->last_ns = sample->time_ns;
	}
}

int idle_fold(struct fold_table *table, uint32_t process, uint32_t device,
	      const struct idle_gap *gaps, uint32_t nr_gaps, struct host_sample *samples,
	      uint32_t nr_samples, bool all_samples)
{
	struct folding folding = {.table = table,
				  .process = process,
				  .device = device,
				  .samples = samples,
				  .nr_samples = nr_samples,
				  .first_ns = UINT64_MAX};
	int error = 0;

	if (nr_samples)
		qsort(samples, nr_samples, sizeof(*samples), by_place);
	cut_overlaps(samples, nr_samples);
	if (all_samples)
		find_ticks(&folding);
	for (uint32_t i = 0; i < nr_gaps && !error; i++)
		error = gaps[i].tid ? add_gap(&folding, &gaps[i])
				    : add_unexplained(&folding, &gaps[i], IDLE_UNKNOWN,
						      gaps[i].end_ns - gaps[i].start_ns);
	return error;
}
