#include "idle_life.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto/batch/message_seq.h"
#include "store_fixture.h"

#define TEXT(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

void idle_life_add(struct message message)
{
	struct scenario *scenario = &store_fixture.scenario;

	message_seq_set(&message, scenario->nr_frames + 1);
	assert_true(scenario->nr_frames < SCENARIO_FRAMES_MAX);
	scenario->frames[scenario->nr_frames++] = scenario_encode(&message);
}

static void add_process(uint32_t process_id, uint32_t device)
{
	const struct message_device devices[] = {
		{.index = (int32_t)device, .uuid = {(uint8_t)(1 + device)}}};

	idle_life_add((struct message){.type = MESSAGE_PROCESS,
				       .process = {.process_id = process_id,
						   .pid = 70 + process_id,
						   .instance = {(uint8_t)process_id},
						   .rank = (int32_t)process_id,
						   .local_rank = MESSAGE_RANK_NONE,
						   .world_size = MESSAGE_RANK_NONE,
						   .nr_devices = 1,
						   .devices = devices}});
}

void idle_life_begin(void)
{
	static const struct message_text strings[] = {TEXT("app.py"), TEXT("main"), TEXT("step"),
						      TEXT("futex"), TEXT(HOST_SAMPLE_RUN_QUEUE)};
	static const struct message_code codes[] = {{1, 2}, {1, 3}};
	static const struct message_frame frames[] = {{.code = 1}, {.code = 2}};
	static const struct message_node nodes[] = {{0, 1}, {1, 2}};
	struct scenario *scenario = &store_fixture.scenario;

	for (uint32_t i = 0; i < scenario->nr_frames; i++)
		free(scenario->frames[i].bytes);
	scenario->nr_frames = 0;
	idle_life_add((struct message){.type = MESSAGE_STRINGS,
				       .strings = {.base = 1, .count = 5, .strings = strings}});
	idle_life_add((struct message){.type = MESSAGE_STACKS,
				       .stacks = {.frame_base = 1,
						  .nr_frames = 2,
						  .frames = frames,
						  .node_base = 1,
						  .nr_nodes = 2,
						  .nodes = nodes,
						  .code_base = 1,
						  .nr_codes = 2,
						  .codes = codes}});
	add_process(1, 5);
	add_process(2, 5);
}

void idle_life_kernels(uint32_t process_id, const struct idle_life_kernel *kernels, uint32_t count)
{
	static uint32_t correlation_id;
	struct launch_record launches[16];
	struct gpu_record records[16];

	assert_true(count <= 16);
	for (uint32_t i = 0; i < count; i++) {
		launches[i] = (struct launch_record){.time_ns = 1,
						     .correlation_id = ++correlation_id,
						     .stack_id = 1,
						     .tid = kernels[i].tid,
						     .window = 1};
		records[i] = (struct gpu_record){
			.start_ns = 1000000000 + kernels[i].start_us * 1000,
			.end_ns = 1000000000 + kernels[i].end_us * 1000,
			.correlation_id = correlation_id,
			.window = 1,
			.context_id = 1,
		};
	}
	idle_life_add((struct message){.type = MESSAGE_EVENTS,
				       .events = {.process_id = process_id,
						  .clock_offset_ns = IDLE_LIFE_OFFSET_NS,
						  .clock_valid = 1,
						  .nr_launches = count,
						  .launches = launches,
						  .nr_gpu = count,
						  .gpu = records}});
}

struct host_sample idle_life_cpu(uint32_t tid, uint64_t time_us, uint32_t stack_id)
{
	return (struct host_sample){
		.time_ns = time_us * 1000, .duration_ns = 100000, .tid = tid, .stack_id = stack_id};
}

struct host_sample idle_life_wait(uint32_t tid, uint64_t start_us, uint64_t end_us)
{
	return (struct host_sample){.time_ns = end_us * 1000,
				    .duration_ns = (end_us - start_us) * 1000,
				    .tid = tid,
				    .stack_id = 2,
				    .name_id = 4,
				    .kind = HOST_SAMPLE_OFF_CPU};
}

void idle_life_samples(uint32_t process_id, const struct host_sample *samples, uint32_t count)
{
	idle_life_add((struct message){
		.type = MESSAGE_SAMPLES,
		.samples = {.process_id = process_id, .nr_samples = count, .samples = samples}});
}
