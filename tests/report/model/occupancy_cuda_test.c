/* Our occupancy against the calculator that comes with CUDA, over many configurations. Compiled only where the toolkit
 * is. */
#include "report/statistics/occupancy.h"

#include <cuda_occupancy.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct device_limits devices[] = {
	{7, 0, 80, 32, 2048, 32, 65536, 98304, 1024, 65536, 49152, 98304, 0},
	{7, 5, 40, 32, 1024, 16, 65536, 65536, 1024, 65536, 49152, 65536, 0},
	{8, 0, 108, 32, 2048, 32, 65536, 167936, 1024, 65536, 49152, 166912, 1024},
	{8, 6, 82, 32, 1536, 16, 65536, 102400, 1024, 65536, 49152, 101376, 1024},
	{8, 9, 128, 32, 1536, 24, 65536, 102400, 1024, 65536, 49152, 101376, 1024},
	{9, 0, 132, 32, 2048, 32, 65536, 233472, 1024, 65536, 49152, 232448, 1024},
	{10, 0, 148, 32, 2048, 32, 65536, 233472, 1024, 65536, 49152, 232448, 1024},
	{12, 0, 170, 32, 1536, 24, 65536, 102400, 1024, 65536, 49152, 101376, 1024},
};

static int blocks_of_cuda(const struct device_limits *limits, const struct occupancy_launch *launch)
{
	const cudaOccDeviceProp properties = {
		.computeMajor = (int)limits->compute_major,
		.computeMinor = (int)limits->compute_minor,
		.maxThreadsPerBlock = (int)limits->block_threads,
		.maxThreadsPerMultiprocessor = (int)limits->sm_threads,
		.regsPerBlock = (int)limits->block_registers,
		.regsPerMultiprocessor = (int)limits->sm_registers,
		.warpSize = (int)limits->warp_size,
		.sharedMemPerBlock = limits->block_shared_bytes,
		.sharedMemPerMultiprocessor = limits->sm_shared_bytes,
		.numSms = (int)limits->multiprocessors,
		.sharedMemPerBlockOptin = limits->block_shared_optin_bytes,
		.reservedSharedMemPerBlock = limits->block_reserved_bytes,
	};
	const cudaOccFuncAttributes function = {
		.maxThreadsPerBlock = (int)limits->block_threads,
		.numRegs = (int)launch->registers,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = launch->shared_bytes,
	};
	const cudaOccDeviceState device_state = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
	cudaOccResult result = {0};

	assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(
				 &result, &properties, &function, &device_state,
				 (int)launch->block_threads, launch->shared_bytes),
			 CUDA_OCC_SUCCESS);
	return result.activeBlocksPerMultiprocessor;
}

static void it_agrees_with_cudas_calculator(void **state)
{
	static const uint64_t shared_bytes[] = {0,     1,     127,   128,   1000,  2048,
						8191,  8193,  16384, 24576, 30001, 48 << 10,
						50000, 64512, 65536, 99000, 101376};
	uint32_t compared = 0;

	(void)state;
	for (size_t d = 0; d < sizeof(devices) / sizeof(devices[0]); d++)
		for (uint64_t threads = 1; threads <= 1024; threads += threads % 32 ? 31 : 1)
			for (uint32_t registers = 1; registers <= 255; registers += 2)
				for (size_t s = 0;
				     s < sizeof(shared_bytes) / sizeof(shared_bytes[0]); s++) {
					const struct occupancy_launch launch = {threads, registers,
										shared_bytes[s]};
					struct occupancy occupancy;

					if (shared_bytes[s] > devices[d].block_shared_optin_bytes)
						continue;
					assert_int_equal(
						occupancy_of(&devices[d], &launch, &occupancy), 0);
					int theirs = blocks_of_cuda(&devices[d], &launch);
					if (occupancy.blocks != (uint32_t)theirs)
						fail_msg("device %d, %d threads, %u registers, "
							 "%d bytes: %u, CUDA says %d",
							 (int)d, (int)threads, registers,
							 (int)shared_bytes[s], occupancy.blocks,
							 theirs);
					compared++;
				}
	assert_true(compared > 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_agrees_with_cudas_calculator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
