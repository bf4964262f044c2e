/* What a program that knows it runs on fake CUDA may use: kernels with a declared duration, the
 * modes, the truth. Any thread may call. Link fake_cuda (libcudart.so.13, libcuda.so.1). */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_CUDA_KERNEL_MAGIC 0x666c616d656b6e6cull

/* A kernel as the runtime API takes it: `func` of cudaLaunchKernel is the address of one of these.
 */
struct fake_cuda_kernel {
	uint64_t magic;
	const char *name; /* what records and callbacks call it; owned by the program, for ever */
	uint64_t min_ns, max_ns; /* duration: uniform in [min_ns, max_ns] */
	uint64_t seed;
	void *resolved; /* fake CUDA's own */
};

#define FAKE_CUDA_FIXED_NS(ns) (ns), (ns), 0
/* The n-th launch on a stream lasts what seed, kernel, device, stream and n decide: equal in every
 * run. */
#define FAKE_CUDA_UNIFORM_NS(min_ns, max_ns, seed) (min_ns), (max_ns), (seed)

/* FAKE_CUDA_KERNEL(gemm, FAKE_CUDA_FIXED_NS(2500)) defines a kernel; launch it with
 * cudaLaunchKernel(gemm, ...) as if it were a __global__ function. Equal names are one kernel: the
 * first definition that is launched decides the duration. */
#define FAKE_CUDA_KERNEL(symbol, ...) FAKE_CUDA_KERNEL_NAMED(symbol, #symbol, __VA_ARGS__)
#define FAKE_CUDA_KERNEL_NAMED(symbol, kernel_name, ...)                                           \
	struct fake_cuda_kernel symbol[1] = {FAKE_CUDA_KERNEL_INIT(kernel_name, __VA_ARGS__)}
/* duration: one of the two macros above, or "min, max, seed" */
#define FAKE_CUDA_KERNEL_INIT(kernel_name, ...)                                                    \
	{                                                                                          \
		FAKE_CUDA_KERNEL_MAGIC, kernel_name, __VA_ARGS__, 0                                \
	}

/* Sets a numeric mode of README.md by the name of its environment variable, from now on;
 * FAKE_CUDA_DEVICES and FAKE_CUDA_HOST_SEED only before cuInit. Returns 0; -ENOENT: no such mode.
 */
int fake_cuda_set(const char *variable, uint64_t value);

/* What this thread's memory is allocated for, from now on, in the truth: a name, borrowed for ever; NULL: none. */
void fake_cuda_call_site(const char *name);

/* Every kernel of this name, in whichever module, lasts uniformly min_ns to max_ns from its next
 * launch. Returns 0; -EINVAL: min_ns above max_ns; -ENOMEM. */
int fake_cuda_set_kernel_ns(const char *name, uint64_t min_ns, uint64_t max_ns);

/* Says that the host (device -1) or a device, by its ordinal, touches that part of one managed allocation: what does
 * not lie there faults and migrates. Returns 0; -1: no managed memory, or no such device. */
int fake_cuda_touch(const void *address, size_t size_bytes, int device);

/* Whether a CUpti_ActivityKind is recorded now: 1 or 0. */
int fake_cuda_traces(uint32_t kind);

/* A kernel whose end is decided elsewhere, once it has begun. Called by fake CUDA's threads under locks of its own: no
 * CUDA within. */
struct fake_cuda_open {
	void (*begin)(struct fake_cuda_open *open,
		      uint64_t start_ns); /* once: the device begins it then */
	/* Whether the end is known: *end_ns, not before start_ns. Asked until it is, and never again. */
	bool (*end)(struct fake_cuda_open *open, uint64_t *end_ns);
};

/* The calling thread's next kernel that runs on a stream is such a one. Borrowed until end() has said true. Its
 * duration is not the kernel's; what is submitted to the stream after it begins when it has ended. */
void fake_cuda_open_next(struct fake_cuda_open *open);

/* Calls `call` as one of these functions of CUPTI's begins, on the thread that calls it: cuptiRangeProfilerEnable,
 * cuptiRangeProfilerPushRange, cuptiRangeProfilerPopRange. It may call CUDA. NULL: no longer. */
void fake_cuda_watch(void (*call)(const char *function));

/* Writes the truth (README.md) to path now, NULL: to what FAKE_CUDA_TRUTH names. Launches that run
 * meanwhile may be in it or not. Returns 0; -EINVAL: no path; -ENOMEM; -errno of the file. */
int fake_cuda_write_truth(const char *path);

#ifdef __cplusplus
}
#endif

#endif
