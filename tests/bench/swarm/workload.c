#include "workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/definition.h"

#define KERNELS       400u
#define MODULES       40u
#define RUNTIME       1u    /* the first module: its functions launch */
#define FUNCTIONS     1500u /* native functions, over all modules */
#define PYTHON_FRAMES 8u    /* outermost, the same in each stack, as the next */
#define TRUNK_FRAMES  12u
#define OWN_FRAMES    4u /* that a key's stack has beside them, and the launching function */
#define FRAMES        (PYTHON_FRAMES + TRUNK_FRAMES + OWN_FRAMES + 1)
#define NS_PER_S      1e9
#define KERNEL_NS_MAX 4000000.0

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

uint64_t workload_random(const struct workload *workload, uint64_t a, uint64_t b)
{
	return mix(mix(mix(workload->options->seed) + a) + b);
}

/* from 0 up to 1 */
static double share(const struct workload *workload, uint64_t a, uint64_t b)
{
	return (double)(workload_random(workload, a, b) >> 11) / 9007199254740992.0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static uint32_t intern(struct workload *workload, const char *text)
{
	uint32_t id;

	string_dictionary_intern(workload->strings, text, strlen(text), &id);
	return id; /* STRING_NONE: out of memory, which workload_create() finds at the end */
}

static uint32_t intern_number(struct workload *workload, const char *before, uint32_t number,
			      const char *after)
{
	char text[256];

	snprintf(text, sizeof(text), "%s%u%s", before, number, after);
	return intern(workload, text);
}

static void name_everything(struct workload *workload)
{
	for (uint32_t i = 0; i < KERNELS; i++) {
		uint32_t id = intern_number(
			workload,
			"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE"
			"St5arrayIPcLm",
			i, "EEEEviT0_T1_with_more_template_arguments_as_ever");
		if (i == 0)
			workload->kernel_name = id;
	}
	workload->collective_kernel_name =
		intern(workload, "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24"
				 "ncclDevKernelArgsStorageILm4096EE");
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint32_t id = intern_number(workload,
					    "torch::autograd::Engine::evaluate_function(std::"
					    "shared_ptr<GraphTask>&)::node_",
					    i, "");
		if (i == 0)
			workload->symbol_name = id;
	}
	workload->launching_function = intern(workload, "cudaLaunchKernel");
	workload->device_name = intern(workload, "Simulated GPU");
	workload->pci_name = intern(workload, "0000:17:00.0");
	workload->job = intern(workload, "swarm");
	workload->command = intern(workload, "python3 train.py");
	workload->thread_name = intern(workload, "python3");
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static int add_modules(struct workload *workload)
{
	for (uint32_t i = 0; i < MODULES; i++) {
		struct message_module module = {.build_id_size = 20};
		uint32_t id;

		if (i + 1 == RUNTIME) {
			module.path = intern(workload, "/opt/env/lib/libcudart.so.12");
			module.flags = DEFINITION_MODULE_CUDA | DEFINITION_MODULE_CUDART;
		} else {
			module.path = intern_number(workload,
						    "/opt/env/lib/python3.11/site-packages/torch/"
						    "lib/libtorch_part_",
						    i, ".so");
		}
		memset(module.build_id, (int)i + 1, module.build_id_size);
		int r = stack_dictionary_add_module(workload->stacks, &module, &id);
		if (r)
			return r;
	}
	return 0;
}

static struct message_frame function(uint32_t number)
{
	return (struct message_frame){.module = 2 + number % (MODULES - 1),
				      .offset = 0x1000 + 64ull * number};
}

/* Everything but the key's own frames; leaf first. */
static int make_trunk(struct workload *workload, struct message_frame *frames)
{
	uint32_t file = intern(workload, "/home/user/model/train.py");
	uint32_t depth = 0;

	frames[depth++] = (struct message_frame){.module = RUNTIME, .offset = 0x4000};
	depth += OWN_FRAMES;
	for (uint32_t i = 0; i < TRUNK_FRAMES; i++)
		frames[depth++] = function(i);
	for (uint32_t i = 0; i < PYTHON_FRAMES; i++) {
		struct message_code code = {
			.file = file, .name = intern_number(workload, "Model.forward_", i, "")};
		uint32_t id;
		int r = stack_dictionary_add_code(workload->stacks, code, &id);

		if (r)
			return r;
		frames[depth++] = (struct message_frame){.code = id, .offset = 100 + i};
	}
	return 0;
}

static int add_stacks(struct workload *workload)
{
	struct message_frame frames[FRAMES];
	uint32_t budget = UINT32_MAX;
	int r = make_trunk(workload, frames);

	for (uint32_t key = 0; r == 0 && key <= workload->options->nr_keys; key++) {
		for (uint32_t i = 0; i < OWN_FRAMES; i++)
			frames[1 + i] = function(TRUNK_FRAMES +
						 (uint32_t)(workload_random(workload, key, i) %
							    (FUNCTIONS - TRUNK_FRAMES)));
		frames[1].offset += (1ull << 20) + key; /* no two keys have one stack */
		r = stack_dictionary_add_stack(workload->stacks, frames, FRAMES, &budget,
					       &workload->leaves[key]);
	}
	return r;
}

int workload_define(const struct workload *workload, struct batch_builder *builder)
{
	uint32_t nr_frames = stack_dictionary_nr_frames(workload->stacks);
	const struct message_frame *frames = stack_dictionary_frames(workload->stacks, 1);

	for (uint32_t i = 0; i < nr_frames; i++) {
		uint32_t name =
			workload->symbol_name + (uint32_t)(frames[i].offset / 64 % FUNCTIONS);

		if (frames[i].code != MESSAGE_FRAME_NATIVE)
			continue;
		if (frames[i].module == RUNTIME)
			name = workload->launching_function;
		int r = batch_builder_add_symbol(builder, i + 1, name);
		if (r)
			return r;
	}
	return batch_builder_flush_dictionaries(builder);
}

/* ---- times ----------------------------------------------------------------------------------- */

uint32_t workload_stack(const struct workload *workload, uint64_t n)
{
	return workload->leaves[n % workload->options->nr_keys];
}

uint32_t workload_kernel(const struct workload *workload, uint64_t n)
{
	return workload->kernel_name + (uint32_t)(n % workload->options->nr_keys) % KERNELS;
}

/* A kernel takes its key's time, and up to a thousandth more. */
uint64_t workload_kernel_ns(const struct workload *workload, uint32_t rank, uint64_t n)
{
	uint64_t key = n % workload->options->nr_keys;
	double ns = (double)workload->launch_ns * (0.3 + 0.4 * share(workload, key, 1));

	if (ns > KERNEL_NS_MAX)
		ns = KERNEL_NS_MAX;
	uint64_t more = (uint64_t)(ns / 1000) + 1;
	return (uint64_t)ns + workload_random(workload, n, rank) % more;
}

void workload_begin(struct workload *workload, uint64_t monotonic_ns, int64_t realtime_offset_ns)
{
	workload->monotonic_ns = monotonic_ns;
	workload->realtime_ns = monotonic_ns + (uint64_t)realtime_offset_ns;
}

int64_t workload_clock_offset_ns(const struct workload *workload)
{
	return (int64_t)(workload->monotonic_ns - workload->realtime_ns);
}

uint64_t workload_step_ns(const struct workload *workload, uint32_t step)
{
	return (uint64_t)(NS_PER_S / workload->options->collectives_per_s * step);
}

uint64_t workload_arrival_ns(const struct workload *workload, uint32_t rank, uint32_t step)
{
	const struct swarm_options *options = workload->options;
	double ns = NS_PER_S / options->collectives_per_s * 0.8;

	ns *= 1 + options->jitter * (share(workload, rank, step) - 0.5);
	if ((int)rank == options->late_rank)
		ns *= 1 + options->late_rank_by;
	if ((int)(rank / options->nr_processes) == options->late_node)
		ns *= 1 + options->late_node_by;
	return (uint64_t)ns;
}

static void find_last_arrivals(struct workload *workload)
{
	for (uint32_t step = 0; step < workload->nr_steps; step++)
		for (uint32_t rank = 0; rank < workload->nr_ranks; rank++) {
			uint64_t ns = workload_arrival_ns(workload, rank, step);

			if (ns > workload->last_arrivals[step])
				workload->last_arrivals[step] = ns;
		}
}

/* ---- life ------------------------------------------------------------------------------------ */

struct workload *workload_create(const struct swarm_options *options)
{
	struct workload *workload = calloc(1, sizeof(*workload));

	if (!workload)
		return NULL;
	workload->options = options;
	workload->nr_ranks = options->nr_nodes * options->nr_processes;
	workload->nr_steps = (uint32_t)(options->seconds * options->collectives_per_s);
	workload->launch_ns = (uint64_t)(NS_PER_S / options->rate / options->nr_gpus);
	if (workload->launch_ns == 0)
		workload->launch_ns = 1;
	workload->strings = string_dictionary_create();
	workload->stacks = stack_dictionary_create();
	workload->leaves = calloc(options->nr_keys + 1, sizeof(*workload->leaves));
	workload->last_arrivals = calloc(workload->nr_steps + 1, sizeof(uint64_t));
	if (workload->strings && workload->stacks && workload->leaves && workload->last_arrivals) {
		name_everything(workload);
		if (add_modules(workload) == 0 && add_stacks(workload) == 0 &&
		    workload->thread_name) {
			find_last_arrivals(workload);
			return workload;
		}
	}
	workload_destroy(workload);
	return NULL;
}

void workload_destroy(struct workload *workload)
{
	if (!workload)
		return;
	string_dictionary_destroy(workload->strings);
	stack_dictionary_destroy(workload->stacks);
	free(workload->leaves);
	free(workload->last_arrivals);
	free(workload);
}
