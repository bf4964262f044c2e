#include "record_samples.h"

#include <stddef.h>

#include "proto/batch/message.h"

struct launch_record record_samples_launches[RECORD_SAMPLES];
struct gpu_record record_samples_gpu[RECORD_SAMPLES];

/* Fields in each of the forms of a column: a constant, steps, runs, deltas. */
void record_samples_make(void)
{
	uint64_t now_ns = 1700000000123456789ull;

	for (uint32_t i = 0; i < RECORD_SAMPLES; i++) {
		now_ns += 2900 + i * i % 731;
		record_samples_launches[i] = (struct launch_record){
			.time_ns = now_ns - 1699999000000000000ull,
			.correlation_id = 0xfffffff0u + i, /* wraps */
			.stack_id = 1 + i * 7919 % 2000,
			.tid = i < 70 ? 4242 : 4243,
			.cbid = i % 30 == 0 ? 279 : 307,
			.window = 1,
			.flags = i == 40 ? RECORD_LAUNCH_FAILED : 0,
		};
		record_samples_gpu[i] = (struct gpu_record){
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

const struct launch_record record_samples_extreme_launches[RECORD_SAMPLES_LAUNCHES] = {
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

const struct gpu_record record_samples_extreme_gpu[RECORD_SAMPLES_GPU] = {
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
