/* What CUPTI's clock does when a program gives it another one (cuptiActivityRegisterTimestampCallback, as PyTorch's profiler does with
 * the cycle counter): a line for each step, with what cuptiGetTimestamp() says beside CLOCK_REALTIME, and, of kernels that last 20 ms
 * by the GPU's own clock, their records' length and distance from CLOCK_REALTIME. Prints facts, checks nothing. Link with CUPTI. */
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define BUFFER_BYTES (1u << 20)

static __global__ void spin_ms(unsigned ms)
{
	uint64_t start, now;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
	do
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	while (now - start < ms * 1000000ull);
}

static uint64_t realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static uint64_t cycles(void) { return __rdtsc(); }
static uint64_t own_realtime(void) { return realtime(); }

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = (uint8_t *)aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;
	uint64_t now = realtime();

	(void)context, (void)stream, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			CUpti_ActivityKernel9 *kernel = (CUpti_ActivityKernel9 *)record;

			printf("  kernel %u: start %llu, length %lld, now - end %lld\n", kernel->correlationId, (unsigned long long)kernel->start,
			       (long long)(kernel->end - kernel->start), (long long)(now - kernel->end));
		}
	free(buffer);
}

static void step(const char *name, int result)
{
	uint64_t before, after, cupti_before = 0, cupti_after = 0;

	cuptiGetTimestamp(&cupti_before);
	before = realtime();
	for (int i = 0; i < 2; i++) {
		spin_ms<<<1, 1>>>(20);
		cudaDeviceSynchronize();
	}
	cuptiGetTimestamp(&cupti_after);
	after = realtime();
	printf("%s: result %d; cuptiGetTimestamp - realtime %lld, its rate %.6f\n", name, result, (long long)(cupti_before - before),
	       (double)(cupti_after - cupti_before) / (double)(after - before));
	cuptiActivityFlushAll(0);
	fflush(stdout);
}

static void enable(void)
{
	cuptiActivityRegisterCallbacks(request, complete);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

int main(void)
{
	cudaFree(NULL);
	enable();
	step("default", 0);
	step("cycles", cuptiActivityRegisterTimestampCallback(cycles));
	step("cycles, later", 0);
	step("NULL", cuptiActivityRegisterTimestampCallback(NULL));
	step("NULL, later", 0);
	step("realtime", cuptiActivityRegisterTimestampCallback(own_realtime));
	step("realtime, later", 0);
	step("cycles again", cuptiActivityRegisterTimestampCallback(cycles));
	spin_ms<<<1, 1>>>(20);
	step("realtime, with a kernel under way", cuptiActivityRegisterTimestampCallback(own_realtime));
	step("realtime, later", 0);
	step("cycles again", cuptiActivityRegisterTimestampCallback(cycles));
	cuptiActivityFlushAll(1);
	int result = cuptiFinalize();
	enable();
	step("finalized", result);
	step("finalized, later", 0);
	step("cycles again", cuptiActivityRegisterTimestampCallback(cycles));
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(1);
	result = cuptiActivityRegisterTimestampCallback(own_realtime);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	step("realtime, kind off and on around it", result);
	step("realtime, later", 0);
	return 0;
}
