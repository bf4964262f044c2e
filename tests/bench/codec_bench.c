/* How fast EVENTS messages are encoded and decoded on one core, and how large they are.
 *	codec_bench [SECONDS]	(of each measurement; 1 unless given)
 * The records are synthetic: one launching thread, a training step of 900 kernels that repeats, 400
 *names, 2,000 stacks, 4 streams, times with jitter; each message has a batch of launches and as
 *many GPU records. Repetition is not exploited by the encoding, so a program without steps gives
 *the same figures. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"

#define BATCH        4096u /* launches, and GPU records, of one message */
#define BATCHES      16u
#define STEP_KERNELS 900u
#define NAMES        400u
#define STACKS       2000u
#define STREAMS      4u

static uint64_t random_state = 88172645463325252ull;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % limit;
}

struct step_kernel {
	uint32_t name_id, stack_id, stream_id, duration_ns;
};

static void make_step(struct step_kernel *step)
{
	for (uint32_t i = 0; i < STEP_KERNELS; i++)
		step[i] = (struct step_kernel){
			.name_id = 1 + random_below(NAMES),
			.stack_id = 1 + random_below(STACKS),
			.stream_id = random_below(4) ? 7 : 13 + random_below(STREAMS - 1),
			.duration_ns = 1500 + random_below(20000),
		};
}

/* A launch every 3 to 5 us, the kernel on its stream some microseconds later. Records arrive in the
 * order in which kernels end, as CUPTI delivers them, so starts and correlation ids go back and
 * forth. */
static void make_batches(struct launch_record *launches, struct gpu_record *gpu)
{
	struct step_kernel step[STEP_KERNELS];
	uint64_t now_ns = 1700000000000000000ull, stream_end_ns[16 + STREAMS] = {0};

	make_step(step);
	for (uint32_t i = 0; i < BATCHES * BATCH; i++) {
		const struct step_kernel *kernel = &step[i % STEP_KERNELS];
		uint64_t start_ns, *free_ns = &stream_end_ns[kernel->stream_id];
		uint32_t duration_ns =
			kernel->duration_ns + random_below(kernel->duration_ns / 20 + 1);

		now_ns += 3000 + random_below(2000);
		launches[i] = (struct launch_record){
			.time_ns = now_ns - 1600000000000000000ull,
			.correlation_id = 1000 + i,
			.stack_id = kernel->stack_id,
			.tid = 4242,
			.cbid = 307,
			.window = 1,
		};
		start_ns = now_ns + 2500 + random_below(500);
		if (start_ns < *free_ns + 700)
			start_ns = *free_ns + 700 + random_below(300);
		*free_ns = start_ns + duration_ns;
		gpu[i] = (struct gpu_record){
			.start_ns = start_ns,
			.end_ns = start_ns + duration_ns,
			.correlation_id = 1000 + i,
			.context_id = 1,
			.stream_id = kernel->stream_id,
			.name_id = kernel->name_id,
			.kind = RECORD_GPU_KERNEL,
			.window = 1,
		};
	}
}

static int compare_end(const void *a, const void *b)
{
	const struct gpu_record *left = a, *right = b;

	return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct batch {
	struct message message;
	uint8_t *frame;
	size_t size;
};

static void die(const char *what)
{
	fprintf(stderr, "codec_bench: %s\n", what);
	exit(1);
}

static size_t encode_one(struct batch_encoder *encoder, const struct batch *batch, uint8_t **copy)
{
	const uint8_t *frame;
	size_t size;

	if (batch_encode(encoder, &batch->message, &frame, &size) != 0)
		die("batch_encode failed");
	if (copy) {
		*copy = malloc(size);
		if (!*copy)
			die("out of memory");
		for (size_t i = 0; i < size; i++)
			(*copy)[i] = frame[i];
	}
	return size;
}

static size_t measure_size(struct batch_encoder *encoder, struct batch *batch, uint32_t nr_launches,
			   uint32_t nr_gpu)
{
	struct batch part = *batch;

	part.message.events.nr_launches = nr_launches;
	part.message.events.nr_gpu = nr_gpu;
	return encode_one(encoder, &part, NULL);
}

static void report(const char *what, uint64_t nr_messages, double seconds)
{
	double events = (double)nr_messages * 2 * BATCH;

	printf("%-7s %6.1f M events/s  (%.2f ns an event)\n", what, events / seconds / 1e6,
	       seconds / events * 1e9);
}

static void measure_encode(struct batch_encoder *encoder, const struct batch *batches, double limit)
{
	double start = now_seconds(), seconds;
	uint64_t nr_messages = 0;

	do {
		for (uint32_t i = 0; i < BATCHES; i++, nr_messages++)
			encode_one(encoder, &batches[i], NULL);
		seconds = now_seconds() - start;
	} while (seconds < limit);
	report("encode", nr_messages, seconds);
}

static void measure_decode(struct batch_decoder *decoder, const struct batch *batches, double limit)
{
	double start = now_seconds(), seconds;
	uint64_t nr_messages = 0;
	struct message message;

	do {
		for (uint32_t i = 0; i < BATCHES; i++, nr_messages++)
			if (batch_decode(decoder, batches[i].frame, batches[i].size, &message) != 0)
				die(batch_decoder_error(decoder));
		seconds = now_seconds() - start;
	} while (seconds < limit);
	report("decode", nr_messages, seconds);
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) : 1;
	struct launch_record *launches = calloc(BATCHES * BATCH, sizeof(*launches));
	struct gpu_record *gpu = calloc(BATCHES * BATCH, sizeof(*gpu));
	struct batch_encoder *encoder = batch_encoder_create();
	struct batch_decoder *decoder = batch_decoder_create();
	struct batch batches[BATCHES] = {0};
	size_t size = 0;

	if (!launches || !gpu || !encoder || !decoder)
		die("out of memory");
	make_batches(launches, gpu);
	qsort(gpu, BATCHES * BATCH, sizeof(*gpu), compare_end);
	for (uint32_t i = 0; i < BATCHES; i++) {
		batches[i].message = (struct message){
			.type = MESSAGE_EVENTS,
			.events = {.seq = i + 1,
				   .process_id = 1,
				   .nr_launches = BATCH,
				   .nr_gpu = BATCH,
				   .launches = launches + i * BATCH,
				   .gpu = gpu + i * BATCH},
		};
		batches[i].size = encode_one(encoder, &batches[i], &batches[i].frame);
		size += batches[i].size;
	}
	printf("bytes   %6.2f an event raw (a launch %.2f, a kernel %.2f)\n",
	       (double)size / (2.0 * BATCH * BATCHES),
	       (double)measure_size(encoder, &batches[1], BATCH, 0) / BATCH,
	       (double)measure_size(encoder, &batches[1], 0, BATCH) / BATCH);
	measure_encode(encoder, batches, limit);
	measure_decode(decoder, batches, limit);
	for (uint32_t i = 0; i < BATCHES; i++)
		free(batches[i].frame);
	batch_encoder_destroy(encoder);
	batch_decoder_destroy(decoder);
	free(launches);
	free(gpu);
	return 0;
}
