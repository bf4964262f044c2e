#include "message_samples.h"

#include <stddef.h>
#include <string.h>

#define RECORDS       96u
#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define TEXT(literal)                                                                              \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

static struct launch_record launches[RECORDS];
static struct gpu_record gpu[RECORDS];

/* Fields in each of the forms of a column: a constant, steps, runs, deltas. */
static void make_records(void)
{
	uint64_t now_ns = 1700000000123456789ull;

	for (uint32_t i = 0; i < RECORDS; i++) {
		now_ns += 2900 + i * i % 731;
		launches[i] = (struct launch_record){
			.time_ns = now_ns - 1699999000000000000ull,
			.correlation_id = 0xfffffff0u + i, /* wraps */
			.stack_id = 1 + i * 7919 % 2000,
			.tid = i < 70 ? 4242 : 4243,
			.cbid = i % 30 == 0 ? 279 : 307,
			.window = 1,
			.flags = i == 40 ? RECORD_LAUNCH_FAILED : 0,
		};
		gpu[i] = (struct gpu_record){
			.start_ns = now_ns - (i % 3) * 5000,
			.end_ns = now_ns + 1000 + i * 37 % 4000,
			.correlation_id = 0xfffffff0u + i,
			.context_id = 1,
			.stream_id = 7 + i % 4,
			.name_id = i < 48 ? 1 + i % 13 : 300,
			.graph_id = i < 20 ? 0 : 3,
			.graph_node_id = i < 20 ? 0 : 0x300000000ull + i,
			.capture_stack_id = i < 20 ? 0 : 1 + i / 3 % 7,
			.device_id = i < 90 ? 0 : 1,
			.kind = i >= 60 && i < 70 ? RECORD_GPU_MEMCPY : RECORD_GPU_KERNEL,
			.copy_kind = i >= 60 && i < 70 ? 1 : 0,
			.bytes = i >= 60 && i < 70 ? 4096ull << (i - 60) : 0,
			.window = 1,
		};
	}
}

static const struct launch_record extreme_launches[] = {
	{.time_ns = UINT64_MAX,
	 .correlation_id = UINT32_MAX,
	 .stack_id = WIRE_ID_MAX,
	 .tid = UINT32_MAX,
	 .cbid = UINT16_MAX,
	 .window = UINT16_MAX,
	 .flags = UINT32_MAX},
	{.time_ns = 0},
	{.time_ns = 1ull << 63,
	 .correlation_id = 1,
	 .stack_id = 1,
	 .tid = 1,
	 .cbid = 1,
	 .window = 1,
	 .flags = 1},
};

static const struct gpu_record extreme_gpu[] = {
	{.start_ns = 1,
	 .end_ns = UINT64_MAX,
	 .bytes = UINT64_MAX,
	 .graph_node_id = UINT64_MAX,
	 .correlation_id = UINT32_MAX,
	 .device_id = UINT32_MAX,
	 .context_id = UINT32_MAX,
	 .stream_id = UINT32_MAX,
	 .name_id = WIRE_ID_MAX,
	 .graph_id = UINT32_MAX,
	 .kind = RECORD_GPU_MEMSET,
	 .copy_kind = UINT8_MAX,
	 .window = UINT16_MAX,
	 .capture_stack_id = WIRE_ID_MAX},
	{.start_ns = UINT64_MAX, .end_ns = UINT64_MAX},
	{.start_ns = 1, .end_ns = 1, .kind = RECORD_GPU_MEMCPY},
	{.start_ns = 1, .end_ns = 2, .graph_id = 1, .kind = RECORD_GPU_GRAPH},
};

static const struct message_text texts[] = {
	TEXT("void at::native::vectorized_elementwise_kernel<4>(int)"),
	TEXT(""),
	TEXT("\xff\xfe\0;\n"),
	TEXT("train.py"),
};

static const struct message_module modules[] = {
	{.path = 4, .flags = 1, .build_id_size = 20, .build_id = {1, 2, 3, 4, 5, 250}},
	{.path = 0, .flags = 0, .build_id_size = 0},
	{.path = WIRE_ID_MAX,
	 .flags = UINT32_MAX,
	 .build_id_size = WIRE_BUILD_ID_MAX,
	 .build_id = {9}},
};
static const struct message_frame frames[] = {
	{.module = 1, .offset = 0x401a2b},
	{.module = MESSAGE_FRAME_NO_MODULE, .offset = 0xffffffffff600000ull},
	{.module = 3, .offset = 0},
	{.module = 1, .offset = UINT64_MAX},
	{.code = 7, .offset = 88},
	{.code = 8},
	{.code = WIRE_ID_MAX, .offset = UINT64_MAX},
};
static const struct message_code codes[] = {{4, 1}, {0, 3}, {WIRE_ID_MAX, WIRE_ID_MAX}};
static const struct message_node nodes[] = {
	{0, 1}, {900, 2}, {901, 3}, {901, 4}, {0, WIRE_ID_MAX}, {904, 1},
};
static const struct message_symbol symbols[] = {{1, 1}, {2, 0}, {4, WIRE_ID_MAX}};

static const struct message_device devices[] = {
	{.device_id = 0,
	 .index = 5,
	 .uuid = {0x47, 0x50, 0x55},
	 .name = 1,
	 .pci = 2,
	 .limits = {9, 0, 132, 32, 2048, 32, 65536, 233472, 1024, 65536, 49152, 232448, 1024}},
	{.device_id = UINT32_MAX, .index = MESSAGE_INDEX_NONE, .limits = {.warp_size = UINT32_MAX}},
};
static const uint32_t notices[] = {3, 0, WIRE_ID_MAX};

static const struct ledger_entry entries[] = {
	{LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, 1000000, 0},
	{0, LEDGER_RECORDS, 999990, 123456789012345ull},
	{0, LEDGER_INVALID_TIME, 10, 0},
	{1, UINT32_MAX, UINT64_MAX, UINT64_MAX},
};

static const struct message_api_call api_calls[] = {
	{STATISTICS_RUNTIME, 211, 0, 3, 1000000, 3456789012, 2100, 991234, 2},
	{STATISTICS_RUNTIME, 211, 701, 3, 2, 0, 0, 0, 0},
	{STATISTICS_DRIVER, UINT32_MAX, UINT32_MAX, WIRE_ID_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
	 UINT64_MAX, UINT64_MAX},
};
static const struct message_kernel_config configs[] = {
	{{0, 1, 8, 1, 1, 64, 1, 1, 1024, 0, 32, 0}, 1000, 2500000, 2000, 9999},
	{{0, 1, 16, 1, 1, 64, 1, 1, 1024, 0, 32, 0}, 1, 2500, 2500, 2500},
	{{UINT32_MAX, WIRE_ID_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
	  UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
	 UINT64_MAX,
	 UINT64_MAX,
	 UINT64_MAX,
	 UINT64_MAX},
};

static const struct message_stream streams[] = {
	{.context_id = 1, .stream_id = 7, .flags = 4},
	{.context_id = 1, .stream_id = 13, .name = 5, .priority = -3, .flags = 11},
	{.context_id = UINT32_MAX,
	 .stream_id = UINT32_MAX,
	 .name = WIRE_ID_MAX,
	 .priority = INT32_MIN,
	 .flags = UINT32_MAX},
};

static const struct message_context contexts[] = {
	{.context_id = 2, .parent_id = 1, .nr_multiprocessors = 16, .flags = 1},
	{.context_id = UINT32_MAX,
	 .parent_id = UINT32_MAX,
	 .device_id = UINT32_MAX,
	 .nr_multiprocessors = UINT32_MAX,
	 .flags = UINT32_MAX},
};

static const struct host_sample host_samples[] = {
	{.time_ns = 5000000000ull,
	 .duration_ns = 10101010,
	 .tid = 4242,
	 .stack_id = 7,
	 .cpu = 3,
	 .command_id = 2},
	{.time_ns = 5010101010ull, .duration_ns = 10101010, .tid = 4242, .stack_id = 7},
	{.time_ns = 5000300000ull,
	 .duration_ns = 299999,
	 .tid = 4243,
	 .stack_id = 9,
	 .name_id = 3,
	 .kind = HOST_SAMPLE_OFF_CPU},
	{.time_ns = 5000400000ull,
	 .duration_ns = 1,
	 .tid = 4243,
	 .name_id = 4,
	 .kind = HOST_SAMPLE_CALL},
	{.time_ns = UINT64_MAX,
	 .duration_ns = UINT64_MAX,
	 .tid = UINT32_MAX,
	 .stack_id = WIRE_ID_MAX,
	 .name_id = WIRE_ID_MAX,
	 .cpu = UINT32_MAX,
	 .command_id = WIRE_ID_MAX,
	 .kind = HOST_SAMPLE_KINDS - 1},
};

static const struct communicator communicators[] = {
	{.key = 0xcbf29ce484222325ull, .communicator_id = 1, .rank = 1, .nr_ranks = 8},
	{.key = 77,
	 .parent_key = 0xcbf29ce484222325ull,
	 .communicator_id = 2,
	 .rank = COLLECTIVE_NOT_KNOWN,
	 .nr_ranks = COLLECTIVE_NOT_KNOWN,
	 .color = -2,
	 .split = 3,
	 .origin = COMMUNICATOR_SPLIT},
	{.key = UINT64_MAX,
	 .parent_key = UINT64_MAX,
	 .communicator_id = COLLECTIVE_COMMUNICATORS_MAX,
	 .color = INT32_MIN,
	 .split = UINT32_MAX,
	 .origin = COMMUNICATOR_ORIGINS - 1},
};

static const struct collective collectives[] = {
	{.start_ns = 5000000000ull,
	 .duration_ns = 12345,
	 .sequence = 1,
	 .function_sequence = 1,
	 .count = 1024,
	 .bytes = 4096,
	 .stream = 0x7f0012345678ull,
	 .communicator_id = 1,
	 .tid = 4242,
	 .peer = COLLECTIVE_NOT_KNOWN,
	 .stack_id = 7,
	 .correlation_id = 1000,
	 .data_type = COLLECTIVE_FLOAT32},
	{.start_ns = 5000100000ull,
	 .duration_ns = 1,
	 .count = 3,
	 .group = 9,
	 .tid = 4242,
	 .peer = COLLECTIVE_NOT_KNOWN,
	 .result = -1,
	 .function = COLLECTIVE_GROUP,
	 .data_type = COLLECTIVE_TYPE_NONE,
	 .reduce_op = COLLECTIVE_OP_NONE},
	{.start_ns = UINT64_MAX,
	 .duration_ns = UINT64_MAX,
	 .sequence = UINT64_MAX,
	 .function_sequence = UINT64_MAX,
	 .count = UINT64_MAX,
	 .bytes = UINT64_MAX,
	 .group = UINT64_MAX,
	 .stream = UINT64_MAX,
	 .communicator_id = COLLECTIVE_COMMUNICATORS_MAX,
	 .tid = UINT32_MAX,
	 .peer = UINT32_MAX,
	 .stack_id = WIRE_ID_MAX,
	 .correlation_id = UINT32_MAX,
	 .result = INT32_MIN,
	 .function = COLLECTIVE_FUNCTIONS - 1,
	 .data_type = UINT8_MAX,
	 .reduce_op = UINT8_MAX},
};

static const struct message_placed_device placed_devices[] = {
	{0, 1, 4},
	{UINT32_MAX, PLACEMENT_NODE_NONE, WIRE_ID_MAX},
};
static const struct message_placed_thread placed_threads[] = {
	{4711, 0, 1},
	{4711, 1, UINT64_MAX},
	{UINT32_MAX, UINT32_MAX, 0},
};

static const struct message_control_agent control_agents[] = {
	{.node = {"node01", 6}, .state = CONTROL_IN_TIME, .nr_processes = 8, .bound_ns = 45100},
	{.node = {"", 0}, .state = CONTROL_WAITING},
};

static struct message samples[NR_MESSAGE_SAMPLES] = {
	{.type = MESSAGE_HELLO,
	 .hello = {.version_min = 1,
		   .version_max = 3,
		   .epoch = {0xde, 0xad},
		   .software = TEXT("flamegrid 0.1.0"),
		   .node = TEXT("node01"),
		   .boot_id = TEXT("6a4c5f2e-0b1f-4f0e-9d57-3c1d4ad2b7aa")}},
	{.type = MESSAGE_WELCOME,
	 .welcome = {.version = 1,
		     .window_frames = 64,
		     .window_bytes = 8u << 20,
		     .durable_seq = 4711}},
	{.type = MESSAGE_REFUSE,
	 .refuse = {.code = REFUSE_SEQUENCE, .reason = TEXT("7 expected, 9 came")}},
	{.type = MESSAGE_STRINGS,
	 .strings = {.seq = 1, .base = 17, .count = LENGTH(texts), .strings = texts}},
	{.type = MESSAGE_STRINGS, .strings = {.seq = UINT64_MAX}},
	{.type = MESSAGE_STRINGS,
	 .strings = {.seq = 2, .base = WIRE_ID_MAX, .count = 1, .strings = texts}},
	{.type = MESSAGE_STACKS,
	 .stacks = {.seq = 2,
		    .module_base = 1,
		    .nr_modules = LENGTH(modules),
		    .frame_base = 1,
		    .nr_frames = LENGTH(frames),
		    .node_base = 900,
		    .nr_nodes = LENGTH(nodes),
		    .nr_symbols = LENGTH(symbols),
		    .code_base = 7,
		    .nr_codes = LENGTH(codes),
		    .modules = modules,
		    .frames = frames,
		    .nodes = nodes,
		    .symbols = symbols,
		    .codes = codes}},
	{.type = MESSAGE_STACKS, .stacks = {.seq = 3}},
	{.type = MESSAGE_PROCESS,
	 .process = {.seq = 4,
		     .process_id = 1,
		     .pid = 4242,
		     .start_ticks = 123456,
		     .pid_namespace = 4026531836,
		     .instance = {1, 2, 3},
		     .state = PROCESS_UNCLEAN,
		     .rank = 7,
		     .local_rank = 3,
		     .world_size = 8,
		     .job = 2,
		     .command = 3,
		     .nr_devices = LENGTH(devices),
		     .devices = devices,
		     .nr_notices = LENGTH(notices),
		     .notices = notices}},
	{.type = MESSAGE_PROCESS,
	 .process = {.seq = 5,
		     .process_id = WIRE_ID_MAX,
		     .pid = UINT32_MAX,
		     .start_ticks = UINT64_MAX,
		     .pid_namespace = UINT64_MAX,
		     .rank = MESSAGE_RANK_NONE,
		     .local_rank = MESSAGE_RANK_NONE,
		     .world_size = INT32_MAX}},
	{.type = MESSAGE_EVENTS,
	 .events = {.seq = 6,
		    .process_id = 1,
		    .clock_offset_ns = -1699999000000000000ll,
		    .clock_valid = 1,
		    .nr_launches = RECORDS,
		    .nr_gpu = RECORDS,
		    .launches = launches,
		    .gpu = gpu}},
	{.type = MESSAGE_EVENTS, .events = {.seq = 7, .process_id = 2}},
	{.type = MESSAGE_EVENTS,
	 .events = {.seq = UINT64_MAX,
		    .process_id = WIRE_ID_MAX,
		    .clock_offset_ns = INT64_MIN,
		    .clock_valid = 1,
		    .nr_launches = LENGTH(extreme_launches),
		    .nr_gpu = LENGTH(extreme_gpu),
		    .launches = extreme_launches,
		    .gpu = extreme_gpu}},
	{.type = MESSAGE_EVENTS,
	 .events = {.seq = 8,
		    .process_id = 1,
		    .clock_offset_ns = INT64_MAX,
		    .nr_gpu = 1,
		    .gpu = gpu}},
	{.type = MESSAGE_LEDGER,
	 .ledger = {.seq = 9, .process_id = 1, .nr_entries = LENGTH(entries), .entries = entries}},
	{.type = MESSAGE_LEDGER, .ledger = {.seq = 10, .process_id = 0}},
	{.type = MESSAGE_STREAM,
	 .streams = {.seq = 11,
		     .process_id = 1,
		     .nr_streams = LENGTH(streams),
		     .nr_contexts = LENGTH(contexts),
		     .streams = streams,
		     .contexts = contexts}},
	{.type = MESSAGE_STREAM, .streams = {.seq = UINT64_MAX, .process_id = WIRE_ID_MAX}},
	{.type = MESSAGE_SAMPLES,
	 .samples = {.seq = 12,
		     .process_id = 1,
		     .nr_samples = LENGTH(host_samples),
		     .samples = host_samples,
		     .realtime_offset_ns = 1732213912000000000ll}},
	{.type = MESSAGE_SAMPLES,
	 .samples =
		 {.seq = 13, .process_id = WIRE_ID_MAX, .nr_samples = 1, .samples = host_samples}},
	{.type = MESSAGE_SAMPLES,
	 .samples = {.seq = UINT64_MAX, .process_id = 2, .realtime_offset_ns = INT64_MIN}},
	{.type = MESSAGE_ACK,
	 .ack = {.seq = 12, .window_frames = UINT32_MAX, .window_bytes = UINT64_MAX}},
	{.type = MESSAGE_PING, .ping = {.token = UINT64_MAX}},
	{.type = MESSAGE_PONG, .ping = {.token = 0}},
	{.type = MESSAGE_BYE, .bye = {.seq = 12}},
	{.type = MESSAGE_PLACEMENT,
	 .placement = {.seq = 17,
		       .process_id = 1,
		       .nr_devices = LENGTH(placed_devices),
		       .devices = placed_devices,
		       .nr_threads = LENGTH(placed_threads),
		       .threads = placed_threads}},
	{.type = MESSAGE_PLACEMENT, .placement = {.seq = UINT64_MAX, .process_id = WIRE_ID_MAX}},
	{.type = MESSAGE_CONTROL,
	 .control = {.kind = CONTROL_ASK,
		     .token = UINT64_MAX,
		     .action = WIRE_CONTROL_ACTION_MAX,
		     .relative = 1,
		     .from_ns = UINT64_MAX,
		     .until_ns = UINT64_MAX}},
	{.type = MESSAGE_CONTROL,
	 .control = {.kind = CONTROL_TAKEN,
		     .token = 1,
		     .state = CONTROL_LATE,
		     .nr_processes = UINT32_MAX,
		     .bound_ns = UINT64_MAX}},
	{.type = MESSAGE_CONTROL,
	 .control = {.kind = CONTROL_ANSWER,
		     .token = 2,
		     .action = 1,
		     .nr_agents = LENGTH(control_agents),
		     .agents = control_agents}},
	{.type = MESSAGE_CLOCK, .clock = {.kind = CLOCK_ASK, .t1_ns = UINT64_MAX}},
	{.type = MESSAGE_CLOCK,
	 .clock = {.kind = CLOCK_ANSWER,
		   .t1_ns = 1,
		   .t2_ns = 7000000000,
		   .t3_ns = 7000020000,
		   .realtime_offset_ns = 1732213912000000000ll}},
	{.type = MESSAGE_CLOCK,
	 .clock = {.kind = CLOCK_RESULT,
		   .t1_ns = 9,
		   .realtime_offset_ns = INT64_MIN,
		   .offset_ns = INT64_MIN,
		   .bound_ns = UINT64_MAX,
		   .round_trip_ns = UINT64_MAX}},
	{.type = MESSAGE_STATISTICS,
	 .statistics = {.seq = 13,
			.process_id = 1,
			.nr_calls = LENGTH(api_calls),
			.calls = api_calls,
			.nr_configs = LENGTH(configs),
			.configs = configs}},
	{.type = MESSAGE_STATISTICS,
	 .statistics = {.seq = UINT64_MAX,
			.process_id = WIRE_ID_MAX,
			.nr_configs = 1,
			.configs = configs}},
	{.type = MESSAGE_STATISTICS, .statistics = {.seq = 14, .process_id = 2}},
	{.type = MESSAGE_COLLECTIVES,
	 .collectives = {.seq = 15,
			 .process_id = 1,
			 .nr_communicators = LENGTH(communicators),
			 .nr_collectives = LENGTH(collectives),
			 .communicators = communicators,
			 .collectives = collectives}},
	{.type = MESSAGE_COLLECTIVES,
	 .collectives = {.seq = UINT64_MAX,
			 .process_id = WIRE_ID_MAX,
			 .nr_collectives = 1,
			 .collectives = collectives}},
	{.type = MESSAGE_COLLECTIVES, .collectives = {.seq = 16, .process_id = 2}},
	{.type = MESSAGE_HELLO,
	 .hello = {.version_min = 1,
		   .version_max = 1,
		   .epoch = {0xbe, 0xef},
		   .software = TEXT("flamegrid 0.1.0"),
		   .node = TEXT("node02"),
		   .boot_id = TEXT("6a4c5f2e-0b1f-4f0e-9d57-3c1d4ad2b7aa"),
		   .job = {.key = TEXT("1000.4711.0"),
			   .user = TEXT("alice"),
			   .title = TEXT("python3 train.py"),
			   .nr_nodes = 4,
			   .world_size = 32,
			   .flags = MESSAGE_JOB_RAW}}},
	{.type = MESSAGE_WELCOME,
	 .welcome = {.version = 1,
		     .window_frames = 64,
		     .window_bytes = 8u << 20,
		     .profile = TEXT("node00:/var/lib/flamegrid/jobs/alice-4711.0")}},
};

const struct message *message_samples_get(uint32_t index)
{
	if (launches[0].time_ns == 0)
		make_records();
	return &samples[index];
}

static bool list_equal(const void *left, const void *right, uint32_t nr_left, uint32_t nr_right,
		       size_t size)
{
	return nr_left == nr_right && (nr_left == 0 || memcmp(left, right, nr_left * size) == 0);
}

static bool text_equal(const struct message_text *left, const struct message_text *right)
{
	return list_equal(left->data, right->data, left->size, right->size, 1);
}

/* Of no job the numbers are nothing. */
static bool job_equal(const struct message_job *left, const struct message_job *right)
{
	if (left->key.size == 0)
		return right->key.size == 0;
	return text_equal(&left->key, &right->key) && text_equal(&left->user, &right->user) &&
	       text_equal(&left->title, &right->title) && left->nr_nodes == right->nr_nodes &&
	       left->world_size == right->world_size && left->flags == right->flags;
}

static bool hello_equal(const struct message_hello *left, const struct message_hello *right)
{
	return left->version_min == right->version_min && left->version_max == right->version_max &&
	       memcmp(left->epoch, right->epoch, sizeof(left->epoch)) == 0 &&
	       text_equal(&left->software, &right->software) &&
	       text_equal(&left->node, &right->node) &&
	       text_equal(&left->boot_id, &right->boot_id) && job_equal(&left->job, &right->job);
}

static bool strings_equal(const struct message_strings *left, const struct message_strings *right)
{
	if (left->seq != right->seq || left->base != right->base || left->count != right->count)
		return false;
	for (uint32_t i = 0; i < left->count; i++)
		if (!text_equal(&left->strings[i], &right->strings[i]))
			return false;
	return true;
}

static bool stacks_equal(const struct message_stacks *left, const struct message_stacks *right)
{
	for (uint32_t i = 0; i < left->nr_frames && i < right->nr_frames; i++)
		if (left->frames[i].module != right->frames[i].module ||
		    left->frames[i].code != right->frames[i].code ||
		    left->frames[i].offset != right->frames[i].offset)
			return false;
	return left->seq == right->seq && left->module_base == right->module_base &&
	       left->frame_base == right->frame_base && left->node_base == right->node_base &&
	       left->nr_frames == right->nr_frames && left->code_base == right->code_base &&
	       list_equal(left->codes, right->codes, left->nr_codes, right->nr_codes,
			  sizeof(*left->codes)) &&
	       list_equal(left->modules, right->modules, left->nr_modules, right->nr_modules,
			  sizeof(*left->modules)) &&
	       list_equal(left->nodes, right->nodes, left->nr_nodes, right->nr_nodes,
			  sizeof(*left->nodes)) &&
	       list_equal(left->symbols, right->symbols, left->nr_symbols, right->nr_symbols,
			  sizeof(*left->symbols));
}

static bool process_equal(const struct message_process *left, const struct message_process *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       left->pid == right->pid && left->start_ticks == right->start_ticks &&
	       left->pid_namespace == right->pid_namespace &&
	       memcmp(left->instance, right->instance, sizeof(left->instance)) == 0 &&
	       left->state == right->state && left->rank == right->rank &&
	       left->local_rank == right->local_rank && left->world_size == right->world_size &&
	       left->job == right->job && left->command == right->command &&
	       list_equal(left->devices, right->devices, left->nr_devices, right->nr_devices,
			  sizeof(*left->devices)) &&
	       list_equal(left->notices, right->notices, left->nr_notices, right->nr_notices,
			  sizeof(*left->notices));
}

static bool events_equal(const struct message_events *left, const struct message_events *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       left->clock_offset_ns == right->clock_offset_ns &&
	       left->clock_valid == right->clock_valid &&
	       list_equal(left->launches, right->launches, left->nr_launches, right->nr_launches,
			  sizeof(*left->launches)) &&
	       list_equal(left->gpu, right->gpu, left->nr_gpu, right->nr_gpu, sizeof(*left->gpu));
}

static bool ledger_equal(const struct message_ledger *left, const struct message_ledger *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       list_equal(left->entries, right->entries, left->nr_entries, right->nr_entries,
			  sizeof(*left->entries));
}

static bool statistics_equal(const struct message_statistics *left,
			     const struct message_statistics *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       list_equal(left->calls, right->calls, left->nr_calls, right->nr_calls,
			  sizeof(*left->calls)) &&
	       list_equal(left->configs, right->configs, left->nr_configs, right->nr_configs,
			  sizeof(*left->configs));
}

static bool welcome_equal(const struct message_welcome *left, const struct message_welcome *right)
{
	return left->version == right->version && left->window_frames == right->window_frames &&
	       left->window_bytes == right->window_bytes &&
	       left->durable_seq == right->durable_seq &&
	       text_equal(&left->profile, &right->profile);
}

static bool collectives_equal(const struct message_collectives *left,
			      const struct message_collectives *right)
{
	return left->seq == right->seq && left->process_id == right->process_id &&
	       list_equal(left->communicators, right->communicators, left->nr_communicators,
			  right->nr_communicators, sizeof(*left->communicators)) &&
	       list_equal(left->collectives, right->collectives, left->nr_collectives,
			  right->nr_collectives, sizeof(*left->collectives));
}

static bool clock_equal(const struct message_clock *left, const struct message_clock *right)
{
	return left->kind == right->kind && left->t1_ns == right->t1_ns &&
	       left->t2_ns == right->t2_ns && left->t3_ns == right->t3_ns &&
	       left->realtime_offset_ns == right->realtime_offset_ns &&
	       left->offset_ns == right->offset_ns && left->bound_ns == right->bound_ns &&
	       left->round_trip_ns == right->round_trip_ns;
}

static bool control_equal(const struct message_control *left, const struct message_control *right)
{
	bool equal = left->kind == right->kind && left->token == right->token &&
		     left->action == right->action && left->relative == right->relative &&
		     left->from_ns == right->from_ns && left->until_ns == right->until_ns &&
		     left->state == right->state && left->nr_processes == right->nr_processes &&
		     left->bound_ns == right->bound_ns && left->nr_agents == right->nr_agents;

	for (uint32_t i = 0; equal && i < left->nr_agents; i++)
		equal = text_equal(&left->agents[i].node, &right->agents[i].node) &&
			left->agents[i].state == right->agents[i].state &&
			left->agents[i].nr_processes == right->agents[i].nr_processes &&
			left->agents[i].bound_ns == right->agents[i].bound_ns;
	return equal;
}

bool message_samples_equal(const struct message *left, const struct message *right)
{
	if (left->type != right->type)
		return false;
	switch (left->type) {
	case MESSAGE_HELLO:
		return hello_equal(&left->hello, &right->hello);
	case MESSAGE_WELCOME:
		return welcome_equal(&left->welcome, &right->welcome);
	case MESSAGE_REFUSE:
		return left->refuse.code == right->refuse.code &&
		       text_equal(&left->refuse.reason, &right->refuse.reason);
	case MESSAGE_STRINGS:
		return strings_equal(&left->strings, &right->strings);
	case MESSAGE_STACKS:
		return stacks_equal(&left->stacks, &right->stacks);
	case MESSAGE_PROCESS:
		return process_equal(&left->process, &right->process);
	case MESSAGE_EVENTS:
		return events_equal(&left->events, &right->events);
	case MESSAGE_LEDGER:
		return ledger_equal(&left->ledger, &right->ledger);
	case MESSAGE_STATISTICS:
		return statistics_equal(&left->statistics, &right->statistics);
	case MESSAGE_ACK:
		return left->ack.seq == right->ack.seq &&
		       left->ack.window_frames == right->ack.window_frames &&
		       left->ack.window_bytes == right->ack.window_bytes;
	case MESSAGE_PING:
	case MESSAGE_PONG:
		return left->ping.token == right->ping.token;
	case MESSAGE_BYE:
		return left->bye.seq == right->bye.seq;
	case MESSAGE_STREAM:
		return left->streams.seq == right->streams.seq &&
		       left->streams.process_id == right->streams.process_id &&
		       list_equal(left->streams.streams, right->streams.streams,
				  left->streams.nr_streams, right->streams.nr_streams,
				  sizeof(*left->streams.streams)) &&
		       list_equal(left->streams.contexts, right->streams.contexts,
				  left->streams.nr_contexts, right->streams.nr_contexts,
				  sizeof(*left->streams.contexts));
	case MESSAGE_SAMPLES:
		return left->samples.seq == right->samples.seq &&
		       left->samples.process_id == right->samples.process_id &&
		       left->samples.realtime_offset_ns == right->samples.realtime_offset_ns &&
		       list_equal(left->samples.samples, right->samples.samples,
				  left->samples.nr_samples, right->samples.nr_samples,
				  sizeof(*left->samples.samples));
	case MESSAGE_COLLECTIVES:
		return collectives_equal(&left->collectives, &right->collectives);
	case MESSAGE_PLACEMENT:
		return left->placement.seq == right->placement.seq &&
		       left->placement.process_id == right->placement.process_id &&
		       list_equal(left->placement.devices, right->placement.devices,
				  left->placement.nr_devices, right->placement.nr_devices,
				  sizeof(*left->placement.devices)) &&
		       list_equal(left->placement.threads, right->placement.threads,
				  left->placement.nr_threads, right->placement.nr_threads,
				  sizeof(*left->placement.threads));
	case MESSAGE_CONTROL:
		return control_equal(&left->control, &right->control);
	case MESSAGE_CLOCK:
		return clock_equal(&left->clock, &right->clock);
	case MESSAGE_FOLD:
		break;
	}
	return false;
}
