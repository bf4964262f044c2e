#include "long_run_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "proto/memory_kind.h"

#define NS_PER_MS      1000000ull
#define NS_PER_S       1000000000ull
#define FIRST_ID       0xfff00000u /* the correlation ids wrap on the way */
#define EVENTS_MAX     8192u       /* launches, and so many records, of a message at most */
#define CALLS_MAX      4096u
#define LAUNCH_NS      20000u   /* from one launch to the next */
#define DELAY_NS       5000u    /* from a launch to its kernel */
#define KERNEL_NS      14000u   /* no kernel is longer, so that none waits */
#define LATE_NS        2000000u /* how late a rank may come to its collective */
#define MOVES_NS       30000u
#define WITHOUT_RECORD 997u /* one of so many kernels never has a record */
#define TENSOR_BYTES   (1u << 20)
#define LAYERS         8u
#define SAMPLES_MAX    4096u

/* Strings, which are numbered from 1. */
enum {
	MAIN = 1,
	TRAIN_STEP,
	LAUNCH,
	ALL_REDUCE,
	GEMM,
	RELU,
	NCCL,
	DEVICE,
	PCI,
	COMMAND,
	FUTEX,
	FIRST_LAYER,
	STRINGS = FIRST_LAYER + LAYERS - 1,
};

/* Nodes: main, main;train_step, then of each layer itself and its launches, and ncclAllReduce. */
#define NODE_STEP       2u
#define NODE_LAYER(i)   (3 + 2 * (i))
#define NODE_LAUNCH(i)  (NODE_LAYER(i) + 1)
#define NODE_ALL_REDUCE NODE_LAYER(LAYERS)
#define NODES           NODE_ALL_REDUCE

struct long_run_buffer {
	struct launch_record launches[EVENTS_MAX];
	struct gpu_record records[EVENTS_MAX];
	struct collective calls[CALLS_MAX];
	struct host_sample samples[SAMPLES_MAX];
	uint32_t nr_launches, nr_records;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a + 1) * 0x9e3779b97f4a7c15ull ^ b;

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

int long_run_words_init(struct long_run_words *words, const struct long_run_options *options,
			uint64_t begin_ns)
{
	*words = (struct long_run_words){.options = *options, .begin_ns = begin_ns};
	for (uint32_t i = 0; i < options->nr_ranks; i++)
		words->ranks[i] = (struct long_run_rank){.number = i, .process_id = i + 1};
	words->buffer = calloc(1, sizeof(*words->buffer));
	return words->buffer ? 0 : -ENOMEM;
}

void long_run_words_fini(struct long_run_words *words)
{
	free(words->buffer);
}

/* ---- definitions */

static struct message_text text_of(const char *text)
{
	return (struct message_text){text, (uint32_t)strlen(text)};
}

void long_run_words_hello(struct message *message)
{
	*message = (struct message){.type = MESSAGE_HELLO,
				    .hello = {.version_min = WIRE_VERSION,
					      .version_max = WIRE_VERSION,
					      .software = text_of("a long run"),
					      .node = text_of("node01"),
					      .boot_id = text_of("a boot")}};
}

static int define_strings(long_run_say *say, void *context)
{
	static const char *const names[FIRST_LAYER] = {
		[MAIN] = "main",
		[TRAIN_STEP] = "train_step",
		[LAUNCH] = "cuLaunchKernel",
		[ALL_REDUCE] = "ncclAllReduce",
		[GEMM] = "gemm",
		[RELU] = "relu",
		[NCCL] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
		[DEVICE] = "a GPU",
		[PCI] = "0000:17:00.0",
		[COMMAND] = "./train",
		[FUTEX] = "futex",
	};
	struct message_text texts[STRINGS];
	char layers[LAYERS][16];
	struct message message = {.type = MESSAGE_STRINGS,
				  .strings = {.base = 1, .count = STRINGS, .strings = texts}};

	for (uint32_t i = 0; i < LAYERS; i++) {
		snprintf(layers[i], sizeof(layers[i]), "layer_%u", i);
		texts[FIRST_LAYER + i - 1] = text_of(layers[i]);
	}
	for (uint32_t i = 1; i < FIRST_LAYER; i++)
		texts[i - 1] = text_of(names[i]);
	return say(context, &message);
}

/* Each string is a frame. */
static int define_stacks(long_run_say *say, void *context)
{
	struct message_code codes[STRINGS];
	struct message_frame frames[STRINGS];
	struct message_node nodes[NODES];
	struct message message = {.type = MESSAGE_STACKS,
				  .stacks = {.module_base = 1,
					     .code_base = 1,
					     .nr_codes = STRINGS,
					     .codes = codes,
					     .frame_base = 1,
					     .nr_frames = STRINGS,
					     .frames = frames,
					     .node_base = 1,
					     .nr_nodes = NODES,
					     .nodes = nodes}};

	for (uint32_t i = 0; i < STRINGS; i++) {
		codes[i] = (struct message_code){.name = i + 1};
		frames[i] = (struct message_frame){.code = i + 1};
	}
	nodes[0] = (struct message_node){0, MAIN};
	nodes[NODE_STEP - 1] = (struct message_node){1, TRAIN_STEP};
	for (uint32_t i = 0; i < LAYERS; i++) {
		nodes[NODE_LAYER(i) - 1] = (struct message_node){NODE_STEP, FIRST_LAYER + i};
		nodes[NODE_LAUNCH(i) - 1] = (struct message_node){NODE_LAYER(i), LAUNCH};
	}
	nodes[NODE_ALL_REDUCE - 1] = (struct message_node){NODE_STEP, ALL_REDUCE};
	return say(context, &message);
}

static int say_process(const struct long_run_words *words, const struct long_run_rank *rank,
		       enum process_state state, long_run_say *say, void *context)
{
	struct message_device devices[LONG_RUN_GPUS_MAX];
	struct message message = {
		.type = MESSAGE_PROCESS,
		.process = {.process_id = rank->process_id,
			    .pid = 1000 + rank->number,
			    .start_ticks = 77,
			    .instance = {1, (uint8_t)rank->number, (uint8_t)(rank->number >> 8)},
			    .state = state,
			    .rank = (int32_t)rank->number,
			    .local_rank = (int32_t)rank->number,
			    .world_size = (int32_t)words->options.nr_ranks,
			    .command = COMMAND,
			    .nr_devices = words->options.nr_gpus,
			    .devices = devices}};

	for (uint32_t i = 0; i < words->options.nr_gpus; i++)
		devices[i] = (struct message_device){
			.device_id = i,
			.index = (int32_t)(rank->number * words->options.nr_gpus + i),
			.uuid = {1, (uint8_t)rank->number, (uint8_t)(rank->number >> 8),
				 (uint8_t)i},
			.name = DEVICE,
			.pci = PCI};
	return say(context, &message);
}

static int say_communicator(const struct long_run_words *words, const struct long_run_rank *rank,
			    long_run_say *say, void *context)
{
	const struct communicator communicator = {.key = 4711,
						  .communicator_id = 1,
						  .rank = rank->number,
						  .nr_ranks = words->options.nr_ranks,
						  .origin = COMMUNICATOR_PROFILER};
	struct message message = {.type = MESSAGE_COLLECTIVES,
				  .collectives = {.process_id = rank->process_id,
						  .nr_communicators = 1,
						  .communicators = &communicator}};

	return say(context, &message);
}

int long_run_words_define(struct long_run_words *words, struct catalog *catalog, long_run_say *say,
			  void *context)
{
	int error = catalog_add_string(catalog, "a boot, too", 11, &words->reference);

	if (!error)
		error = define_strings(say, context);
	if (!error)
		error = define_stacks(say, context);
	for (uint32_t i = 0; i < words->options.nr_ranks && !error; i++)
		error = say_process(words, &words->ranks[i], PROCESS_RUNNING, say, context);
	for (uint32_t i = 0; i < words->options.nr_ranks && !error; i++)
		error = say_communicator(words, &words->ranks[i], say, context);
	return error;
}

/* ---- a step: its launches, and later its GPU work */

static uint64_t step_ns(const struct long_run_words *words, uint64_t step)
{
	return words->begin_ns + step * words->options.step_ms * NS_PER_MS;
}

/* Of all GPUs; the last one of each is NCCL's. */
static uint32_t kernels_of(const struct long_run_words *words)
{
	return words->options.nr_gpus * (words->options.step_kernels + 1);
}

static bool is_collective(const struct long_run_words *words, uint32_t kernel)
{
	return kernel % (words->options.step_kernels + 1) == words->options.step_kernels;
}

static uint32_t gpu_of(const struct long_run_words *words, uint32_t kernel)
{
	return kernel / (words->options.step_kernels + 1);
}

/* Of the step's kernels; then of the wait, the allocation and the free. */
static uint32_t correlation_of(const struct long_run_words *words, uint64_t step, uint32_t i)
{
	return FIRST_ID + (uint32_t)(step * (kernels_of(words) + 3ull)) + i;
}

/* A GPU's kernels are launched side by side with those of the others. */
static uint64_t launch_ns(const struct long_run_words *words, uint64_t step, uint32_t kernel)
{
	return step_ns(words, step) + gpu_of(words, kernel) * 100ull +
	       (kernel % (words->options.step_kernels + 1) + 1ull) * LAUNCH_NS;
}

static uint64_t collective_ns(const struct long_run_words *words, uint32_t rank, uint64_t step)
{
	return launch_ns(words, step, words->options.step_kernels) +
	       mix(step, rank + 1000) % LATE_NS;
}

/* All ranks end it together. */
static uint64_t collective_end_ns(struct long_run_words *words, uint64_t step)
{
	uint64_t last_ns = 0;

	if (words->end_ns && words->end_step == step)
		return words->end_ns;

	for (uint32_t i = 0; i < words->options.nr_ranks; i++) {
		const uint64_t begin_ns = collective_ns(words, i, step);

		last_ns = begin_ns > last_ns ? begin_ns : last_ns;
	}
	words->end_step = step;
	words->end_ns = last_ns + DELAY_NS + MOVES_NS;
	return words->end_ns;
}

static void add_launch(struct long_run_words *words, const struct long_run_rank *rank,
		       uint64_t time_ns, uint32_t correlation_id, uint32_t stack_id, uint32_t flags)
{
	struct long_run_buffer *buffer = words->buffer;
	const bool is_mark = flags & RECORD_LAUNCH_MARK;

	buffer->launches[buffer->nr_launches++] =
		(struct launch_record){.time_ns = time_ns,
				       .correlation_id = correlation_id,
				       .stack_id = stack_id,
				       .tid = 1000 + rank->number,
				       .cbid = is_mark ? 0 : 307,
				       .window = 1,
				       .flags = flags};
}

static void add_mark(struct long_run_words *words, const struct long_run_rank *rank,
		     uint64_t time_ns, enum record_mark mark, uint32_t number)
{
	add_launch(words, rank, time_ns, number, 0, RECORD_LAUNCH_HOST | RECORD_LAUNCH_MARK);
	words->buffer->launches[words->buffer->nr_launches - 1].cbid = (uint16_t)mark;
}

static void launch_step(struct long_run_words *words, struct long_run_rank *rank, uint64_t step)
{
	const uint32_t nr = kernels_of(words), first = words->buffer->nr_launches;
	const uint64_t begin_ns = collective_ns(words, rank->number, step);
	const uint64_t end_ns = collective_end_ns(words, step);

	add_mark(words, rank, step_ns(words, step), RECORD_MARK_STEP, (uint32_t)step + 1);
	add_launch(words, rank, step_ns(words, step) + 1000, correlation_of(words, step, nr + 1),
		   NODE_LAYER(0), RECORD_LAUNCH_HOST);
	for (uint32_t i = 0; i < nr; i++)
		if (is_collective(words, i))
			add_launch(words, rank, begin_ns + gpu_of(words, i) * 100,
				   correlation_of(words, step, i), NODE_ALL_REDUCE, 0);
		else
			add_launch(words, rank, launch_ns(words, step, i),
				   correlation_of(words, step, i), NODE_LAUNCH(i % LAYERS), 0);
	add_launch(words, rank, begin_ns + LAUNCH_NS, correlation_of(words, step, nr), NODE_STEP,
		   RECORD_LAUNCH_HOST);
	add_launch(words, rank, end_ns + 1000, correlation_of(words, step, nr + 2), NODE_LAYER(0),
		   RECORD_LAUNCH_HOST);
	add_mark(words, rank, end_ns + 2000, RECORD_MARK_STEP_END, 0);
	words->truth.nr_launches += words->buffer->nr_launches - first;
	rank->nr_launches += nr; /* a ledger has no host calls */
}

static struct gpu_record *add_record(struct long_run_words *words, struct long_run_rank *rank,
				     uint32_t kind, uint64_t begin_ns, uint64_t end_ns,
				     uint32_t correlation_id)
{
	struct long_run_buffer *buffer = words->buffer;
	struct gpu_record *record = &buffer->records[buffer->nr_records++];

	*record = (struct gpu_record){.start_ns = begin_ns + LONG_RUN_REALTIME_NS,
				      .end_ns = end_ns + LONG_RUN_REALTIME_NS,
				      .correlation_id = correlation_id,
				      .context_id = 1,
				      .stream_id = 7,
				      .kind = (uint8_t)kind,
				      .window = 1};
	rank->nr_work++;
	rank->work_ns += end_ns - begin_ns;
	words->truth.nr_records++;
	return record;
}

static void add_kernel(struct long_run_words *words, struct long_run_rank *rank, uint64_t begin_ns,
		       uint64_t end_ns, uint64_t step, uint32_t kernel, uint32_t name)
{
	struct gpu_record *record = add_record(words, rank, RECORD_GPU_KERNEL, begin_ns, end_ns,
					       correlation_of(words, step, kernel));

	record->name_id = name;
	record->device_id = gpu_of(words, kernel);
	words->truth.nr_kernels++;
	words->truth.kernel_ns += end_ns - begin_ns;
}

static void add_memory(struct long_run_words *words, struct long_run_rank *rank, uint32_t kind,
		       uint64_t time_ns, uint32_t correlation_id)
{
	struct gpu_record *record = add_record(words, rank, kind, time_ns, time_ns, correlation_id);

	record->bytes = TENSOR_BYTES;
	record->address = 0x7f0000000000ull;
	record->copy_kind = MEMORY_KIND_DEVICE;
	record->stream_id = 0;
}

static void deliver_step(struct long_run_words *words, struct long_run_rank *rank, uint64_t step)
{
	const uint32_t nr = kernels_of(words);
	const uint64_t begin_ns = collective_ns(words, rank->number, step);
	const uint64_t end_ns = collective_end_ns(words, step);

	add_memory(words, rank, RECORD_GPU_ALLOC, step_ns(words, step) + 1500,
		   correlation_of(words, step, nr + 1));
	for (uint32_t i = 0; i < nr; i++) {
		const uint64_t random = mix(step * nr + i, rank->number);
		const uint64_t start_ns = launch_ns(words, step, i) + DELAY_NS;

		if (is_collective(words, i))
			add_kernel(words, rank, begin_ns + gpu_of(words, i) * 100 + DELAY_NS,
				   end_ns, step, i, NCCL);
		else if (random % WITHOUT_RECORD != 0)
			add_kernel(words, rank, start_ns,
				   start_ns + 2000 + i % LAYERS * 1000 +
					   (random >> 32) % (KERNEL_NS - 2000 - LAYERS * 1000),
				   step, i, i % 3 ? GEMM : RELU);
	}
	add_record(words, rank, RECORD_GPU_SYNC, begin_ns + LAUNCH_NS, end_ns + 500,
		   correlation_of(words, step, nr));
	add_memory(words, rank, RECORD_GPU_FREE, end_ns + 1500,
		   correlation_of(words, step, nr + 2));
}

/* ---- messages */

static int say_events(struct long_run_words *words, const struct long_run_rank *rank,
		      long_run_say *say, void *context)
{
	struct long_run_buffer *buffer = words->buffer;
	struct message message = {.type = MESSAGE_EVENTS,
				  .events = {.process_id = rank->process_id,
					     .clock_offset_ns = -LONG_RUN_REALTIME_NS,
					     .clock_valid = 1,
					     .nr_launches = buffer->nr_launches,
					     .launches = buffer->launches,
					     .nr_gpu = buffer->nr_records,
					     .gpu = buffer->records}};

	buffer->nr_launches = buffer->nr_records = 0;
	return say(context, &message);
}

/* The GPU work of a step comes when the next step has begun. */
static int say_steps(struct long_run_words *words, struct long_run_rank *rank, uint64_t nr_steps,
		     bool is_end, long_run_say *say, void *context)
{
	const struct long_run_buffer *buffer = words->buffer;
	const uint32_t room = kernels_of(words) + 8;
	int error = 0;

	while (!error && rank->nr_delivered + !is_end < nr_steps) {
		if (rank->nr_launched < nr_steps)
			launch_step(words, rank, rank->nr_launched++);
		if (rank->nr_launched > rank->nr_delivered + !is_end)
			deliver_step(words, rank, rank->nr_delivered++);
		if (buffer->nr_launches + room > EVENTS_MAX ||
		    buffer->nr_records + room > EVENTS_MAX)
			error = say_events(words, rank, say, context);
	}
	if (!error && (buffer->nr_launches || buffer->nr_records))
		error = say_events(words, rank, say, context);
	return error;
}

static int say_calls(struct long_run_words *words, struct long_run_rank *rank, long_run_say *say,
		     void *context)
{
	struct message message = {.type = MESSAGE_COLLECTIVES,
				  .collectives = {.process_id = rank->process_id,
						  .collectives = words->buffer->calls}};
	uint32_t *nr = &message.collectives.nr_collectives;

	for (; *nr < CALLS_MAX && rank->nr_told < rank->nr_launched; rank->nr_told++)
		words->buffer->calls[(*nr)++] = (struct collective){
			.start_ns = collective_ns(words, rank->number, rank->nr_told) - 3000,
			.duration_ns = 8000,
			.sequence = rank->nr_told + 1,
			.function_sequence = rank->nr_told + 1,
			.count = TENSOR_BYTES / 4,
			.bytes = TENSOR_BYTES,
			.stream = 0x7000,
			.communicator_id = 1,
			.tid = 1000 + rank->number,
			.peer = COLLECTIVE_NOT_KNOWN,
			.stack_id = NODE_ALL_REDUCE,
			.correlation_id =
				correlation_of(words, rank->nr_told, words->options.step_kernels),
			.function = COLLECTIVE_ALL_REDUCE,
			.data_type = COLLECTIVE_FLOAT32,
		};
	return *nr ? say(context, &message) : 0;
}

/* Half of the samples are of waits. */
static int say_samples(struct long_run_words *words, struct long_run_rank *rank, uint64_t until_ns,
		       long_run_say *say, void *context)
{
	const uint64_t passed_ns = until_ns - words->begin_ns;
	const uint64_t nr_samples = passed_ns / NS_PER_S * words->options.samples_per_s;
	struct message message = {.type = MESSAGE_SAMPLES,
				  .samples = {.process_id = rank->process_id,
					      .samples = words->buffer->samples,
					      .realtime_offset_ns = LONG_RUN_REALTIME_NS}};
	uint32_t *nr = &message.samples.nr_samples;
	int error = 0;

	while (!error && rank->nr_samples < nr_samples) {
		const uint64_t n = rank->nr_samples++;
		const bool waits = n % 2;

		words->buffer->samples[(*nr)++] = (struct host_sample){
			.time_ns =
				words->begin_ns + (n + 1) * NS_PER_S / words->options.samples_per_s,
			.duration_ns = 1000000 + mix(n, rank->number) % 1000000,
			.tid = 1000 + rank->number,
			.stack_id = NODE_LAYER((uint32_t)(n % LAYERS)),
			.name_id = waits ? FUTEX : 0,
			.command_id = COMMAND,
			.kind = waits ? HOST_SAMPLE_OFF_CPU : HOST_SAMPLE_CPU,
		};
		if (*nr == SAMPLES_MAX || rank->nr_samples == nr_samples) {
			error = say(context, &message);
			*nr = 0;
		}
	}
	return error;
}

static int say_sums(const struct long_run_words *words, const struct long_run_rank *rank,
		    uint64_t until_ns, long_run_say *say, void *context)
{
	const struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, rank->nr_launches, 0},
		{0, LEDGER_RECORDS, rank->nr_work, rank->work_ns},
		{LEDGER_DEVICE_NONE, LEDGER_COLLECTIVES, rank->nr_told, 0},
		{LEDGER_DEVICE_NONE, LEDGER_SAMPLES, rank->nr_samples, 0},
	};
	const struct message_kernel_config config = {.config = {.name_id = GEMM,
								.grid_x = 32,
								.grid_y = 1,
								.grid_z = 1,
								.block_x = 256,
								.block_y = 1,
								.block_z = 1},
						     .count = rank->nr_work,
						     .total_ns = rank->work_ns,
						     .min_ns = 1,
						     .max_ns = KERNEL_NS};
	const struct device_telemetry telemetry = {
		.begin_ns = words->begin_ns + LONG_RUN_REALTIME_NS,
		.last_ns = until_ns + LONG_RUN_REALTIME_NS,
		.readings = (until_ns - words->begin_ns) / (250 * NS_PER_MS),
		.observed_ns = until_ns - words->begin_ns,
		.power_ns = until_ns - words->begin_ns,
		.power_nj = 300 * (until_ns - words->begin_ns)};
	struct message messages[] = {
		{.type = MESSAGE_LEDGER,
		 .ledger = {.process_id = rank->process_id, .nr_entries = 4, .entries = entries}},
		{.type = MESSAGE_STATISTICS,
		 .statistics = {.process_id = rank->process_id,
				.nr_configs = 1,
				.configs = &config}},
		{.type = MESSAGE_PLACEMENT,
		 .placement = {.process_id = rank->process_id,
			       .nr_telemetry = 1,
			       .telemetry = &telemetry}},
	};
	int error = 0;

	for (uint32_t i = 0; i < sizeof(messages) / sizeof(*messages) && !error; i++)
		error = say(context, &messages[i]);
	return error;
}

static int say_rank(struct long_run_words *words, struct long_run_rank *rank, uint64_t until_ns,
		    long_run_say *say, void *context)
{
	const uint64_t nr_steps =
		(until_ns - words->begin_ns) / (words->options.step_ms * NS_PER_MS);
	int error = say_steps(words, rank, nr_steps, false, say, context);

	if (!error)
		error = say_calls(words, rank, say, context);
	if (!error)
		error = say_samples(words, rank, until_ns, say, context);
	return error ? error : say_sums(words, rank, until_ns, say, context);
}

int long_run_words_say(struct long_run_words *words, uint64_t until_ns, long_run_say *say,
		       void *context)
{
	int error = 0;

	for (uint32_t i = 0; i < words->options.nr_ranks && !error; i++)
		error = say_rank(words, &words->ranks[i], until_ns, say, context);
	return error;
}

int long_run_words_end(struct long_run_words *words, long_run_say *say, void *context)
{
	struct message bye = {.type = MESSAGE_BYE};
	int error = 0;

	for (uint32_t i = 0; i < words->options.nr_ranks && !error; i++) {
		struct long_run_rank *rank = &words->ranks[i];

		error = say_steps(words, rank, rank->nr_launched, true, say, context);
		if (!error)
			error = say_sums(words, rank, words->begin_ns, say, context);
		if (!error)
			error = say_process(words, rank, PROCESS_ENDED, say, context);
	}
	return error ? error : say(context, &bye);
}
