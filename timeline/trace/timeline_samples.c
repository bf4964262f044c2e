#include "timeline_samples.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_raw.h"
#include "base/array.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct reader {
	struct timeline_samples *samples;
	struct timeline_source *source;
	const struct timeline_request *request;
	struct catalog_size size;
};

static int compare(const struct timeline_sample *sample, uint32_t process_id, uint32_t tid,
		   uint64_t end_ns)
{
	int order = COMPARE(sample->process_id, process_id);

	order = order ? order : COMPARE(sample->tid, tid);
	return order ? order : COMPARE(sample->end_ns, end_ns);
}

static int by_thread(const void *a, const void *b)
{
	const struct timeline_sample *left = a, *right = b;
	int order = compare(left, right->process_id, right->tid, right->end_ns);

	return order ? order : COMPARE(left->begin_ns, right->begin_ns);
}

int timeline_samples_add(struct timeline_samples *samples, const struct timeline_sample *sample)
{
	if (samples->nr_samples == TIMELINE_SAMPLES_MAX) {
		samples->nr_left_out++;
		return 0;
	}
	if (array_reserve(&samples->samples, &samples->room_samples, samples->nr_samples + 1ull,
			  sizeof(*samples->samples)))
		return -ENOMEM;
	samples->samples[samples->nr_samples++] = *sample;
	return 0;
}

void timeline_samples_sort(struct timeline_samples *samples)
{
	if (samples->nr_samples)
		qsort(samples->samples, samples->nr_samples, sizeof(*samples->samples), by_thread);
}

static int take(void *context, const struct raw_sample *raw, int64_t realtime_offset_ns)
{
	const struct reader *reader = context;
	struct timeline_sample sample = {.end_ns = raw->sample.time_ns,
					 .process_id = raw->process_id,
					 .tid = raw->sample.tid,
					 .stack_id = raw->sample.stack_id,
					 .name_id = raw->sample.name_id,
					 .kind = raw->sample.kind};

	(void)realtime_offset_ns;
	if (sample.kind > HOST_SAMPLE_OFF_CPU ||
	    !timeline_source_place(reader->source, reader->request, sample.process_id,
				   &sample.end_ns))
		return 0;
	sample.begin_ns = sample.end_ns > raw->sample.duration_ns
				  ? sample.end_ns - raw->sample.duration_ns
				  : 0;
	if (sample.end_ns <= reader->request->from_ns || sample.begin_ns >= reader->request->to_ns)
		return 0;
	if (sample.stack_id > reader->size.nodes)
		sample.stack_id = 0;
	if (sample.name_id > reader->size.strings)
		sample.name_id = 0;
	return timeline_samples_add(reader->samples, &sample);
}

int timeline_samples_init(struct timeline_samples *samples, struct timeline_source *source,
			  const char *store_path, const struct timeline_request *request)
{
	const struct profile *profile = timeline_source_profile(source);
	struct reader reader = {samples, source, request,
				catalog_size(profile->collection->catalog)};
	struct database *database;

	*samples = (struct timeline_samples){0};
	if (!profile->raw_samples)
		return 0;
	int error = database_open(store_path, true, &database, NULL);
	if (error)
		return error;
	error = store_raw_each(database, profile->raw_samples, take, &reader);
	database_close(database);
	timeline_samples_sort(samples);
	return error;
}

void timeline_samples_fini(struct timeline_samples *samples)
{
	free(samples->samples);
	*samples = (struct timeline_samples){0};
}

uint32_t timeline_samples_find(const struct timeline_samples *samples, uint32_t process_id,
			       uint32_t tid, uint64_t time_ns)
{
	uint32_t low = 0, high = samples->nr_samples;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (compare(&samples->samples[middle], process_id, tid, time_ns) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
