#include "kernel_times.h"

#include <errno.h>
#include <stdlib.h>

#include "kernel_stacks.h"

#include "aggregator/profile/catalog.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "report/statistics/drift.h"
#include "timeline/trace/timeline_events.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct key {
	uint32_t name_id, stack_id, capture_stack_id;
	uint8_t kind, copy_kind, zeroes[2];
};

struct reader {
	struct kernel_times *times;
	const struct timeline_request *request;
	uint64_t slice_ns;
	struct hash_index index;     /* by key: its time's index + 1 */
	uint32_t nr_names, nr_nodes; /* ids of the catalog up to these are known */
};

static struct key key_of(const struct reader *reader, const struct timeline_work *work,
			 const struct timeline_launch *launch)
{
	const bool is_kernel = work->kind == RECORD_GPU_KERNEL;
	struct key key = {.kind = work->kind, .copy_kind = is_kernel ? 0 : work->copy_kind};

	if (is_kernel && work->name_id <= reader->nr_names)
		key.name_id = work->name_id;
	if (!reader->times->by_stack)
		return key;
	if (launch && launch->stack_id <= reader->nr_nodes)
		key.stack_id = launch->stack_id;
	if (work->capture_stack_id <= reader->nr_nodes)
		key.capture_stack_id = work->capture_stack_id;
	return key;
}

static bool is_equal(const void *context, uint32_t id, const void *data)
{
	const struct kernel_times *times = context;
	const struct kernel_time *time = &times->times[id - 1];
	const struct key *key = data;

	return time->kind == key->kind && time->copy_kind == key->copy_kind &&
	       time->name_id == key->name_id && time->stack_id == key->stack_id &&
	       time->capture_stack_id == key->capture_stack_id;
}

/* NULL: there is no memory, or no room. */
static struct kernel_time *find_time(struct reader *reader, const struct timeline_work *work,
				     const struct timeline_launch *launch)
{
	struct kernel_times *times = reader->times;
	const struct key key = key_of(reader, work, launch);
	const uint32_t hash = hash_index_hash(&key, sizeof(key));
	const uint32_t found = hash_index_find(&reader->index, hash, is_equal, times, &key);

	if (found)
		return &times->times[found - 1];
	if (times->nr_times == KERNEL_TIMES_MOST ||
	    array_reserve(&times->times, &times->room_times, times->nr_times + 1ull,
			  sizeof(*times->times)) ||
	    hash_index_insert(&reader->index, hash, times->nr_times + 1))
		return NULL;
	struct kernel_time *time = &times->times[times->nr_times++];
	*time = (struct kernel_time){.kind = key.kind,
				     .copy_kind = key.copy_kind,
				     .name_id = key.name_id,
				     .stack_id = key.stack_id,
				     .capture_stack_id = key.capture_stack_id,
				     .first_ns = work->start_ns};
	return time;
}

static int ignore_launch(void *context, const struct timeline_launch *launch)
{
	(void)context;
	(void)launch;
	return 0;
}

/* What the log covers is known to a few milliseconds, so work may begin a little before or behind that. */
static uint32_t slice_of(const struct reader *reader, uint64_t start_ns)
{
	const uint64_t from_ns = reader->times->from_ns;
	const uint64_t slice = start_ns > from_ns ? (start_ns - from_ns) / reader->slice_ns : 0;

	return slice < KERNEL_TIMES_SLICES ? (uint32_t)slice : KERNEL_TIMES_SLICES - 1;
}

static int take_launched(void *context, const struct timeline_work *work,
			 const struct timeline_launch *launch)
{
	struct reader *reader = context;
	struct kernel_times *times = reader->times;

	if (work->kind == RECORD_GPU_SYNC || work->kind >= RECORD_GPU_KINDS ||
	    work->start_ns < reader->request->from_ns || work->start_ns >= reader->request->to_ns)
		return 0;
	struct kernel_time *time = find_time(reader, work, launch);
	if (!time) {
		times->nr_left_out++;
		return times->nr_times == KERNEL_TIMES_MOST ? 0 : -ENOMEM;
	}
	struct kernel_slice *slice = &time->slices[slice_of(reader, work->start_ns)];
	const uint64_t ns = work->end_ns - work->start_ns;

	if (duration_bins_add(&time->bins, duration_bucket(ns), 1))
		return -ENOMEM;
	slice->count++;
	slice->ns += ns;
	time->count++;
	time->ns += ns;
	time->first_ns = work->start_ns < time->first_ns ? work->start_ns : time->first_ns;
	time->last_ns = work->end_ns > time->last_ns ? work->end_ns : time->last_ns;
	return 0;
}

static int take_work(void *context, const struct timeline_work *work)
{
	return take_launched(context, work, NULL);
}

static int by_time(const void *a, const void *b)
{
	const struct kernel_time *left = a, *right = b;
	int order = COMPARE(right->ns, left->ns);

	order = order ? order : COMPARE(left->kind, right->kind);
	order = order ? order : COMPARE(left->name_id, right->name_id);
	order = order ? order : COMPARE(left->copy_kind, right->copy_kind);
	order = order ? order : COMPARE(left->stack_id, right->stack_id);
	return order ? order : COMPARE(left->capture_stack_id, right->capture_stack_id);
}

static void find_drift(struct kernel_time *time)
{
	double means[KERNEL_TIMES_SLICES];
	struct drift drift;
	uint32_t nr = 0;

	time->drifts = false;
	_Static_assert(KERNEL_TIMES_SLICES <= DRIFT_MOST, "a mean of each slice");
	for (uint32_t i = 0; i < KERNEL_TIMES_SLICES; i++)
		if (time->slices[i].count)
			means[nr++] = (double)time->slices[i].ns / (double)time->slices[i].count;
	if (nr < DRIFT_LEAST || !drift_find(means, nr, &drift))
		return;
	time->drifts = true;
	time->drift_begin_ns = drift.begin;
	time->drift_end_ns = drift.end;
}

/* Finds the time that the slices divide: what the log covers of the wanted one. */
static int find_range(struct timeline_source *source, const struct timeline_request *request,
		      struct kernel_times *times)
{
	uint64_t first_ns, last_ns;
	int error = timeline_source_extent(source, &first_ns, &last_ns);

	times->from_ns = request->from_ns > first_ns ? request->from_ns : first_ns;
	times->to_ns = request->to_ns < last_ns ? request->to_ns : last_ns;
	if (times->to_ns < times->from_ns)
		times->to_ns = times->from_ns;
	return error;
}

static int read_work(struct reader *reader, struct timeline_source *source)
{
	const struct timeline_sink sink = {ignore_launch, take_work, reader};
	const struct timeline_request *request = reader->request;
	struct kernel_times *times = reader->times;

	if (!times->by_stack)
		return timeline_source_read(source, request, &sink, &times->counts);
	const uint64_t begin_ns = times->from_ns > TIMELINE_EVENTS_REACH_NS
					  ? times->from_ns - TIMELINE_EVENTS_REACH_NS
					  : 0;
	const uint64_t end_ns = times->to_ns + TIMELINE_EVENTS_REACH_NS;

	return kernel_stacks_read(source, request,
				  request->from_ns > begin_ns ? request->from_ns : begin_ns,
				  request->to_ns < end_ns ? request->to_ns : end_ns, take_launched,
				  reader, &times->counts);
}

int kernel_times_read(struct timeline_source *source, const struct timeline_request *request,
		      bool by_stack, struct kernel_times *times)
{
	const struct catalog_size size =
		catalog_size(timeline_source_profile(source)->collection->catalog);
	struct reader reader = {.times = times,
				.request = request,
				.nr_names = size.strings,
				.nr_nodes = size.nodes};

	*times = (struct kernel_times){.by_stack = by_stack};
	int error = find_range(source, request, times);
	if (!error) {
		const uint64_t span_ns = times->to_ns - times->from_ns;

		reader.slice_ns = span_ns ? (span_ns - 1) / KERNEL_TIMES_SLICES + 1 : 1;
		error = read_work(&reader, source);
	}
	if (!error && times->nr_times)
		qsort(times->times, times->nr_times, sizeof(*times->times), by_time);
	for (uint32_t i = 0; i < times->nr_times && !error; i++)
		find_drift(&times->times[i]);
	hash_index_fini(&reader.index);
	return error;
}

void kernel_times_fini(struct kernel_times *times)
{
	for (uint32_t i = 0; i < times->nr_times; i++)
		duration_bins_fini(&times->times[i].bins);
	free(times->times);
	*times = (struct kernel_times){0};
}

int kernel_time_add(struct kernel_time *time, struct kernel_time *other)
{
	struct duration_bin list[DURATION_BUCKETS];
	const uint32_t nr = duration_bins_list(&other->bins, list);

	for (uint32_t i = 0; i < nr; i++)
		if (duration_bins_add(&time->bins, list[i].bucket, list[i].count))
			return -ENOMEM;
	for (uint32_t i = 0; i < KERNEL_TIMES_SLICES; i++) {
		time->slices[i].count += other->slices[i].count;
		time->slices[i].ns += other->slices[i].ns;
	}
	time->count += other->count;
	time->ns += other->ns;
	if (other->first_ns < time->first_ns)
		time->first_ns = other->first_ns;
	if (other->last_ns > time->last_ns)
		time->last_ns = other->last_ns;
	duration_bins_fini(&other->bins);
	*other = (struct kernel_time){0};
	find_drift(time);
	return 0;
}

struct kernel_slice kernel_times_half(const struct kernel_time *time, uint32_t half)
{
	const uint32_t nr = KERNEL_TIMES_SLICES / 2;
	struct kernel_slice sum = {0};

	for (uint32_t i = half * nr; i < (half + 1) * nr; i++) {
		sum.count += time->slices[i].count;
		sum.ns += time->slices[i].ns;
	}
	return sum;
}
