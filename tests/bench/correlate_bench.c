/* How many events (launches and GPU records) one core correlates and folds in a second of its CPU time. Prints
 * figures, asserts nothing about time. The mix is a training step's: 900 kernels in order, then
 * again; records come in buffers, some 20,000 launches behind; ids are nearly dense; every 50th
 * launch is a copy, every 100th has no record. A kernel takes its own time, up to an eighth more, and each 64th time
 * twice that. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "aggregator/core/correlator.h"
#include "aggregator/core/stream_timeline.h"

#define LAUNCHES 4000000u
#define BEHIND   20000u
#define STEP     900u
#define STREAMS  4u

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Two of three ids are taken by calls that are not launches. */
static uint32_t id_of(uint32_t i)
{
	return i * 3 + i % 2;
}

static struct launch_record launch_of(uint32_t i)
{
	return (struct launch_record){
		.time_ns = i,
		.correlation_id = id_of(i),
		.stack_id = 1 + i % STEP,
		.tid = 100 + i % 2,
		.window = 1,
	};
}

static uint64_t duration_of(uint32_t i)
{
	const uint64_t own_ns = 2000 + 370ull * (i % 400);
	const uint64_t ns = own_ns + i * 2654435761u % (own_ns / 8);

	return i % STEP == i / STEP % 64 ? 2 * ns : ns;
}

static struct gpu_record record_of(uint32_t i)
{
	return (struct gpu_record){
		.start_ns = 1000 + 1000ull * i,
		.end_ns = 1000 + 1000ull * i + duration_of(i),
		.correlation_id = id_of(i),
		.context_id = 1,
		.stream_id = 7 + i % STREAMS,
		.name_id = 1 + i % 400,
		.kind = i % 50 == 0 ? RECORD_GPU_MEMCPY : RECORD_GPU_KERNEL,
		.copy_kind = i % 50 == 0 ? 1 : 0,
		.window = 1,
	};
}

static int correlate_all(struct correlator *correlator, const struct launch_record *launches,
			 const struct gpu_record *records)
{
	int error = 0;

	for (uint32_t i = 0; i < LAUNCHES + BEHIND && !error; i++) {
		if (i < LAUNCHES)
			error = correlator_launch(correlator, &launches[i]);
		if (i >= BEHIND && (i - BEHIND) % 100 != 99 && !error)
			error = correlator_record(correlator, &records[i - BEHIND]);
	}
	return error;
}

static int bench_correlator(bool track_changes, const struct launch_record *launches,
			    const struct gpu_record *records)
{
	struct correlator_options options = {.track_changes = track_changes};
	struct fold_table *table = fold_table_create();
	struct correlator *correlator = correlator_create(1, &options, table);
	uint32_t nr_rows;

	if (!table || !correlator)
		return 1;
	double start_s = now_s();
	int error = correlate_all(correlator, launches, records);
	double took_s = now_s() - start_s;
	double events = (double)correlator_counts(correlator)->launches +
			(double)correlator_counts(correlator)->records;

	fold_table_rows(table, &nr_rows);
	printf("correlate+fold%s: %.1f M events/s (%u rows, %llu matched, %llu expired)\n",
	       track_changes ? ", changes tracked" : "", events / took_s / 1e6, nr_rows,
	       (unsigned long long)correlator_counts(correlator)->matched,
	       (unsigned long long)correlator_counts(correlator)->expired);
	correlator_destroy(correlator);
	fold_table_destroy(table);
	return error != 0;
}

static int bench_timeline(const struct gpu_record *records)
{
	struct stream_timeline *timeline = stream_timeline_create(STREAM_TIMELINE_INTERVALS);
	int error = 0;

	if (!timeline)
		return 1;
	double start_s = now_s();
	for (uint32_t i = 0; i < LAUNCHES && !error; i++)
		error = stream_timeline_add(timeline, records[i].start_ns, records[i].end_ns);
	printf("stream_timeline: %.1f M records/s\n", (double)LAUNCHES / (now_s() - start_s) / 1e6);
	stream_timeline_destroy(timeline);
	return error != 0;
}

int main(void)
{
	struct launch_record *launches = malloc(LAUNCHES * sizeof(*launches));
	struct gpu_record *records = malloc(LAUNCHES * sizeof(*records));

	if (!launches || !records)
		return 1;
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		launches[i] = launch_of(i);
		records[i] = record_of(i);
	}
	int failed = bench_correlator(false, launches, records) +
		     bench_correlator(true, launches, records) + bench_timeline(records);
	free(launches);
	free(records);
	return failed != 0;
}
