#include "kernel_times.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/catalog.h"
#include "base/array.h"
#include "report/statistics/drift.h"

#define COPY_KINDS 256u

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct reader {
	struct kernel_times *times;
	const struct timeline_request *request;
	uint64_t slice_ns;
	uint32_t *kernels; /* owns; by name's id: its time's index + 1; 0: there is none */
	uint32_t nr_names; /* ids up to this one are known */
	uint32_t others[RECORD_GPU_KINDS][COPY_KINDS]; /* of other work; the same */
};

/* NULL: there is no memory, or no room. */
static struct kernel_time *find_time(struct reader *reader, const struct timeline_work *work)
{
	struct kernel_times *times = reader->times;
	const bool is_kernel = work->kind == RECORD_GPU_KERNEL;
	const uint32_t name_id = is_kernel && work->name_id <= reader->nr_names ? work->name_id : 0;
	uint32_t *place = is_kernel ? &reader->kernels[name_id]
				    : &reader->others[work->kind][work->copy_kind];

	if (*place)
		return &times->times[*place - 1];
	if (times->nr_times == KERNEL_TIMES_MOST ||
	    array_reserve(&times->times, &times->room_times, times->nr_times + 1ull,
			  sizeof(*times->times)))
		return NULL;
	struct kernel_time *time = &times->times[times->nr_times++];
	*time = (struct kernel_time){.kind = work->kind,
				     .copy_kind = is_kernel ? 0 : work->copy_kind,
				     .name_id = name_id,
				     .first_ns = work->start_ns};
	*place = times->nr_times;
	return time;
}

static int take_launch(void *context, const struct timeline_launch *launch)
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

static int take_work(void *context, const struct timeline_work *work)
{
	struct reader *reader = context;
	struct kernel_times *times = reader->times;

	if (work->kind == RECORD_GPU_SYNC || work->kind >= RECORD_GPU_KINDS ||
	    work->start_ns < reader->request->from_ns || work->start_ns >= reader->request->to_ns)
		return 0;
	struct kernel_time *time = find_time(reader, work);
	if (!time) {
		times->nr_left_out++;
		return times->nr_times == KERNEL_TIMES_MOST ? 0 : -ENOMEM;
	}
	struct kernel_slice *slice = &time->slices[slice_of(reader, work->start_ns)];
	const uint64_t ns = work->end_ns - work->start_ns;

	slice->count++;
	slice->ns += ns;
	time->count++;
	time->ns += ns;
	time->first_ns = work->start_ns < time->first_ns ? work->start_ns : time->first_ns;
	time->last_ns = work->end_ns > time->last_ns ? work->end_ns : time->last_ns;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct kernel_time *left = a, *right = b;
	int order = COMPARE(right->ns, left->ns);

	order = order ? order : COMPARE(left->kind, right->kind);
	order = order ? order : COMPARE(left->name_id, right->name_id);
	return order ? order : COMPARE(left->copy_kind, right->copy_kind);
}

static void find_drift(struct kernel_time *time)
{
	double means[KERNEL_TIMES_SLICES];
	struct drift drift;
	uint32_t nr = 0;

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

int kernel_times_read(struct timeline_source *source, const struct timeline_request *request,
		      struct kernel_times *times)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	const struct timeline_sink sink = {take_launch, take_work, reader};
	int error = -ENOMEM;

	*times = (struct kernel_times){0};
	if (!reader)
		return error;
	reader->times = times;
	reader->request = request;
	reader->nr_names =
		catalog_size(timeline_source_profile(source)->collection->catalog).strings;
	reader->kernels = calloc(reader->nr_names + 1ull, sizeof(*reader->kernels));
	if (reader->kernels)
		error = find_range(source, request, times);
	if (!error) {
		const uint64_t span_ns = times->to_ns - times->from_ns;

		reader->slice_ns = span_ns ? (span_ns - 1) / KERNEL_TIMES_SLICES + 1 : 1;
		error = timeline_source_read(source, request, &sink, &times->counts);
	}
	if (!error && times->nr_times)
		qsort(times->times, times->nr_times, sizeof(*times->times), by_time);
	for (uint32_t i = 0; i < times->nr_times && !error; i++)
		find_drift(&times->times[i]);
	free(reader->kernels);
	free(reader);
	return error;
}

void kernel_times_fini(struct kernel_times *times)
{
	free(times->times);
	*times = (struct kernel_times){0};
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
