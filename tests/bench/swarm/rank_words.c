#include "rank_words.h"

#include <string.h>

#define CALL_NS     8000u
#define CALL_COUNT  1000u /* elements of a collective */
#define STREAM      0x7000u
#define ITEMS_MAX   4096u /* collectives or samples of one message */
#define NS_PER_S    1e9
#define START_TICKS 1000u
#define PID_SPACE   4026531836u

bool rank_words_collectives(struct rank *rank, struct message *message)
{
	static struct collective calls[ITEMS_MAX];
	const struct workload *workload = rank->workload;
	uint32_t count = 0;

	for (; count < ITEMS_MAX && rank->nr_told_steps < rank->nr_steps; count++) {
		uint32_t step = rank->nr_told_steps++;

		calls[count] = (struct collective){
			.start_ns = rank->workload->monotonic_ns +
				    workload_step_ns(workload, step) + 1000,
			.duration_ns = CALL_NS,
			.sequence = step + 1,
			.function_sequence = step + 1,
			.count = CALL_COUNT,
			.bytes = collective_bytes(COLLECTIVE_ALL_REDUCE, COLLECTIVE_FLOAT32,
						  CALL_COUNT),
			.stream = STREAM,
			.communicator_id = WORKLOAD_COMMUNICATOR,
			.tid = rank_tid(rank),
			.peer = COLLECTIVE_NOT_KNOWN,
			.stack_id = workload->leaves[workload->options->nr_keys],
			.correlation_id = rank_step_correlation(step),
			.function = COLLECTIVE_ALL_REDUCE,
			.data_type = COLLECTIVE_FLOAT32,
		};
	}
	*message = (struct message){.type = MESSAGE_COLLECTIVES,
				    .collectives = {.process_id = rank->process_id,
						    .nr_collectives = count,
						    .collectives = calls}};
	return count > 0;
}

bool rank_words_samples(struct rank *rank, uint64_t until_ns, struct message *message)
{
	static struct host_sample samples[ITEMS_MAX];
	const struct workload *workload = rank->workload;
	double per_s = workload->options->samples_per_s;
	uint64_t period_ns = per_s > 0 ? (uint64_t)(NS_PER_S / per_s) : 0;
	uint32_t count = 0;

	while (period_ns && count < ITEMS_MAX && (rank->nr_samples + 1) * period_ns <= until_ns) {
		uint64_t n = rank->nr_samples++;

		rank->sample_ns += period_ns;
		samples[count++] = (struct host_sample){
			.time_ns = rank->workload->monotonic_ns + (n + 1) * period_ns,
			.duration_ns = period_ns,
			.tid = rank_tid(rank),
			.stack_id = workload_stack(workload, n),
			.cpu = rank->process_id,
			.command_id = workload->thread_name,
			.kind = HOST_SAMPLE_CPU,
		};
	}
	*message = (struct message){
		.type = MESSAGE_SAMPLES,
		.samples = {.process_id = rank->process_id,
			    .nr_samples = count,
			    .samples = samples,
			    .realtime_offset_ns = -workload_clock_offset_ns(workload)}};
	return count > 0;
}

void rank_words_process(const struct rank *rank, uint32_t state, struct message *message)
{
	static struct message_device devices[SWARM_GPUS_MAX];
	const struct workload *workload = rank->workload;
	uint32_t nr_gpus = workload->options->nr_gpus;

	for (uint32_t gpu = 0; gpu < nr_gpus; gpu++) {
		uint64_t uuid[2] = {workload_random(workload, rank->number, gpu), gpu};

		devices[gpu] = (struct message_device){
			.device_id = gpu,
			.index = (int32_t)((rank->process_id - 1) * nr_gpus + gpu),
			.name = workload->device_name,
			.pci = workload->pci_name,
		};
		memcpy(devices[gpu].uuid, uuid, sizeof(devices[gpu].uuid));
	}
	*message = (struct message){.type = MESSAGE_PROCESS,
				    .process = {.process_id = rank->process_id,
						.pid = rank_tid(rank),
						.start_ticks = START_TICKS + rank->process_id,
						.pid_namespace = PID_SPACE,
						.state = state,
						.rank = (int32_t)rank->number,
						.local_rank = (int32_t)rank->process_id - 1,
						.world_size = (int32_t)workload->nr_ranks,
						.job = workload->job,
						.command = workload->command,
						.nr_devices = nr_gpus,
						.devices = devices}};
	uint64_t instance[2] = {workload_random(workload, rank->number, UINT64_MAX), rank->number};
	memcpy(message->process.instance, instance, sizeof(message->process.instance));
}

void rank_words_communicator(const struct rank *rank, struct message *message)
{
	static struct communicator communicator;

	communicator = (struct communicator){
		.key = workload_random(rank->workload, 0, 0) | 1,
		.communicator_id = WORKLOAD_COMMUNICATOR,
		.rank = rank->number,
		.nr_ranks = rank->workload->nr_ranks,
		.origin = COMMUNICATOR_PROFILER,
	};
	*message = (struct message){.type = MESSAGE_COLLECTIVES,
				    .collectives = {.process_id = rank->process_id,
						    .nr_communicators = 1,
						    .communicators = &communicator}};
}

void rank_words_ledger(const struct rank *rank, struct message *message)
{
	static struct ledger_entry entries[SWARM_GPUS_MAX + 3];
	uint32_t count = 0;

	entries[count++] = (struct ledger_entry){LEDGER_DEVICE_NONE, LEDGER_LAUNCHES,
						 rank->nr_launches + rank->nr_steps, 0};
	for (uint32_t gpu = 0; gpu < rank->workload->options->nr_gpus; gpu++)
		entries[count++] = (struct ledger_entry){
			gpu, LEDGER_RECORDS, rank->truth[gpu].count, rank->truth[gpu].ns};
	if (rank->nr_told_steps > 0)
		entries[count++] = (struct ledger_entry){LEDGER_DEVICE_NONE, LEDGER_COLLECTIVES,
							 rank->nr_told_steps, 0};
	if (rank->nr_samples > 0)
		entries[count++] = (struct ledger_entry){LEDGER_DEVICE_NONE, LEDGER_SAMPLES,
							 rank->nr_samples, rank->sample_ns};
	*message = (struct message){.type = MESSAGE_LEDGER,
				    .ledger = {.process_id = rank->process_id,
					       .nr_entries = count,
					       .entries = entries}};
}
