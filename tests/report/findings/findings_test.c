#include "report/findings/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/memory_kind.h"

#define MS         1000000ull
#define NAMES_MAX  64u
#define LEAVES_MAX 32u
#define GPUS_MAX   16u

/* A tree that is put together leaf by leaf. */
struct plant {
	const char *strings[NAMES_MAX];
	struct report_node nodes[NAMES_MAX];
	struct report_leaf leaves[LEAVES_MAX];
	struct report_memory_row memory;
	struct report_loss loss;
	struct report_tree tree;
};

/* A clean run of two GPUs, each busy for 950 of 1,000 ms. */
static struct {
	struct plant work, hosts, allocs;
	struct report_busy_row busy[GPUS_MAX];
	struct gpu_row rows[GPUS_MAX];
	struct gpu_rows gpus;
	struct report_ranks_row rank_rows[GPUS_MAX];
	struct report_ranks ranks;
	struct report_config configs[4];
	struct report_statistics statistics;
	struct findings_input input;
} run;

static void plant_begin(struct plant *plant)
{
	memset(plant, 0, sizeof(*plant));
	plant->strings[0] = "";
	plant->tree = (struct report_tree){.strings = plant->strings,
					   .nr_strings = 1,
					   .nodes = plant->nodes,
					   .nr_nodes = 1,
					   .leaves = plant->leaves};
}

static uint32_t plant_string(struct plant *plant, const char *text)
{
	for (uint32_t i = 0; i < plant->tree.nr_strings; i++)
		if (strcmp(plant->strings[i], text) == 0)
			return i;
	assert_true(plant->tree.nr_strings < NAMES_MAX);
	plant->strings[plant->tree.nr_strings] = text;
	return plant->tree.nr_strings++;
}

static uint32_t plant_node(struct plant *plant, uint32_t parent, const char *name)
{
	assert_true(plant->tree.nr_nodes < NAMES_MAX);
	plant->nodes[plant->tree.nr_nodes] =
		(struct report_node){parent, plant_string(plant, name)};
	return plant->tree.nr_nodes++;
}

/* Adds a leaf under line;call, or under the line alone (call NULL). node: what calls the line. */
static void plant_below(struct plant *plant, uint32_t node, uint32_t kind, const char *line,
			const char *call, const char *name, int32_t gpu, uint64_t count,
			uint64_t ns)
{
	struct report_tree *tree = &plant->tree;

	node = plant_node(plant, node, line);
	if (call)
		node = plant_node(plant, node, call);
	assert_true(tree->nr_leaves < LEAVES_MAX);
	plant->leaves[tree->nr_leaves++] =
		(struct report_leaf){.node = node,
				     .name = plant_string(plant, name),
				     .host = plant_string(plant, "node0"),
				     .gpu = gpu,
				     .rank = gpu,
				     .kind = kind,
				     .is_pause = strcmp(name, "[GPU1_Idle]pause") == 0,
				     .count = count,
				     .ns = ns};
	if (kind == REPORT_KIND_KERNEL) {
		tree->kernels += count;
		tree->kernel_ns += ns;
	} else if (kind == REPORT_KIND_MEMCPY) {
		tree->copies += count;
		tree->copy_ns += ns;
	}
}

static void plant_leaf(struct plant *plant, uint32_t kind, const char *line, const char *call,
		       const char *name, int32_t gpu, uint64_t count, uint64_t ns)
{
	plant_below(plant, REPORT_NODE_ROOT, kind, line, call, name, gpu, count, ns);
}

static void plant_gpu(uint32_t number, uint64_t busy_ns, uint64_t idle_ns)
{
	run.busy[number] = (struct report_busy_row){.host = "node0",
						    .device_name = "NVIDIA H100",
						    .gpu = (int32_t)number,
						    .whole_device = 1,
						    .busy_ns = busy_ns,
						    .idle_ns = idle_ns};
	run.rows[number] = (struct gpu_row){.busy = &run.busy[number], .rank = (int32_t)number};
	run.rank_rows[number] = (struct report_ranks_row){.host = "node0",
							  .gpu = (int32_t)number,
							  .rank = (int32_t)number,
							  .window_ns = busy_ns + idle_ns,
							  .busy_ns = busy_ns};
}

static void plant_config(uint32_t i, const char *name, uint64_t total_ns, uint32_t blocks,
			 uint32_t warps)
{
	run.configs[i] = (struct report_config){
		.name = name,
		.device = "NVIDIA H100",
		.shape = {.grid_x = blocks,
			  .grid_y = 1,
			  .grid_z = 1,
			  .block_x = 128,
			  .block_y = 1,
			  .block_z = 1,
			  .registers = 168},
		.limits = {.multiprocessors = 132},
		.count = 100,
		.total_ns = total_ns,
		.has_occupancy = 1,
		.occupancy = {.warps = warps, .warps_max = 64, .limits = OCCUPANCY_REGISTERS},
	};
	run.statistics.nr_configs = i + 1;
}

static int set_up(void **state)
{
	(void)state;
	memset(&run, 0, sizeof(run));
	plant_begin(&run.work);
	plant_begin(&run.hosts);
	plant_begin(&run.allocs);
	plant_leaf(&run.work, REPORT_KIND_KERNEL, "train.py:step:12", "cudaLaunchKernel",
		   "[GPU0_Kernel]gemm", 0, 10000, 900 * MS);
	plant_leaf(&run.work, REPORT_KIND_KERNEL, "train.py:step:12", "cudaLaunchKernel",
		   "[GPU1_Kernel]gemm", 1, 10000, 900 * MS);
	/* enough to be seen, too little to be a finding */
	plant_leaf(&run.work, REPORT_KIND_KERNEL, "train.py:log:40", "cudaLaunchKernel",
		   "[GPU0_Kernel]add", 0, 4000, 8 * MS);
	plant_leaf(&run.work, REPORT_KIND_MEMCPY, "train.py:log:41", "cudaMemcpy",
		   "[GPU0_Memcpy]DtoH", 0, 10, 1 * MS);
	plant_leaf(&run.work, REPORT_KIND_MEMCPY, "train.py:load:88", "cudaMemcpyAsync",
		   "[GPU0_Memcpy]HtoD", 0, 1000, 40 * MS);
	plant_gpu(0, 950 * MS, 50 * MS);
	plant_gpu(1, 950 * MS, 50 * MS);
	run.gpus = (struct gpu_rows){.rows = run.rows, .nr_rows = 2};
	run.ranks = (struct report_ranks){.rows = run.rank_rows, .nr_rows = 2};
	run.statistics.configs = run.configs;
	plant_config(0, "gemm", 1800 * MS, 264, 8);
	plant_config(1, "add", 8 * MS, 1, 4);
	run.input = (struct findings_input){.work = &run.work.tree,
					    .ranks = &run.ranks,
					    .gpus = &run.gpus,
					    .statistics = &run.statistics};
	return 0;
}

static void assert_none(void)
{
	struct findings *findings;

	assert_int_equal(findings_create(&run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 0);
	findings_destroy(findings);
}

/* text, evidence NULL: any. */
static void assert_finding(const char *kind, const char *text, const char *evidence)
{
	struct findings *findings;

	assert_int_equal(findings_create(&run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 1);
	assert_string_equal(findings->findings[0].kind, kind);
	if (text)
		assert_string_equal(findings->findings[0].text, text);
	if (evidence)
		assert_string_equal(findings->findings[0].evidence, evidence);
	assert_true(*findings->findings[0].cure);
	findings_destroy(findings);
}

static void a_clean_run_has_none(void **state)
{
	(void)state;
	assert_none();
	run.input.hosts = &run.hosts.tree;
	run.input.allocs = &run.allocs.tree;
	assert_none();
}

static void a_profile_without_records_has_none(void **state)
{
	(void)state;
	plant_begin(&run.work);
	run.gpus.nr_rows = run.ranks.nr_rows = run.statistics.nr_configs = 0;
	assert_none();
}

static void short_kernels_are_found_where_gpus_idle(void **state)
{
	(void)state;
	plant_leaf(&run.work, REPORT_KIND_KERNEL, "train.py:optimizer:60", "cudaLaunchKernel",
		   "[GPU1_Kernel]tiny", 1, 100000, 252 * MS);
	assert_none(); /* the GPUs are busy, so launches keep up */
	plant_gpu(0, 880 * MS, 120 * MS);
	plant_gpu(1, 880 * MS, 120 * MS);
	assert_finding("short_kernels",
		       "13 % of kernel time is in kernels under 5 us, and the GPUs idle 12 %: "
		       "launch-bound",
		       "104,000 of 124,000 kernels, 2.500 us on average; above all from "
		       "train.py:optimizer:60");
}

/* Plants a leaf of the helper gpu.py:launch:21, which caller calls. */
static void plant_launch(const char *caller, const char *name, uint64_t count, uint64_t ns)
{
	plant_below(&run.work, plant_node(&run.work, REPORT_NODE_ROOT, caller), REPORT_KIND_KERNEL,
		    "gpu.py:launch:21", "cuLaunchKernel", name, 0, count, ns);
}

static void a_helper_is_told_with_its_caller_in_the_finding(void **state)
{
	(void)state;
	plant_gpu(0, 880 * MS, 120 * MS);
	plant_gpu(1, 880 * MS, 120 * MS);
	plant_launch("net.py:forward:5", "[GPU0_Kernel]gemm", 100, 40 * MS);
	plant_launch("net.py:optimizer:7", "[GPU0_Kernel]tiny", 150000, 300 * MS);
	assert_finding("short_kernels", NULL,
		       "154,000 of 174,100 kernels, 2.000 us on average; above all from "
		       "net.py:optimizer:7 > gpu.py:launch:21");
	plant_launch("net.py:clip:9", "[GPU0_Kernel]tiny", 60000, 120 * MS);
	plant_launch("net.py:norm:11", "[GPU0_Kernel]tiny", 60000, 120 * MS);
	plant_launch("net.py:scale:13", "[GPU0_Kernel]tiny", 60000, 120 * MS);
	assert_finding("short_kernels", NULL,
		       "334,000 of 354,100 kernels, 2.000 us on average; above all from "
		       "net.py:optimizer:7 > gpu.py:launch:21");
}

static void synchronous_copies_are_found_with_their_line(void **state)
{
	(void)state;
	plant_leaf(&run.work, REPORT_KIND_MEMCPY, "train.py:load:88", "cudaMemcpy",
		   "[GPU0_Memcpy]HtoD", 0, 500, 150 * MS);
	assert_finding("blocking_copies",
		       "synchronous copy in train.py:load:88: 7.6 % of GPU time is in copies that "
		       "the host waits for",
		       "510 copies by cudaMemcpy or cuMemcpy, 151.000 ms in all: 500 there "
		       "(150.000 ms), 10 in train.py:log:41 (1.000 ms)");
	plant_leaf(&run.work, REPORT_KIND_MEMCPY, "train.py:eval:90", "cudaMemcpy",
		   "[GPU0_Memcpy]HtoD", 0, 7, 2 * MS);
	plant_leaf(&run.work, REPORT_KIND_MEMCPY, "train.py:save:99", "cudaMemcpy",
		   "[GPU0_Memcpy]DtoH", 0, 3, 500000);
	assert_finding("blocking_copies", NULL,
		       "520 copies by cudaMemcpy or cuMemcpy, 153.500 ms in all: 500 there "
		       "(150.000 ms), 7 in train.py:eval:90 (2.000 ms), 10 in train.py:log:41 "
		       "(1.000 ms), 3 elsewhere");
}

static void copies_within_a_device_keep_nobody_waiting(void **state)
{
	(void)state;
	plant_leaf(&run.work, REPORT_KIND_MEMCPY, "train.py:load:88", "cudaMemcpy",
		   "[GPU0_Memcpy]DtoD", 0, 500, 150 * MS);
	assert_none();
}

static void waits_in_asynchronous_copies_are_pageable_memory(void **state)
{
	(void)state;
	plant_leaf(&run.hosts, REPORT_KIND_SYNC, "train.py:load:88", "cudaMemcpyAsync",
		   "[GPU0_Sync]stream", 0, 1000, 60 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_SYNC, "train.py:loss:90", "cudaStreamSynchronize",
		   "[GPU0_Sync]stream", 0, 1000, 600 * MS);
	run.input.hosts = &run.hosts.tree;
	assert_finding("pageable_copies",
		       "copies in train.py:load:88 block although they are asynchronous: their "
		       "memory is pageable",
		       "1,000 waits within cudaMemcpyAsync, 60.000 ms or 3.0 % of the GPUs' time");
}

static void an_idle_gpu_is_found_with_its_loader(void **state)
{
	(void)state;
	plant_gpu(1, 590 * MS, 410 * MS);
	assert_finding("idle_gpus", "GPU 1 on node0 is idle 41 %",
		       "410.000 ms idle; nothing of the host was recorded");
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:other:1", "[CPU]", "[GPU1_Idle]", 1, 5,
		   20 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:fetch_batch:30", "[Off-CPU]futex",
		   "[GPU1_Idle]", 1, 100, 390 * MS);
	/* another GPU's */
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:other:1", "[CPU]", "[GPU0_Idle]", 0, 5,
		   900 * MS);
	run.input.hosts = &run.hosts.tree;
	assert_finding("idle_gpus",
		       "GPU 1 on node0 is idle 41 %: rank 1 waits in its loader "
		       "(train.py:fetch_batch:30)",
		       "410.000 ms idle, 95 % of it there");
}

static void the_cure_for_what_was_not_recorded_names_the_rights(void **state)
{
	struct findings *findings;

	(void)state;
	plant_gpu(1, 590 * MS, 410 * MS);
	assert_int_equal(findings_create(&run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 1);
	assert_non_null(strstr(findings->findings[0].cure, "sudo flamegrid run --cpu-hz 99"));
	assert_non_null(strstr(findings->findings[0].cure, "CAP_BPF and CAP_PERFMON"));
	findings_destroy(findings);
}

static void plant_loader(const char *outer, const char *inner)
{
	plant_gpu(1, 590 * MS, 410 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:main:9", "[CPU]", "[GPU1_Idle]", 1, 5,
		   20 * MS);
	plant_below(&run.hosts,
		    plant_node(&run.hosts,
			       plant_node(&run.hosts, REPORT_NODE_ROOT, "train.py:main:12"), outer),
		    REPORT_KIND_IDLE, inner, "[Off-CPU]futex", "[GPU1_Idle]", 1, 100, 390 * MS);
	run.input.hosts = &run.hosts.tree;
}

static void a_loader_that_is_a_helper_is_told_with_its_caller(void **state)
{
	(void)state;
	plant_loader("train.py:fetch_batch:30", "[native code]");
	assert_finding("idle_gpus",
		       "GPU 1 on node0 is idle 41 %: rank 1 waits in its loader "
		       "(train.py:main:12 > train.py:fetch_batch:30)",
		       "410.000 ms idle, 95 % of it there");
}

static void a_loader_is_told_with_the_line_that_waits_in_it(void **state)
{
	(void)state;
	plant_loader("train.py:fetch_batch:30", "io.py:read:3");
	assert_finding("idle_gpus",
		       "GPU 1 on node0 is idle 41 %: rank 1 waits in its loader "
		       "(train.py:fetch_batch:30 > io.py:read:3)",
		       "410.000 ms idle, 95 % of it there");
}

static void a_frameworks_loader_is_told_with_the_line_that_calls_it(void **state)
{
	uint32_t frameworks[NAMES_MAX] = {0};

	(void)state;
	plant_loader("dataloader.py:__next__:9", "dataloader.py:_next_data:20");
	for (uint32_t i = 0; i < run.hosts.tree.nr_strings; i++)
		frameworks[i] = strncmp(run.hosts.strings[i], "dataloader", 10) == 0;
	run.hosts.tree.frameworks = frameworks;
	assert_finding("idle_gpus",
		       "GPU 1 on node0 is idle 41 %: rank 1 waits in its loader "
		       "(train.py:main:12 > dataloader.py:_next_data:20)",
		       "410.000 ms idle, 95 % of it there");
	run.hosts.tree.frameworks = NULL;
}

static void an_idle_gpu_that_no_line_explains_is_told_with_several(void **state)
{
	(void)state;
	plant_gpu(1, 590 * MS, 410 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:load:1", "[CPU]", "[GPU1_Idle]", 1, 5,
		   200 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:save:2", "[CPU]", "[GPU1_Idle]", 1, 5,
		   190 * MS);
	run.input.hosts = &run.hosts.tree;
	assert_finding("idle_gpus",
		       "GPU 1 on node0 is idle 41 %, most in train.py:load:1 (49 %), "
		       "train.py:save:2 (46 %)",
		       "410.000 ms idle");
}

static void further_lines_of_much_idle_time_are_told_beside_the_first(void **state)
{
	(void)state;
	plant_gpu(1, 590 * MS, 410 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:load:1", "[CPU]", "[GPU1_Idle]", 1, 5,
		   250 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:loss:2", "[CPU]", "[GPU1_Idle]", 1, 5,
		   70 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:log:3", "[CPU]", "[GPU1_Idle]", 1, 5,
		   40 * MS);
	run.input.hosts = &run.hosts.tree;
	assert_finding("idle_gpus", "GPU 1 on node0 is idle 41 %: rank 1 works in train.py:load:1",
		       "410.000 ms idle, 61 % of it there, 17 % in train.py:loss:2");
}

static void lines_of_a_loader_are_told_together(void **state)
{
	(void)state;
	plant_gpu(1, 590 * MS, 410 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:next_batch:69", "[CPU]", "[GPU1_Idle]",
		   1, 5, 150 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:next_batch:70", "[CPU]", "[GPU1_Idle]",
		   1, 5, 140 * MS);
	run.input.hosts = &run.hosts.tree;
	assert_finding("idle_gpus",
		       "GPU 1 on node0 is idle 41 %: the data loader, most in "
		       "train.py:next_batch:69 (37 %), train.py:next_batch:70 (34 %)",
		       "410.000 ms idle");
}

static void pauses_are_left_out(void **state)
{
	(void)state;
	plant_gpu(1, 500 * MS, 1500 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:main:1", "[CPU]", "[GPU1_Idle]pause", 1,
		   1, 1300 * MS);
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:save:2", "[CPU]", "[GPU1_Idle]", 1, 5,
		   150 * MS);
	run.input.hosts = &run.hosts.tree;
	assert_finding("idle_gpus", "GPU 1 on node0 is idle 29 %: rank 1 works in train.py:save:2",
		       "200.000 ms idle, 75 % of it there; without pauses of 1.300 s");
	plant_leaf(&run.hosts, REPORT_KIND_IDLE, "train.py:main:1", "[CPU]", "[GPU1_Idle]pause", 1,
		   1, 100 * MS);
	assert_none();
}

static void gpus_that_idle_alike_are_one_finding(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		plant_gpu(i, 700 * MS - i * MS * 10, 300 * MS + i * MS * 10);
	plant_gpu(8, 950 * MS, 50 * MS);
	run.gpus.nr_rows = run.ranks.nr_rows = 9;
	assert_finding("idle_gpus", "8 of 9 GPUs are idle 30 to 37 %",
		       "2.680 s idle, added up; nothing of the host was recorded");
}

static void idle_time_between_capture_windows_is_none(void **state)
{
	(void)state;
	plant_gpu(1, 590 * MS, 410 * MS);
	run.work.loss = (struct report_loss){.reason = plant_string(&run.work, "capture_window"),
					     .count = 3};
	run.work.tree.losses = &run.work.loss;
	run.work.tree.nr_losses = 1;
	assert_none();
}

static void allocations_in_every_step_are_found(void **state)
{
	(void)state;
	run.allocs.memory = (struct report_memory_row){
		.space = MEMORY_SPACE_DEVICE, .allocs = 2100, .frees = 2000};
	run.allocs.tree.memory = &run.allocs.memory;
	run.allocs.tree.nr_memory = 1;
	plant_leaf(&run.allocs, REPORT_KIND_ALLOC, "train.py:step:20", "cudaMalloc",
		   "[GPU0_Memory]device", 0, 2000, 0);
	plant_leaf(&run.allocs, REPORT_KIND_ALLOC, "train.py:init:2", "cudaMalloc",
		   "[GPU0_Memory]device", 0, 100, 0);
	run.input.allocs = &run.allocs.tree;
	assert_finding("allocation_churn",
		       "device memory is allocated and freed in every step, most in "
		       "train.py:step:20",
		       "2,100 calls of cudaMalloc beside 24,000 kernels, 95 % of them freed again");
	run.allocs.memory.frees = 100; /* they stay, as a cache's do */
	assert_none();
}

static void exposed_communication_is_found(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		run.rank_rows[i].nccl_busy_ns = 350 * MS;
		run.rank_rows[i].overlap_ns = 200 * MS;
		run.rank_rows[i].nccl_waits_ns = 50 * MS;
		run.rank_rows[i].nccl_moves_ns = 300 * MS;
	}
	assert_none(); /* 15 % are exposed */
	run.rank_rows[0].overlap_ns = run.rank_rows[1].overlap_ns = 50 * MS;
	assert_finding("exposed_nccl",
		       "30 % of the time only NCCL's kernels run: communication is not hidden "
		       "behind work",
		       "the median of 2 rows; of NCCL's time 14 % waits for other ranks and 86 % "
		       "moves data");
}

static void matrix_products_without_tensor_cores_are_found(void **state)
{
	static const char *const names[] = {
		"[GPU0_Kernel]void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>",
		"[GPU0_Kernel]sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_ffma_cublas",
		"[GPU0_Kernel]ampere_sgemm_128x64_tn",
	};

	(void)state;
	plant_leaf(&run.work, REPORT_KIND_KERNEL, "train.py:forward:2", NULL,
		   "[GPU0_Kernel]cutlass_80_tensorop_s1688gemm_128x128_tn_align4", 0, 10, 900 * MS);
	plant_leaf(&run.work, REPORT_KIND_KERNEL, "train.py:forward:2", NULL,
		   "[GPU0_Kernel]sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128_cublas", 0,
		   10, 900 * MS);
	assert_none();
	for (uint32_t i = 0; i < 3; i++)
		plant_leaf(&run.work, REPORT_KIND_KERNEL, "train.py:forward:3", NULL, names[i], 0,
			   100, 400 * MS);
	assert_finding("fp32_matmul",
		       "25 % of kernel time is in matrix products of 32-bit numbers without tensor "
		       "cores",
		       "300 kernels, 4.000 ms on average; above all from train.py:forward:3");
}

static void large_kernels_of_few_warps_are_found(void **state)
{
	(void)state;
	plant_config(2, "scan", 400 * MS, 1000, 8);
	assert_finding("low_occupancy",
		       "scan, 22 % of kernel time, fills at most 12.5 % of a multiprocessor's "
		       "warps: limited by registers",
		       "100 launches of grid 1000x1x1, block 128x1x1, 168 registers, 4.000 ms on "
		       "average");
	plant_config(2, "scan", 40 * MS, 1000, 8);
	assert_none();
}

static void large_kernels_of_few_blocks_are_found(void **state)
{
	(void)state;
	plant_config(2, "reduce", 400 * MS, 16, 64);
	assert_finding("small_grid",
		       "reduce, 22 % of kernel time, uses at most 16 of the GPU's 132 "
		       "multiprocessors: its grid is too small",
		       "100 launches of grid 16x1x1, block 128x1x1, 168 registers, 4.000 ms on "
		       "average");
	plant_config(2, "ncclDevKernel_AllReduce", 400 * MS, 16, 64);
	assert_none();
}

static void kernels_as_short_as_their_launches_get_one_cure(void **state)
{
	struct findings *findings;

	(void)state;
	plant_leaf(&run.work, REPORT_KIND_KERNEL, "train.py:optimizer:60", "cudaLaunchKernel",
		   "[GPU1_Kernel]tiny", 1, 100000, 252 * MS);
	plant_config(2, "tiny", 252 * MS, 16, 8);
	run.configs[2].count = 100000;
	/* The GPUs are busy, so launches keep up. More blocks would not help a kernel that is as short as a launch. */
	assert_int_equal(findings_create(&run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 1);
	assert_string_equal(findings->findings[0].kind, "small_grid");
	assert_non_null(strstr(findings->findings[0].cure, "CUDA graphs"));
	assert_null(strstr(findings->findings[0].cure, "more blocks"));
	findings_destroy(findings);
	plant_gpu(0, 880 * MS, 120 * MS);
	plant_gpu(1, 880 * MS, 120 * MS);
	assert_finding("short_kernels", NULL, NULL);
}

static void the_costliest_comes_first(void **state)
{
	struct findings *findings;

	(void)state;
	plant_config(2, "scan", 400 * MS, 1000, 8);
	plant_gpu(1, 590 * MS, 410 * MS);
	assert_int_equal(findings_create(&run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 2);
	assert_string_equal(findings->findings[0].kind, "idle_gpus");
	assert_string_equal(findings->findings[1].kind, "low_occupancy");
	findings_destroy(findings);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_clean_run_has_none),
		TEST(a_profile_without_records_has_none),
		TEST(short_kernels_are_found_where_gpus_idle),
		TEST(a_helper_is_told_with_its_caller_in_the_finding),
		TEST(synchronous_copies_are_found_with_their_line),
		TEST(copies_within_a_device_keep_nobody_waiting),
		TEST(waits_in_asynchronous_copies_are_pageable_memory),
		TEST(an_idle_gpu_is_found_with_its_loader),
		TEST(the_cure_for_what_was_not_recorded_names_the_rights),
		TEST(a_loader_that_is_a_helper_is_told_with_its_caller),
		TEST(a_loader_is_told_with_the_line_that_waits_in_it),
		TEST(a_frameworks_loader_is_told_with_the_line_that_calls_it),
		TEST(an_idle_gpu_that_no_line_explains_is_told_with_several),
		TEST(further_lines_of_much_idle_time_are_told_beside_the_first),
		TEST(lines_of_a_loader_are_told_together),
		TEST(pauses_are_left_out),
		TEST(gpus_that_idle_alike_are_one_finding),
		TEST(idle_time_between_capture_windows_is_none),
		TEST(allocations_in_every_step_are_found),
		TEST(exposed_communication_is_found),
		TEST(matrix_products_without_tensor_cores_are_found),
		TEST(large_kernels_of_few_warps_are_found),
		TEST(large_kernels_of_few_blocks_are_found),
		TEST(kernels_as_short_as_their_launches_get_one_cure),
		TEST(the_costliest_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
