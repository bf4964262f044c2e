#include "scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/batch/batch_encode.h"
#include "proto/collective.h"
#include "proto/memory_kind.h"

#define TEXT(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
#define ROUNDS   12u
#define LAUNCHES 40u
#define SAMPLES  25u

struct scenario_frame scenario_encode(const struct message *message)
{
	struct batch_encoder *encoder = batch_encoder_create();
	struct scenario_frame frame;
	const uint8_t *bytes;

	assert_non_null(encoder);
	assert_int_equal(batch_encode(encoder, message, &bytes, &frame.size), 0);
	frame.bytes = malloc(frame.size);
	assert_non_null(frame.bytes);
	memcpy(frame.bytes, bytes, frame.size);
	batch_encoder_destroy(encoder);
	return frame;
}

static void add(struct scenario *scenario, const struct message *message)
{
	assert_true(scenario->nr_frames < SCENARIO_FRAMES_MAX);
	scenario->frames[scenario->nr_frames++] = scenario_encode(message);
}

static uint64_t next_seq(const struct scenario *scenario)
{
	return scenario->nr_frames + 1;
}

static void add_strings(struct scenario *scenario)
{
	/* 1: module … 4: functions, 7: kernels, 9: the device, 11: command, 13: a line to note,
	 * 14: a Python function, 16: a driver function */
	static const struct message_text strings[] = {
		TEXT("/usr/bin/train"),
		TEXT("/usr/lib/libcudart.so.13"),
		TEXT("main"),
		TEXT("_ZN5model7forwardEv"),
		TEXT("cudaLaunchKernel"),
		TEXT("inner;function\n"),
		TEXT("_Z4gemmIfEvPT_i"),
		TEXT("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
		TEXT("NVIDIA H100"),
		TEXT("0000:17:00.0"),
		TEXT("./train --fast"),
		TEXT("job-7"),
		TEXT("CUPTI 13.0 found"),
		TEXT("/srv/train.py"),
		TEXT("Model.forward"),
		TEXT("cuLaunchKernel"),
	};
	struct message message = {
		.type = MESSAGE_STRINGS,
		.strings = {.seq = next_seq(scenario), .base = 1, .count = 6, .strings = strings},
	};

	add(scenario, &message);
	message.strings.seq = next_seq(scenario);
	message.strings.base = 7;
	message.strings.count = sizeof(strings) / sizeof(strings[0]) - 6;
	message.strings.strings = strings + 6;
	add(scenario, &message);
}

/* Nodes: 1 main, 2 main;forward, 3 main;forward;cudaLaunchKernel, 4 …;inner function of the
 * runtime, 5 main;train+0x40, 6 an address in no module, 7 train.py:Model.forward:88,
 * 8 train.py:Model.forward:88;cuLaunchKernel, 9 and 11 the kernels, 10 and 12 a line in each. */
static void add_stacks(struct scenario *scenario)
{
	static const struct message_module modules[] = {
		{.path = 1, .build_id_size = 4, .build_id = {1, 2, 3, 4}},
		{.path = 2, .flags = 1u << 1},
	};
	static const struct message_frame frames[] = {
		{.module = 1, .offset = 0x10},
		{.module = 1, .offset = 0x20},
		{.module = 2, .offset = 0x30},
		{.module = 2, .offset = 0x38},
		{.module = 1, .offset = 0x40},
		{.module = 0, .offset = 0xdeadbeef},
		{.code = 2, .offset = 88},
		{.code = 1},
		{.code = 3},
		{.code = 4},
	};
	static const struct message_code codes[] = {{0, 16}, {14, 15}, {0, 7}, {0, 8}};
	static const struct message_node nodes[] = {
		{0, 1}, {1, 2}, {2, 3}, {3, 4}, {1, 5},  {0, 6},
		{0, 7}, {7, 8}, {0, 9}, {9, 7}, {0, 10}, {11, 7},
	};
	static const struct message_symbol symbols[] = {{1, 3}, {2, 4}, {3, 5}, {5, 0}};
	struct message message = {
		.type = MESSAGE_STACKS,
		.stacks =
			{
				.seq = next_seq(scenario),
				.module_base = 1,
				.nr_modules = 2,
				.modules = modules,
				.frame_base = 1,
				.nr_frames = 10,
				.frames = frames,
				.node_base = 1,
				.nr_nodes = 12,
				.nodes = nodes,
				.nr_symbols = 4,
				.symbols = symbols,
				.code_base = 1,
				.nr_codes = 4,
				.codes = codes,
			},
	};

	add(scenario, &message);
}

/* A symbol that came later than its frame. */
static void add_symbol(struct scenario *scenario)
{
	static const struct message_symbol symbols[] = {{5, 6}};
	struct message message = {
		.type = MESSAGE_STACKS,
		.stacks = {.seq = next_seq(scenario),
			   .module_base = 3,
			   .code_base = 5,
			   .frame_base = 11,
			   .node_base = 13,
			   .nr_symbols = 1,
			   .symbols = symbols},
	};

	add(scenario, &message);
}

static void add_process(struct scenario *scenario, uint32_t process_id, uint32_t number,
			enum process_state state)
{
	struct message_device device = {
		.device_id = 0,
		.index = (int32_t)(2 + number),
		.uuid = {(uint8_t)(1 + number), 9},
		.name = 9,
		.pci = 10,
		.limits = {9, 0, 132, 32, 2048, 32, 65536, 233472, 1024, 65536, 49152, 232448,
			   1024},
	};
	uint32_t notice = 13;
	struct message message = {
		.type = MESSAGE_PROCESS,
		.process =
			{
				.seq = next_seq(scenario),
				.process_id = process_id,
				.pid = 1000 + process_id,
				.start_ticks = 77,
				.pid_namespace = 5,
				.instance = {(uint8_t)process_id, (uint8_t)number},
				.state = state,
				.rank = (int32_t)(2 * number + process_id - 1),
				.local_rank = (int32_t)process_id - 1,
				.world_size = 4,
				.job = 12,
				.command = 11,
				.nr_devices = 1,
				.devices = &device,
				.nr_notices = 1,
				.notices = &notice,
			},
	};

	add(scenario, &message);
}

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % limit;
}

static struct gpu_record record_of(uint64_t *seed, uint32_t correlation_id)
{
	struct gpu_record record = {
		.start_ns = 1000000ull + correlation_id * 1000ull +
			    (correlation_id + 19) / 20 * 20000ull, /* some idle time */
		.bytes = 0,
		.correlation_id = correlation_id,
		.context_id = 1,
		.stream_id = 7 + correlation_id % 3,
		.name_id = 7 + correlation_id % 2,
		.kind = RECORD_GPU_KERNEL,
		.window = 1,
	};

	record.end_ns = record.start_ns + 100 + random_below(seed, 2500);
	if (correlation_id % 9 == 0) {
		record.kind = RECORD_GPU_MEMCPY;
		record.copy_kind = 1;
		record.bytes = 4096 + correlation_id;
		record.name_id = 0;
	}
	if (correlation_id % 10 == 0 || correlation_id % 7 == 0) {
		record.graph_id = 4;
		record.graph_node_id = 4ull << 32 | random_below(seed, 5);
		record.capture_stack_id = random_below(seed, 9);
	}
	if (correlation_id % 23 == 0) {
		record = (struct gpu_record){
			.start_ns = record.start_ns,
			.end_ns = record.end_ns,
			.correlation_id = correlation_id,
			.context_id = 1,
			.stream_id = 7,
			.graph_id = 5,
			.kind = RECORD_GPU_GRAPH,
			.window = 1,
		};
	}
	return record;
}

/* Places are allocated and freed without sense: doubly, not at all, of any kind and a little out of order. */
static struct gpu_record memory_of(uint64_t *seed, uint32_t correlation_id)
{
	struct gpu_record record = {
		.start_ns = 1000000ull + correlation_id * 1000ull + random_below(seed, 5000),
		.bytes = random_below(seed, 1u << 20),
		.address = 0x1000ull * random_below(seed, 12),
		.correlation_id = correlation_id,
		.context_id = 1,
		.kind = random_below(seed, 2) ? RECORD_GPU_ALLOC : RECORD_GPU_FREE,
		.copy_kind = (uint8_t)random_below(seed, MEMORY_KINDS + 1),
		.window = 1,
	};

	record.end_ns = record.start_ns;
	return record;
}

/* Records run a round behind and a part of them ahead of their launches; some launches fail, some
 * never get a record, some records never a launch, and every tenth launch is a graph with several
 * records, which were captured in several places. */
static void add_events(struct scenario *scenario, uint32_t process_id, uint32_t round,
		       uint64_t *seed)
{
	struct launch_record launches[2 * LAUNCHES];
	struct gpu_record records[4 * LAUNCHES];
	uint32_t nr_launches = 0, nr_records = 0;

	for (uint32_t i = 0; i < LAUNCHES; i++) {
		uint32_t id = 1 + round * LAUNCHES + i;
		struct launch_record launch = {
			.time_ns = 500000ull + id,
			.correlation_id = id,
			.stack_id = id % 13 == 0 ? 0 : 1 + id % 8,
			.tid = 500 + id % 2,
			.cbid = 307,
			.window = 1,
			.flags = id % 10 == 0 ? RECORD_LAUNCH_MANY : 0,
		};
		uint32_t early = id + LAUNCHES / 2, late = id > LAUNCHES ? id - LAUNCHES : 0;

		if (id % 17 != 0)
			launches[nr_launches++] = launch;
		if (id % 19 == 0) {
			launch.flags = RECORD_LAUNCH_FAILED;
			launches[nr_launches++] = launch;
		}
		if (i % 5 == 0)
			records[nr_records++] = record_of(seed, early);
		if (i % 3 == 0)
			records[nr_records++] = memory_of(seed, id);
		if (late && late % 11 != 0)
			for (uint32_t copies = late % 10 == 0 ? 3 : 1; copies > 0; copies--)
				records[nr_records++] = record_of(seed, late);
	}
	struct message message = {
		.type = MESSAGE_EVENTS,
		.events = {.seq = next_seq(scenario),
			   .process_id = process_id,
			   .clock_offset_ns = -5,
			   .clock_valid = 1,
			   .nr_launches = nr_launches,
			   .launches = launches,
			   .nr_gpu = nr_records,
			   .gpu = records},
	};
	add(scenario, &message);
}

static void add_ledger(struct scenario *scenario, uint32_t process_id, uint64_t count)
{
	const struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, count, 0},
		{0, LEDGER_RECORDS, count, count * 1000},
		{0, LEDGER_RECORD_RING_FULL, process_id, 17},
	};
	struct message message = {
		.type = MESSAGE_LEDGER,
		.ledger = {.seq = next_seq(scenario),
			   .process_id = process_id,
			   .nr_entries = 3,
			   .entries = entries},
	};

	add(scenario, &message);
}

/* Two threads that run, wait and call, some without a stack, a reason or a function; and kernels that are sampled. */
static void add_samples(struct scenario *scenario, uint32_t process_id, uint32_t round,
			uint64_t *seed)
{
	struct host_sample samples[SAMPLES];
	struct message message = {.type = MESSAGE_SAMPLES,
				  .samples = {.seq = next_seq(scenario),
					      .process_id = process_id,
					      .nr_samples = SAMPLES,
					      .samples = samples}};

	for (uint32_t i = 0; i < SAMPLES; i++) {
		samples[i] = (struct host_sample){
			.time_ns = 1000000ull + round * 80000ull + i * 6000ull,
			.duration_ns = 1 + random_below(seed, 9000),
			.tid = 500 + i % 2,
			.stack_id = random_below(seed, 9),
			.name_id = random_below(seed, 3) ? 0 : 14 + random_below(seed, 3),
			.kind = (uint8_t)random_below(seed, HOST_SAMPLE_EXACT),
		};
		if (samples[i].kind != HOST_SAMPLE_KERNEL)
			continue;
		samples[i].tid = i % 2;
		samples[i].stack_id = 9 + i % 4;
	}
	add(scenario, &message);
}

static void add_streams(struct scenario *scenario, uint32_t process_id, int32_t priority)
{
	static const uint32_t flags[] = {5, 9, 9};
	struct message_stream streams[8];
	struct message message = {.type = MESSAGE_STREAM,
				  .streams = {.seq = next_seq(scenario),
					      .process_id = process_id,
					      .nr_streams = 8,
					      .streams = streams}};

	for (uint32_t i = 0; i < 8; i++)
		streams[i] = (struct message_stream){.context_id = 1,
						     .stream_id = 7 + i,
						     .name = i % 3,
						     .priority = priority,
						     .flags = flags[i % 3]};
	add(scenario, &message);
}

/* Rows grow, and some are new in each round. */
static void add_statistics(struct scenario *scenario, uint32_t process_id, uint32_t round)
{
	const struct message_api_call calls[] = {
		{STATISTICS_RUNTIME, 211, 0, 5, 100 + round, 1000 * (100 + round), 10, 5000, round},
		{STATISTICS_RUNTIME, 211, 700 + round / 4, 5, round, 0, 0, 0, 0},
		{STATISTICS_DRIVER, 307, 0, 16, 200 + round, 900 * (200 + round), 8, 4000, 0},
	};
	const struct message_kernel_config configs[] = {
		{{0, 7, 8, 1, 1, 128, 1, 1, 0, 1024, 32, 0}, 10 + round, 5000 + round, 200, 900},
		{{0, 8, 8 + round, 1, 1, 128, 1, 1, 0, 0, 255, 16}, 1, 500, 500, 500},
		{{0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, round, 500, 50, 500},
	};
	const struct message_kernel_metric metrics[] = {
		{0, 1, 7, 5, 1, 10 + round, 5000 + round, 0x4059000000000000, 0,
		 0x4059000000000000},
		{1, 2, 8, 16, 3, 1, 500, 0x3ff0000000000000, 1, 0x3ff0000000000000},
	};
	struct message message = {
		.type = MESSAGE_STATISTICS,
		.statistics = {.seq = next_seq(scenario),
			       .process_id = process_id,
			       .nr_calls = 3,
			       .calls = calls,
			       .nr_configs = 3,
			       .configs = configs,
			       .nr_metrics = 2,
			       .metrics = metrics},
	};

	add(scenario, &message);
}

/* Each process is a rank of its agent's communicator, and of one of all agents. */
static void add_communicators(struct scenario *scenario, uint32_t process_id, uint32_t number)
{
	const struct communicator communicators[] = {
		{.key = 100 + number,
		 .communicator_id = 1,
		 .rank = process_id - 1,
		 .nr_ranks = 2,
		 .origin = COMMUNICATOR_PROFILER},
		{.key = 99,
		 .communicator_id = 2,
		 .rank = 2 * number + process_id - 1,
		 .nr_ranks = 2 * SCENARIO_AGENTS,
		 .origin = COMMUNICATOR_PROFILER},
	};
	struct message message = {.type = MESSAGE_COLLECTIVES,
				  .collectives = {.seq = next_seq(scenario),
						  .process_id = process_id,
						  .nr_communicators = 2,
						  .communicators = communicators}};

	add(scenario, &message);
}

/* Their kernels are those of the round that have launches of their own. */
static void add_collectives(struct scenario *scenario, uint32_t process_id, uint32_t round)
{
	struct collective calls[4];
	struct message message = {.type = MESSAGE_COLLECTIVES,
				  .collectives = {.seq = next_seq(scenario),
						  .process_id = process_id,
						  .nr_collectives = 4,
						  .collectives = calls}};

	for (uint32_t i = 0; i < 4; i++)
		calls[i] = (struct collective){
			.start_ns = 1000 * round + i,
			.duration_ns = 20,
			.sequence = round / 2 * 2 + i / 2 + 1,
			.function_sequence = round / 2 * 2 + i / 2 + 1,
			.count = 5,
			.bytes = 20,
			.communicator_id = 1 + i % 2,
			.tid = 500 + i % 2,
			.peer = COLLECTIVE_NOT_KNOWN,
			.correlation_id = 21 + round * LAUNCHES + 5 * i,
			.function = COLLECTIVE_ALL_REDUCE,
			.data_type = COLLECTIVE_FLOAT32,
		};
	add(scenario, &message);
}

void scenario_init(struct scenario *scenario, uint32_t number)
{
	static const struct message_text nodes[] = {TEXT("node01"), TEXT("node02")};
	struct message message = {.type = MESSAGE_HELLO};
	uint64_t seed = number + 1, sample_seed = number + 7;

	memset(scenario, 0, sizeof(*scenario));
	memset(scenario->epoch, (int)(0xa0 + number), sizeof(scenario->epoch));
	scenario->hello = (struct message_hello){
		.version_min = 1,
		.version_max = 1,
		.software = TEXT("flamegrid test"),
		.node = nodes[number % 2],
		.boot_id = TEXT("b00t"),
	};
	memcpy(scenario->hello.epoch, scenario->epoch, sizeof(scenario->epoch));
	message.hello = scenario->hello;
	scenario->hello_frame = scenario_encode(&message);

	add_strings(scenario);
	add_stacks(scenario);
	add_process(scenario, 1, number, PROCESS_RUNNING);
	add_process(scenario, 2, number, PROCESS_RUNNING);
	add_communicators(scenario, 1, number);
	add_communicators(scenario, 2, number);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		add_events(scenario, 1 + round % 2, round, &seed);
		add_collectives(scenario, 1 + round % 2, round);
		if (round % 4 == 3)
			add_ledger(scenario, 1 + round / 4 % 2, round * 100);
		if (round == 6)
			add_symbol(scenario);
		if (round % 2)
			add_samples(scenario, 1 + round / 2 % 2, round, &sample_seed);
		if (round > 6)
			add_statistics(scenario, 1 + round / 2 % 2, round);
	}
	add_streams(scenario, 1, 0);
	add_streams(scenario, 2, -1);
	add_streams(scenario, 1, -2);
	add_ledger(scenario, 0, 5);
	add_process(scenario, 1, number, PROCESS_ENDED);
	add_process(scenario, 2, number, number % 2 ? PROCESS_UNCLEAN : PROCESS_RUNNING);
	message = (struct message){.type = MESSAGE_BYE, .bye = {.seq = next_seq(scenario)}};
	add(scenario, &message);
}

void scenario_fini(struct scenario *scenario)
{
	free(scenario->hello_frame.bytes);
	for (uint32_t i = 0; i < scenario->nr_frames; i++)
		free(scenario->frames[i].bytes);
}
