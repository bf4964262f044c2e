/* What the agent's record path costs: a ring filled through the guest's side, read, translated,
 * batched and encoded into nothing. Prints CPU seconds for a million launches with one GPU record
 * each; asserts nothing about time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "node-agent/guests/ring_ownership.h"
#include "node-agent/guests/ring_source.h"
#include "proto/batch/batch_encode.h"
#include "proto/batch/message_seq.h"
#include "proto/definition.h"

#define ROUNDS       100u
#define ROUND        20000u
#define STACKS       2000u
#define STACK_FRAMES 30u
#define NAMES        400u

struct bench {
	struct record_ring *guest, *agent;
	int fd;
	uint32_t lane;
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct device_list devices;
	struct process_description *description;
	struct process_ledger *ledger;
	struct ring_source *source;
	struct ring_ownership ownership;
	struct batch_builder *builder;
	struct batch_encoder *encoder;
	uint64_t seq, bytes, launches;
};

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int sink(void *context, struct message *message)
{
	struct bench *bench = context;
	const uint8_t *frame;
	size_t size;

	message_seq_set(message, ++bench->seq);
	int r = batch_encode(bench->encoder, message, &frame, &size);
	bench->bytes += size;
	return r;
}

static int define(struct bench *bench)
{
	struct definition_module module = {.start = 1u << 20, .end = 1u << 30, .bias = 1u << 20};
	char name[64];

	if (!record_ring_define(bench->guest, DEFINITION_MODULE, &module, sizeof(module),
				"/bin/app", 8))
		return -1;
	for (uint32_t i = 1; i <= NAMES; i++) {
		struct definition_name head = {.name_id = i};
		int size = snprintf(name, sizeof(name), "void kernel_%u<float, 128>()", i);

		if (!record_ring_define(bench->guest, DEFINITION_NAME, &head, sizeof(head), name,
					(uint32_t)size))
			return -1;
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		uint64_t frames[STACK_FRAMES];

		for (uint32_t j = 0; j < STACK_FRAMES; j++)
			frames[j] = (1u << 20) + (j < 10 ? (i + 1) * 64 + j : j * 4096);
		if (record_ring_add_stack(bench->guest, frames, STACK_FRAMES) != i + 1)
			return -1;
	}
	return 0;
}

static void fill(struct bench *bench)
{
	for (uint32_t i = 0; i < ROUND; i++) {
		uint64_t n = bench->launches++;
		struct launch_record launch = {.time_ns = n * 3300 + n % 97,
					       .correlation_id = (uint32_t)n,
					       .stack_id = (uint32_t)(n % STACKS) + 1,
					       .tid = 1234,
					       .cbid = 307,
					       .window = 1};
		struct gpu_record record = {.start_ns = n * 3300 + n % 113 + 1,
					    .end_ns = n * 3300 + n % 113 + 2000 + n % 7,
					    .correlation_id = (uint32_t)n,
					    .context_id = 1,
					    .stream_id = 7 + (uint32_t)(n % 3),
					    .name_id = (uint32_t)(n % NAMES) + 1,
					    .window = 1};

		record_ring_push_launch(bench->guest, bench->lane, &launch);
		record_ring_push_activity(bench->guest, &record, 1);
	}
}

static int drain(struct bench *bench)
{
	int64_t clock_offset_ns;
	int r;

	ring_source_begin(bench->source, true, 0);
	do {
		r = ring_source_read(bench->source, bench->builder);
		bool valid = ring_source_clock(bench->source, &clock_offset_ns);
		if (r < 0 || batch_builder_flush(bench->builder, 1, clock_offset_ns, valid) ||
		    ring_ownership_sent(&bench->ownership, bench->seq))
			return -1;
	} while (r == 1);
	ring_ownership_acknowledged(&bench->ownership, bench->seq);
	return 0;
}

static int start(struct bench *bench)
{
	struct record_ring_sizes sizes = RECORD_RING_SIZES_DEFAULT;
	struct guest_hello hello = {.magic = HANDSHAKE_MAGIC};

	if (record_ring_create(&sizes, &bench->guest, &bench->fd) ||
	    record_ring_map(bench->fd, &bench->agent))
		return -1;
	bench->lane = (uint32_t)record_ring_claim_lane(bench->guest);
	bench->strings = string_dictionary_create();
	bench->stacks = stack_dictionary_create();
	bench->encoder = batch_encoder_create();
	bench->builder = batch_builder_create(bench->strings, bench->stacks, sink, bench);
	bench->description =
		process_description_create(1, 0, &hello, bench->strings, &bench->devices);
	bench->ledger = process_ledger_create();
	struct ring_outputs outputs = {
		.strings = bench->strings,
		.stacks = bench->stacks,
		.description = bench->description,
		.ledger = bench->ledger,
	};
	ring_ownership_init(&bench->ownership, bench->agent, (const uint8_t[RECORD_RING_EPOCH]){1});
	ring_ownership_take(&bench->ownership);
	return ring_source_create(bench->agent, &outputs, 0, geteuid(), &bench->source)
		       ? -1
		       : define(bench);
}

static void finish(struct bench *bench)
{
	ring_ownership_fini(&bench->ownership);
	ring_source_destroy(bench->source);
	process_ledger_destroy(bench->ledger);
	process_description_destroy(bench->description);
	batch_builder_destroy(bench->builder);
	batch_encoder_destroy(bench->encoder);
	stack_dictionary_destroy(bench->stacks);
	string_dictionary_destroy(bench->strings);
	record_ring_destroy(bench->guest);
	close(bench->fd);
}

int main(void)
{
	struct bench bench = {0};
	double spent_s = 0;

	if (start(&bench)) {
		fputs("agent_bench: the ring can't be made\n", stderr);
		return 1;
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		fill(&bench);
		double before_s = cpu_s();
		if (drain(&bench)) {
			fputs("agent_bench: the ring can't be read\n", stderr);
			return 1;
		}
		spent_s += cpu_s() - before_s;
	}
	uint64_t read = ring_source_launches(bench.source);
	printf("agent: %.3f CPU s per million launches (with a GPU record each), "
	       "%.1f bytes a launch; %llu of %llu read\n",
	       spent_s / (double)read * 1e6, (double)bench.bytes / (double)read,
	       (unsigned long long)read, (unsigned long long)bench.launches);
	finish(&bench);
	return read == bench.launches ? 0 : 1;
}
