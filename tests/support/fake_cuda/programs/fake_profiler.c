/* Launches without end, and holds sessions of a profiler that uses CUPTI's activity API as the PyTorch
 * profiler does: without subscribing, with callbacks of its own, and switching off what it switched on.
 *
 *   fake_profiler [--finalize] [--session-first]
 *
 * SIGUSR1 begins a session, SIGUSR2 ends it, SIGTERM ends the program. --session-first begins one before
 * the first CUDA call. --finalize ends sessions with cuptiFinalize(). At the end it prints "launched COUNT" and
 * "session LAUNCHED RECORDED", of all sessions together: what was launched within, and how many records of
 * it came to the session's own callbacks. */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

#define BUFFER_BYTES (64u << 10)

static FAKE_CUDA_KERNEL(outside, FAKE_CUDA_FIXED_NS(1000));
static FAKE_CUDA_KERNEL(inside, FAKE_CUDA_FIXED_NS(1000));

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					   CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

static volatile sig_atomic_t begin_wanted, end_wanted, stop_wanted;
static _Atomic unsigned long long recorded;
static unsigned long long launched, launched_inside;
static bool in_session;

static void on_signal(int number)
{
	if (number == SIGUSR1)
		begin_wanted = 1;
	else if (number == SIGUSR2)
		end_wanted = 1;
	else
		stop_wanted = 1;
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

/* Buffers are not freed: one may be somebody else's. */
static void complete(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size,
		     size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context, (void)stream_id, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		const CUpti_ActivityKernel10 *kernel = (const void *)record;

		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    strcmp(kernel->name, "inside") == 0)
			recorded++;
	}
}

static void begin_session(void)
{
	cuptiActivityRegisterCallbacks(request, complete);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cuptiActivityEnable(kinds[i]);
	in_session = true;
}

static void end_session(bool finalize)
{
	cudaDeviceSynchronize();
	cuptiActivityFlushAll(0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cuptiActivityDisable(kinds[i]);
	cuptiActivityFlushAll(1);
	if (finalize)
		cuptiFinalize();
	in_session = false;
}

static void launch_once(void)
{
	if (cudaLaunchKernel(in_session ? inside : outside, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL,
			     0, NULL) != cudaSuccess)
		abort();
	launched++;
	launched_inside += in_session;
	if (launched % 100 == 0)
		cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	bool finalize = false;

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	for (int i = 1; i < argc; i++) {
		finalize |= strcmp(argv[i], "--finalize") == 0;
		if (strcmp(argv[i], "--session-first") == 0)
			begin_session();
	}
	while (!stop_wanted) {
		if (begin_wanted) {
			begin_wanted = 0;
			begin_session();
		}
		if (end_wanted) {
			end_wanted = 0;
			end_session(finalize);
		}
		launch_once();
	}
	if (in_session)
		end_session(finalize);
	cudaDeviceSynchronize();
	printf("launched %llu\nsession %llu %llu\n", launched, launched_inside, recorded);
	return 0;
}
