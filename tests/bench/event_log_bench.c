/* How fast the event log takes events and gives them back, in CPU time of one core, and how
 * large they are.
 *	event_log_bench [PAIRS]	(launches with their kernels; 8,000,000 unless given)
 * The records are synthetic, as those of codec_bench: a training step of 900 kernels that repeats, times with jitter. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/log/event_reader.h"

#define STEP  900u
#define MADE  65536u
#define BATCH 4096u

static uint64_t random_state = 88172645463325252ull;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % limit;
}

static struct launch_record launches[MADE];
static struct gpu_record records[MADE];

static void make_events(void)
{
	uint32_t name[STEP], stack[STEP], duration[STEP];
	uint64_t now_ns = 1700000000000000000ull, free_ns = now_ns;

	for (uint32_t i = 0; i < STEP; i++) {
		name[i] = 1 + random_below(400);
		stack[i] = 1 + random_below(2000);
		duration[i] = 1500 + random_below(5000);
	}
	for (uint32_t i = 0; i < MADE; i++) {
		now_ns += 3000 + random_below(2000);
		free_ns = (free_ns > now_ns + 5000 ? free_ns : now_ns + 5000) + 800 +
			  random_below(100);
		launches[i] = (struct launch_record){.time_ns = now_ns,
						     .correlation_id = i,
						     .stack_id = stack[i % STEP],
						     .tid = 100,
						     .cbid = 307,
						     .window = 1};
		records[i] = (struct gpu_record){.start_ns = free_ns,
						 .end_ns = free_ns + duration[i % STEP] +
							   random_below(200),
						 .correlation_id = i,
						 .context_id = 1,
						 .stream_id = 7,
						 .name_id = name[i % STEP],
						 .window = 1};
		free_ns = records[i].end_ns;
	}
}

static int take(void *context, const struct message_events *events)
{
	*(uint64_t *)context += events->nr_launches + events->nr_gpu;
	return 0;
}

int main(int argc, char **argv)
{
	const uint64_t pairs = argc > 1 ? strtoull(argv[1], NULL, 10) : 8000000;
	char folder[] = "/tmp/flamegrid-bench.XXXXXX", store[64], command[64];
	struct event_sums sums = {0};
	struct event_log *log;
	uint64_t count = 0;

	make_events();
	if (!mkdtemp(folder))
		return 1;
	snprintf(store, sizeof(store), "%s/profile.db", folder);
	if (event_log_open(store, &(struct event_log_options){.keeps = true}, &log))
		return 1;
	uint64_t began_ns = clock_thread_ns();
	for (uint64_t done = 0; done < pairs; done += BATCH) {
		const uint32_t at = (uint32_t)(done % MADE);

		event_packer_begin(event_log_packer(log), 1, 0, true);
		for (uint32_t i = at; i < at + BATCH; i++)
			event_packer_launch(event_log_packer(log), &launches[i]);
		for (uint32_t i = at; i < at + BATCH; i++)
			event_packer_record(event_log_packer(log), &records[i]);
		if (done % (64 * BATCH) == 0)
			event_log_write(log, clock_now_ns());
	}
	event_log_write(log, clock_now_ns());
	const double in_s = (double)(clock_thread_ns() - began_ns) / 1e9;
	event_log_close(log);
	began_ns = clock_thread_ns();
	const uint8_t profile[EVENT_FORMAT_ID] = {0};
	const struct event_asks asks = {.take = take, .context = &count, .profile = profile};
	if (event_reader_read(store, &asks, &sums))
		return 1;
	const double out_s = (double)(clock_thread_ns() - began_ns) / 1e9;
	printf("in   %6.1f million events/s\nout  %6.1f million events/s\nsize %6.2f bytes an "
	       "event (%" PRIu64 " events)\n",
	       (double)count / in_s / 1e6, (double)count / out_s / 1e6,
	       (double)sums.bytes / (double)count, count);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) == 0 ? 0 : 1;
}
