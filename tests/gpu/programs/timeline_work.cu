// Waits, managed memory and loads of code in known numbers, each from a function with a known name.
//
//   timeline_work [ROUNDS]
//
// A round: a kernel and a wait of each sort, one module and one library from PTX that no cache knows yet, 64 MiB of managed
// memory to the GPU by a prefetch and back by a touch, and once more to it by a kernel's own faults. Prints "did WHAT NUMBER".
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

static const size_t managed_bytes = 64u << 20;
static cudaStream_t stream, other;
static cudaEvent_t event;

__global__ void timeline_spin(long long cycles)
{
	long long begin = clock64();

	while (clock64() - begin < cycles)
		;
}

__global__ void timeline_touch(unsigned char *memory, size_t bytes)
{
	size_t step = (size_t)gridDim.x * blockDim.x * 4096;

	for (size_t i = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * 4096; i < bytes; i += step)
		memory[i]++;
}

static void expect(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "timeline_work: %s: %d\n", what, result);
	exit(1);
}

#define EXPECT(call) expect((int)(call), #call)

__attribute__((noinline)) static void launch_spin()
{
	timeline_spin<<<1, 32, 0, stream>>>(200000);
	EXPECT(cudaGetLastError());
}

__attribute__((noinline)) static void wait_for_device()
{
	EXPECT(cudaDeviceSynchronize());
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_for_stream()
{
	EXPECT(cudaStreamSynchronize(stream));
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_for_event()
{
	EXPECT(cudaEventSynchronize(event));
	__asm__ volatile("");
}

__attribute__((noinline)) static void order_streams()
{
	EXPECT(cudaEventRecord(event, stream));
	EXPECT(cudaStreamWaitEvent(other, event, 0));
	__asm__ volatile("");
}

// Of a text of its own each, so that the driver's cache has none of them.
static std::string ptx_of(const char *kernel, int number)
{
	std::string body;

	for (int i = 0; i < 200; i++)
		body += "	add.s32 %r1, %r1, " + std::to_string((int)getpid() + number * 1000 + i) + ";\n";
	return std::string(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry ") + kernel +
	       "(.param .u64 out)\n{\n	.reg .b32 %r<2>;\n	.reg .b64 %rd<3>;\n	ld.param.u64 %rd1, [out];\n"
	       "	cvta.to.global.u64 %rd2, %rd1;\n	mov.u32 %r1, 1;\n" + body +
	       "	st.global.u32 [%rd2], %r1;\n	ret;\n}\n";
}

__attribute__((noinline)) static void load_module(int number, void *memory)
{
	std::string ptx = ptx_of("timeline_module", number);
	void *params[] = {&memory};
	CUmodule module;
	CUfunction function;

	EXPECT(cuModuleLoadData(&module, ptx.c_str()));
	EXPECT(cuModuleGetFunction(&function, module, "timeline_module"));
	EXPECT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	EXPECT(cudaStreamSynchronize(stream));
	EXPECT(cuModuleUnload(module));
}

__attribute__((noinline)) static void load_library(int number)
{
	std::string ptx = ptx_of("timeline_library", number + 500);
	CUlibrary library;
	CUkernel kernel;
	CUfunction function;

	EXPECT(cuLibraryLoadData(&library, ptx.c_str(), NULL, NULL, 0, NULL, NULL, 0));
	EXPECT(cuLibraryGetKernel(&kernel, library, "timeline_library"));
	EXPECT(cuKernelGetFunction(&function, kernel));
	EXPECT(cuLibraryUnload(library));
}

__attribute__((noinline)) static void move_memory(unsigned char *managed)
{
#if CUDART_VERSION >= 13000
	cudaMemLocation to = {cudaMemLocationTypeDevice, 0};

	EXPECT(cudaMemPrefetchAsync(managed, managed_bytes, to, 0, stream));
#else
	EXPECT(cudaMemPrefetchAsync(managed, managed_bytes, 0, stream));
#endif
	EXPECT(cudaStreamSynchronize(stream));
	memset(managed, 1, managed_bytes); // the host's own faults
	timeline_touch<<<256, 64, 0, stream>>>(managed, managed_bytes);
	EXPECT(cudaStreamSynchronize(stream));
	memset(managed, 2, managed_bytes);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 50;
	unsigned char *managed;
	void *memory;

	EXPECT(cudaSetDevice(0));
	EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	EXPECT(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	EXPECT(cudaEventCreate(&event));
	EXPECT(cudaMalloc(&memory, 4096));
	EXPECT(cudaMallocManaged(&managed, managed_bytes));
	memset(managed, 0, managed_bytes);
	for (int i = 0; i < rounds; i++) {
		launch_spin();
		order_streams();
		wait_for_event();
		launch_spin();
		wait_for_stream();
		load_module(i, memory);
		load_library(i);
		move_memory(managed);
		launch_spin();
		wait_for_device();
	}
	printf("did rounds %d\ndid bytes %zu\n", rounds, (size_t)rounds * managed_bytes);
	return 0;
}
