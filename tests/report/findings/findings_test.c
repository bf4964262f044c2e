#include "findings_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/memory_kind.h"

static void a_clean_run_has_none(void **state)
{
	(void)state;
	findings_assert_none();
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_run.input.allocs = &findings_run.allocs.tree;
	findings_assert_none();
}

static void a_profile_without_records_has_none(void **state)
{
	(void)state;
	findings_plant_begin(&findings_run.work);
	findings_run.gpus.nr_rows = findings_run.ranks.nr_rows =
		findings_run.statistics.nr_configs = 0;
	findings_assert_none();
}

static void short_kernels_are_found_where_gpus_idle(void **state)
{
	(void)state;
	findings_plant_leaf(&findings_run.work, REPORT_KIND_KERNEL, "train.py:optimizer:60",
			    "cudaLaunchKernel", "[GPU1_Kernel]tiny", 1, 100000, 252 * MS);
	findings_assert_none(); /* the GPUs are busy, so launches keep up */
	findings_plant_gpu(0, 880 * MS, 120 * MS);
	findings_plant_gpu(1, 880 * MS, 120 * MS);
	findings_assert_finding(
		"short_kernels",
		"13 % of kernel time is in kernels under 5 us, and the GPUs idle 12 %: "
		"launch-bound",
		"104,000 of 124,000 kernels, 2.500 us on average; above all from "
		"train.py:optimizer:60");
}

/* Plants a leaf of the helper gpu.py:launch:21, which caller calls. */
static void plant_launch(const char *caller, const char *name, uint64_t count, uint64_t ns)
{
	findings_plant_below(&findings_run.work,
			     findings_plant_node(&findings_run.work, REPORT_NODE_ROOT, caller),
			     REPORT_KIND_KERNEL, "gpu.py:launch:21", "cuLaunchKernel", name, 0,
			     count, ns);
}

static void a_helper_is_told_with_its_caller_in_the_finding(void **state)
{
	(void)state;
	findings_plant_gpu(0, 880 * MS, 120 * MS);
	findings_plant_gpu(1, 880 * MS, 120 * MS);
	plant_launch("net.py:forward:5", "[GPU0_Kernel]gemm", 100, 40 * MS);
	plant_launch("net.py:optimizer:7", "[GPU0_Kernel]tiny", 150000, 300 * MS);
	findings_assert_finding("short_kernels", NULL,
				"154,000 of 174,100 kernels, 2.000 us on average; above all from "
				"net.py:optimizer:7 > gpu.py:launch:21");
	plant_launch("net.py:clip:9", "[GPU0_Kernel]tiny", 60000, 120 * MS);
	plant_launch("net.py:norm:11", "[GPU0_Kernel]tiny", 60000, 120 * MS);
	plant_launch("net.py:scale:13", "[GPU0_Kernel]tiny", 60000, 120 * MS);
	findings_assert_finding("short_kernels", NULL,
				"334,000 of 354,100 kernels, 2.000 us on average; above all from "
				"net.py:optimizer:7 > gpu.py:launch:21");
}

static void synchronous_copies_are_found_with_their_line(void **state)
{
	(void)state;
	findings_plant_leaf(&findings_run.work, REPORT_KIND_MEMCPY, "train.py:load:88",
			    "cudaMemcpy", "[GPU0_Memcpy]HtoD", 0, 500, 150 * MS);
	findings_assert_finding(
		"blocking_copies",
		"synchronous copy in train.py:load:88: 7.6 % of GPU time is in copies that "
		"the host waits for",
		"510 copies by cudaMemcpy or cuMemcpy, 151.000 ms in all: 500 there "
		"(150.000 ms), 10 in train.py:log:41 (1.000 ms)");
	findings_plant_leaf(&findings_run.work, REPORT_KIND_MEMCPY, "train.py:eval:90",
			    "cudaMemcpy", "[GPU0_Memcpy]HtoD", 0, 7, 2 * MS);
	findings_plant_leaf(&findings_run.work, REPORT_KIND_MEMCPY, "train.py:save:99",
			    "cudaMemcpy", "[GPU0_Memcpy]DtoH", 0, 3, 500000);
	findings_assert_finding(
		"blocking_copies", NULL,
		"520 copies by cudaMemcpy or cuMemcpy, 153.500 ms in all: 500 there "
		"(150.000 ms), 7 in train.py:eval:90 (2.000 ms), 10 in train.py:log:41 "
		"(1.000 ms), 3 elsewhere");
}

static void copies_within_a_device_keep_nobody_waiting(void **state)
{
	(void)state;
	findings_plant_leaf(&findings_run.work, REPORT_KIND_MEMCPY, "train.py:load:88",
			    "cudaMemcpy", "[GPU0_Memcpy]DtoD", 0, 500, 150 * MS);
	findings_assert_none();
}

static void waits_in_asynchronous_copies_are_pageable_memory(void **state)
{
	(void)state;
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_SYNC, "train.py:load:88",
			    "cudaMemcpyAsync", "[GPU0_Sync]stream", 0, 1000, 60 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_SYNC, "train.py:loss:90",
			    "cudaStreamSynchronize", "[GPU0_Sync]stream", 0, 1000, 600 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding(
		"pageable_copies",
		"copies in train.py:load:88 block although they are asynchronous: their "
		"memory is pageable",
		"1,000 waits within cudaMemcpyAsync, 60.000 ms or 3.0 % of the GPUs' time");
}

static void allocations_in_every_step_are_found(void **state)
{
	(void)state;
	findings_run.allocs.memory = (struct report_memory_row){
		.space = MEMORY_SPACE_DEVICE, .allocs = 2100, .frees = 2000};
	findings_run.allocs.tree.memory = &findings_run.allocs.memory;
	findings_run.allocs.tree.nr_memory = 1;
	findings_plant_leaf(&findings_run.allocs, REPORT_KIND_ALLOC, "train.py:step:20",
			    "cudaMalloc", "[GPU0_Memory]device", 0, 2000, 0);
	findings_plant_leaf(&findings_run.allocs, REPORT_KIND_ALLOC, "train.py:init:2",
			    "cudaMalloc", "[GPU0_Memory]device", 0, 100, 0);
	findings_run.input.allocs = &findings_run.allocs.tree;
	findings_assert_finding(
		"allocation_churn",
		"device memory is allocated and freed in every step, most in "
		"train.py:step:20",
		"2,100 calls of cudaMalloc beside 24,000 kernels, 95 % of them freed again");
	findings_run.allocs.memory.frees = 100; /* they stay, as a cache's do */
	findings_assert_none();
}

static void exposed_communication_is_found(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		findings_run.rank_rows[i].nccl_busy_ns = 350 * MS;
		findings_run.rank_rows[i].overlap_ns = 200 * MS;
		findings_run.rank_rows[i].nccl_waits_ns = 50 * MS;
		findings_run.rank_rows[i].nccl_moves_ns = 300 * MS;
	}
	findings_assert_none(); /* 15 % are exposed */
	findings_run.rank_rows[0].overlap_ns = findings_run.rank_rows[1].overlap_ns = 50 * MS;
	findings_assert_finding(
		"exposed_nccl",
		"30 % of the time only NCCL's kernels run: communication is not hidden "
		"behind work",
		"the median of 2 ranks; of NCCL's time 14 % waits for other ranks and 86 % "
		"moves data");
	for (uint32_t i = 0; i < 2; i++) {
		findings_run.rank_rows[i].nccl_waits_ns = 350 * MS;
		findings_run.rank_rows[i].nccl_moves_ns = 0;
	}
	findings_assert_finding(
		"exposed_nccl",
		"30 % of the time only NCCL's kernels run: ranks wait for other ranks",
		"the median of 2 ranks; of NCCL's time 100 % waits for other ranks and 0 % "
		"moves data");
	/* As in a part of a profile, which has no calls of NCCL. */
	findings_run.rank_rows[0].nccl_waits_ns = findings_run.rank_rows[1].nccl_waits_ns = 0;
	findings_assert_finding(
		"exposed_nccl",
		"30 % of the time only NCCL's kernels run: whether they wait or move data is not "
		"known here",
		"the median of 2 ranks");
}

static void matrix_products_without_tensor_cores_are_found(void **state)
{
	static const char *const names[] = {
		"[GPU0_Kernel]void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>",
		"[GPU0_Kernel]sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_ffma_cublas",
		"[GPU0_Kernel]ampere_sgemm_128x64_tn",
	};

	(void)state;
	findings_plant_leaf(&findings_run.work, REPORT_KIND_KERNEL, "train.py:forward:2", NULL,
			    "[GPU0_Kernel]cutlass_80_tensorop_s1688gemm_128x128_tn_align4", 0, 10,
			    900 * MS);
	findings_plant_leaf(
		&findings_run.work, REPORT_KIND_KERNEL, "train.py:forward:2", NULL,
		"[GPU0_Kernel]sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128_cublas", 0, 10,
		900 * MS);
	findings_assert_none();
	for (uint32_t i = 0; i < 3; i++)
		findings_plant_leaf(&findings_run.work, REPORT_KIND_KERNEL, "train.py:forward:3",
				    NULL, names[i], 0, 100, 400 * MS);
	findings_assert_finding(
		"fp32_matmul",
		"25 % of kernel time is in matrix products of 32-bit numbers without tensor "
		"cores",
		"300 kernels, 4.000 ms on average; above all from train.py:forward:3");
}

static void large_kernels_of_few_warps_are_found(void **state)
{
	(void)state;
	findings_plant_config(2, "scan", 400 * MS, 1000, 8);
	findings_assert_finding(
		"low_occupancy",
		"scan, 22 % of kernel time, fills at most 12.5 % of a multiprocessor's "
		"warps: limited by registers",
		"100 launches of grid 1000x1x1, block 128x1x1, 168 registers, 4.000 ms on "
		"average");
	findings_plant_config(2, "scan", 40 * MS, 1000, 8);
	findings_assert_none();
}

static void large_kernels_of_few_blocks_are_found(void **state)
{
	/* With "mma" and "conv" as parts of other words. */
	static const char *const few[] = {"GammaBetaBackwardCUDAKernel", "convert_fp32_to_bf16"};

	(void)state;
	findings_plant_config(2, "reduce", 400 * MS, 16, 64);
	findings_assert_finding(
		"small_grid",
		"reduce, 22 % of kernel time, uses at most 16 of the GPU's 132 "
		"multiprocessors (12 %): its grid is too small",
		"100 launches of grid 16x1x1, block 128x1x1, 168 registers, 4.000 ms on "
		"average");
	findings_plant_config(2,
			      "void at::native::vectorized_elementwise_kernel<4, "
			      "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
			      "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
			      400 * MS, 16, 64);
	findings_assert_finding(
		"small_grid",
		"at::native::vectorized_elementwise_kernel, 22 % of kernel time, uses at most 16 "
		"of the GPU's 132 multiprocessors (12 %): its grid is too small",
		NULL);
	for (size_t i = 0; i < sizeof(few) / sizeof(*few); i++) {
		findings_plant_config(2, few[i], 400 * MS, 16, 64);
		findings_assert_finding("small_grid", NULL, NULL);
	}
	findings_plant_config(2, "ncclDevKernel_AllReduce", 400 * MS, 16, 64);
	findings_assert_none();
	findings_plant_config(2, "sm90_xmma_gemm_bf16", 400 * MS, 16, 64);
	findings_assert_none();
}

static void kernels_as_short_as_their_launches_get_one_cure(void **state)
{
	struct findings *findings;

	(void)state;
	findings_plant_leaf(&findings_run.work, REPORT_KIND_KERNEL, "train.py:optimizer:60",
			    "cudaLaunchKernel", "[GPU1_Kernel]tiny", 1, 100000, 252 * MS);
	findings_plant_config(2, "tiny", 252 * MS, 16, 8);
	findings_run.configs[2].count = 100000;
	/* The GPUs are busy, so launches keep up. More blocks would not help a kernel that is as short as a launch. */
	assert_int_equal(findings_create(&findings_run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 1);
	assert_string_equal(findings->findings[0].kind, "small_grid");
	assert_non_null(strstr(findings->findings[0].cure, "CUDA graphs"));
	assert_null(strstr(findings->findings[0].cure, "more blocks"));
	findings_destroy(findings);
	findings_plant_gpu(0, 880 * MS, 120 * MS);
	findings_plant_gpu(1, 880 * MS, 120 * MS);
	findings_assert_finding("short_kernels", NULL, NULL);
}

static void the_costliest_comes_first(void **state)
{
	struct findings *findings;

	(void)state;
	findings_plant_config(2, "scan", 400 * MS, 1000, 8);
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	assert_int_equal(findings_create(&findings_run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 2);
	assert_string_equal(findings->findings[0].kind, "idle_gpus");
	assert_string_equal(findings->findings[1].kind, "low_occupancy");
	findings_destroy(findings);
}

#define TEST(name) cmocka_unit_test_setup(name, findings_set_up)

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
