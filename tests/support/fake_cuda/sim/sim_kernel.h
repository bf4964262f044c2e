/* Kernels by name, and how long each launch lasts. Kernels live for ever. Any thread. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_kernel;
struct fake_cuda_kernel;

struct sim_duration {
	uint64_t min_ns, max_ns, seed;
};

/* The one kernel of this name, made at the first call. duration NULL: decided by the name. What
 * FAKE_CUDA_KERNEL_NS or fake_cuda_set_kernel_ns() say wins over duration. NULL: out of memory. */
struct sim_kernel *sim_kernel_intern(const char *name, size_t length,
				     const struct sim_duration *duration);

/* The kernel behind a runtime launch's func; NULL: func is no FAKE_CUDA_KERNEL, or out of memory.
 */
struct sim_kernel *sim_kernel_of_symbol(const void *func);

/* NULL: handle is no kernel. */
struct sim_kernel *sim_kernel_check(void *handle);

/* True once: the process's first launch of the kernel, which loads it. */
bool sim_kernel_is_first_use(const struct sim_kernel *kernel);

const char *sim_kernel_name(const struct sim_kernel *kernel);

/* What the compiler would have made of it, decided by the name: registers of a thread, bytes of static shared
 * memory. */
uint32_t sim_kernel_registers(const struct sim_kernel *kernel);
uint32_t sim_kernel_static_shared(const struct sim_kernel *kernel);

/* Nanoseconds that the launch with this ordinal among the kernel's launches on one stream lasts. */
uint64_t sim_kernel_duration_ns(const struct sim_kernel *kernel, uint64_t stream_key, uint64_t nth);

#endif
